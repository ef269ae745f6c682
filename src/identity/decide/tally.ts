import { type ChangeKind, changeKinds, type PlanCounts, type Verdict } from '../change.ts'
import { type GuardFacts, type KnownFaults, noKnownFaults, type PeopleCounts, peopleLimits } from '../guards/facts.ts'
import { isOtherField } from '../guards/limits.ts'
import { movements } from '../guards/movements.ts'
import type { FieldName, Reject } from '../record.ts'
import type { Decision, PersonInput } from './decide.ts'
import { createFaultTally } from './fault-tally.ts'
import { joinersDates } from './joiners-dates.ts'

const countedKinds = [...changeKinds, 'unchanged'] as const
const countedNews = [
  ...peopleLimits,
  ...(['leftJoiners', 'unnamedJoiners', 'absent', 'retractions', 'pinned', 'rekeyed', 'reusedKeys'] as const),
  'leftUnapproved' as const,
] as const
type Kind = (typeof countedKinds)[number]
type NewsKind = (typeof countedNews)[number]

/** The guards that count people. */
export const guardsOfPeople: ReadonlySet<string> = new Set([...countedNews, 'fieldChanges', 'blanks'])

/** What one decision added to a tally, so that it can be removed later. People with equal decisions share one object. */
export type Tallied = {
  readonly kind: Kind | null
  readonly news: readonly NewsKind[]
  /** The fields in which the person gets another value. */
  readonly changed: readonly FieldName[]
  /** The fields in which the person loses the value. */
  readonly blanked: readonly FieldName[]
}

/** The value of a decision that nothing counts. */
export const nothingTallied: Tallied = { kind: null, news: [], changed: [], blanked: [] }

/** The facts that a tally provides. */
type Known = Pick<
  GuardFacts,
  | ((typeof peopleLimits)[number] | 'changed' | 'blanked' | 'absent' | 'retractions')
  | ('pinned' | 'reusedKeys' | 'leftUnapproved' | 'leftJoiners' | 'unnamedJoiners' | 'sameStart' | 'sameLeaving')
  | ('rejected' | 'incomplete' | 'knownFaulty' | 'unlisted' | 'unreadableKeys' | 'knownUnreadableKeys')
>

/** Counts a plan while its decisions stream by. */
export type Tally = {
  add(decision: Decision, input: PersonInput): Tallied
  /** Removes a decision whose row turned out not to apply. */
  remove(tallied: Tallied): void
  /** Counts people whose rows are unchanged. */
  addUnchanged(people: number): void
  /** Counts a person whose key seems to have changed, which is known only after all decisions. */
  countKeyChange(tallied: Tallied): Tallied
  reject(reject: Reject): void
  /** Counts a row by its unreadable cells. */
  incomplete(cells: readonly Reject[]): void
  /** Counts a deletion that a person asked for. */
  retract(of: { readonly identityId: string; readonly isPinned: boolean }): void
  /** Whether a decision added something that one of these guards counts. */
  isCountedBy(tallied: Tallied, guards: ReadonlySet<string>): boolean
  counts(): PlanCounts
  /** The verdict; a failed one with the people concerned and how their values change. Removed decisions may be among them. */
  explain(verdict: Verdict): Verdict
  /** How many people each limit counts. */
  people(): PeopleCounts
  facts(about: Omit<GuardFacts, keyof Known>): GuardFacts
}

/** Counts a plan. A known fault counts as new if more rows have it than before. */
export function tally(known: KnownFaults = noKnownFaults): Tally {
  const kinds = zeros(countedKinds)
  const news = zeros(countedNews)
  const left = zeros(changeKinds)
  const changed: Record<string, number> = {}
  const blanked: Record<string, number> = {}
  const faults = createFaultTally(known)
  const moved = movements()
  const dates = joinersDates()
  const shareOne = sharedValues()

  function count(tallied: Tallied, step: 1 | -1): void {
    if (tallied.kind !== null) kinds[tallied.kind] += step
    for (const one of tallied.news) news[one] += step
    if (isChangeOf(tallied) && tallied.news.includes('leftUnapproved')) left[tallied.kind] += step
    for (const field of tallied.changed) countField(changed, field, step)
    for (const field of tallied.blanked) countField(blanked, field, step)
  }

  function peopleCounts(): PeopleCounts {
    const limits = Object.fromEntries(peopleLimits.map((name) => [name, news[name]])) as Pick<
      PeopleCounts,
      (typeof peopleLimits)[number]
    >
    const { leftJoiners } = news
    return { ...limits, ...(leftJoiners > 0 && { leftJoiners }), changed: { ...changed }, blanked: { ...blanked } }
  }

  return {
    add(decision, input) {
      const tallied = shareOne(talliedOf(decision, input))
      count(tallied, 1)
      if (isNews(tallied)) moved.add(decision.news)
      if (tallied.news.includes('joiners')) dates.add(decision)
      return tallied
    },
    remove: (tallied) => count(tallied, -1),
    addUnchanged(people) {
      kinds.unchanged += people
    },
    countKeyChange(tallied) {
      if (tallied.news.includes('rekeyed')) return tallied
      news.rekeyed += 1
      return shareOne({ ...tallied, news: [...tallied.news, 'rekeyed'] })
    },
    reject: faults.reject,
    incomplete: faults.incomplete,
    retract({ identityId, isPinned }) {
      kinds.retract++
      news.retractions++
      if (isPinned) news.pinned++
      moved.add({ identityId, kinds: isPinned ? ['retractions', 'pinned'] : ['retractions'], moves: [] })
    },
    isCountedBy: (tallied, guards) => guards.values().some((name) => isCounted(tallied, name)),
    counts: () => ({ ...kinds, rejected: faults.counts.rejected, incomplete: faults.counts.incomplete }),
    explain: moved.explain,
    people: peopleCounts,
    facts: (about) => ({
      ...about,
      ...peopleCounts(),
      ...faults.facts(),
      absent: news.absent,
      retractions: news.retractions,
      pinned: news.pinned,
      reusedKeys: news.reusedKeys,
      ...(news.leftUnapproved > 0 && { leftUnapproved: { ...left } }),
      leftJoiners: news.leftJoiners,
      unnamedJoiners: news.unnamedJoiners,
      ...dates.facts(),
    }),
  }
}

function isChangeOf(tallied: Tallied): tallied is Tallied & { readonly kind: ChangeKind } {
  return tallied.kind !== null && tallied.kind !== 'unchanged'
}

function talliedOf({ change, isAbsent: absent, news }: Decision, input: PersonInput): Tallied {
  const unchanged = typeof input === 'string' ? null : 'unchanged'
  const moves = news.moves.filter(({ field }) => isOtherField(field))
  return {
    kind: change === null ? unchanged : change.kind,
    news: absent ? [...news.kinds, 'absent'] : news.kinds,
    changed: moves.flatMap(({ field, to }) => (to === null ? [] : field)),
    blanked: moves.flatMap(({ field, to }) => (to === null ? field : [])),
  }
}

/** Returns one object for equal values: there is a value for each person, but few different ones. */
function sharedValues(): (tallied: Tallied) => Tallied {
  const values = new Map<string, Tallied>()
  return (tallied) => {
    const { kind, news, changed, blanked } = tallied
    // Names of fields may contain commas and blanks.
    const name = JSON.stringify([kind, news, changed, blanked])
    const known = values.get(name)
    if (known) return known
    values.set(name, tallied)
    return tallied
  }
}

function isNews({ news, changed, blanked }: Tallied): boolean {
  return news.length + changed.length + blanked.length > 0
}

function isCounted({ news, changed, blanked }: Tallied, guard: string): boolean {
  if (guard === 'fieldChanges') return changed.length > 0
  if (guard === 'blanks') return blanked.length > 0
  return news.some((name) => name === guard)
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
}

function countField(counts: Record<string, number>, field: FieldName, step: 1 | -1): void {
  const count = (counts[field] ?? 0) + step
  if (count === 0) delete counts[field]
  else counts[field] = count
}
