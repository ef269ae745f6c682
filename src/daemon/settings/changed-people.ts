import { isDeepStrictEqual } from 'node:util'
import { type ChangeKind, changeKinds, type PlanCounts } from '../../identity/change.ts'
import { compareKeys } from '../../identity/digest.ts'
import type { StagedChange } from '../../store/plans/plans.ts'

/** The plan of a run: how many changes it has, and the first ones of each kind. */
export type ComparedPlan = { readonly counts: PlanCounts; readonly changes: readonly StagedChange[] }

/** A person whose change differs between two plans; null: none is known. */
type ChangedPerson = {
  readonly identityId: string
  readonly before: StagedChange | null
  readonly after: StagedChange | null
}

/** `more`: how many further people are known to differ. `uncompared`: kinds of which a plan has more changes than were kept. */
export type ChangedPeople = {
  readonly people: readonly ChangedPerson[]
  readonly more: number
  readonly uncompared: readonly ChangeKind[]
}

/** Maximum number of people listed. */
const maxPeople = 50
/** The kinds of change, most harmful first if they are wrong. */
const order: readonly ChangeKind[] = ['leave', 'return', 'retract', 'correct', 'join', 'update']

/** The people whose change differs between the plans of two settings. `before` null: there is no such plan. */
export function changedPeople(before: ComparedPlan | null, after: ComparedPlan): ChangedPeople {
  const [old, next] = [before?.changes ?? [], after.changes].map(
    (changes) => new Map(changes.map((one) => [one.change.identityId, one])),
  ) as [Map<string, StagedChange>, Map<string, StagedChange>]
  const mayBeSame = sameBeyondKept(before, after)
  const people = [...new Set([...old.keys(), ...next.keys()])]
    .map((identityId) => ({ identityId, before: old.get(identityId) ?? null, after: next.get(identityId) ?? null }))
    .filter((person) => !isSame(person) && !mayBeSame(person))
    .toSorted((a, b) => rankOf(a) - rankOf(b) || compareKeys(a.identityId, b.identityId))
  const shown = people.slice(0, maxPeople)
  if (before === null) return { people: shown, more: changesIn(after) - shown.length, uncompared: [] }
  const uncompared = changeKinds.filter((kind) => [before, after].some((plan) => !isWhole(plan, kind)))
  return { people: shown, more: people.length - shown.length, uncompared }
}

/** Tells whether a plan may have the same change of a person without having kept it: it has more changes of that kind than were kept. */
function sameBeyondKept(before: ComparedPlan | null, after: ComparedPlan): (person: ChangedPerson) => boolean {
  const cutIn = (plan: ComparedPlan | null) => new Set(changeKinds.filter((kind) => plan && !isWhole(plan, kind)))
  const [cutBefore, cutAfter] = [cutIn(before), cutIn(after)]
  return ({ before: old, after: next }) =>
    (old === null && next !== null && cutBefore.has(next.change.kind)) ||
    (next === null && old !== null && cutAfter.has(old.change.kind))
}

function isSame({ before, after }: ChangedPerson): boolean {
  return isDeepStrictEqual(effectOf(before), effectOf(after))
}

function effectOf(staged: StagedChange | null): unknown {
  if (staged === null) return null
  const { change } = staged
  if (change.kind === 'retract') return change
  const { kind, fields, inferred } = change
  return { kind, fields, inferred }
}

/** By the more harmful of the two kinds: new departures, those that no longer happen, those that happen otherwise, and so on. */
function rankOf({ before, after }: ChangedPerson): number {
  const harmOf = (staged: StagedChange | null) => (staged ? order.indexOf(staged.change.kind) : order.length)
  const [old, next] = [harmOf(before), harmOf(after)]
  return 3 * Math.min(old, next) + (old === next ? 2 : next < old ? 0 : 1)
}

function changesIn({ counts }: ComparedPlan): number {
  return changeKinds.reduce((sum, kind) => sum + counts[kind], 0)
}

function isWhole({ counts, changes }: ComparedPlan, kind: ChangeKind): boolean {
  return changes.filter(({ change }) => change.kind === kind).length >= counts[kind]
}
