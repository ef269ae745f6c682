import type { Change } from '../change.ts'
import { isEmployed } from '../employment.ts'
import type { NewsKind } from '../guards/facts.ts'
import { namedAll } from '../guards/movements.ts'
import type { Observation, RosterEntry } from '../record.ts'
import { coversEverybody } from './coverage.ts'
import type { Decision, PlanContext } from './decide.ts'

/** A person whom a source states without a change. `asOf`: the time (ISO instant) of that fact. */
export type StatedOtherwise = { readonly identityId: string; readonly asOf: string }

/** What was decided about one person, and from which rows; `absent` and `untouched` as in `PersonInput`. */
type DecidedFrom = {
  readonly entry: RosterEntry | undefined
  readonly decision: Decision
  readonly rows: readonly Observation[] | 'absent' | 'untouched'
}

/** The people of a source who were left out when a part of their plan was approved. */
export type Unapproved = ReturnType<typeof watchUnapproved>

/** By key: people who were left out when a part of a plan was approved, and whether that would have made them leavers. */
export type UnapprovedPeople = ReadonlyMap<string, { readonly departs: boolean }>

/** Watches the decisions about people who were left out when a part of a plan was approved, and of whom nobody has approved a change since. */
export function watchUnapproved(people: UnapprovedPeople, context: PlanContext) {
  const decided = new Set<string>()
  const statedOtherwise = new Map<string, StatedOtherwise>()
  const held = new Set<string>()
  return {
    /**
     * The decision as the guards count it: no limit counts one that changes one of these people, as their guard alone holds it, besides those
     * about single people. Whose departure was left out is not held for other values, nor the other way round. A departure that an operator
     * states, and whose day has come, is approved, and a change that was accepted before and is only sent again is none.
     */
    counted(identityId: string, decision: Decision, entry: RosterEntry | undefined): Decision {
      const { change, news } = decision
      const waiting = people.get(identityId)
      if (change === null || waiting === undefined || isCarried(change) || isStated(entry, context)) return decision
      if (!isOfSort(change, waiting)) return decision
      held.add(identityId)
      return {
        ...decision,
        isAbsent: false,
        news: { identityId, kinds: ['leftUnapproved', ...news.kinds.filter(isOfOne)], moves: [] },
      }
    },
    has: (identityId: string): boolean => people.has(identityId),
    /** Those whose change their guard counts. Complete once everybody is decided about. */
    held: held as ReadonlySet<string>,
    add(identityId: string, from: DecidedFrom): void {
      if (!people.has(identityId)) return
      decided.add(identityId)
      if (statesOtherwise(from, context)) statedOtherwise.set(identityId, { identityId, asOf: context.asOf })
      else statedOtherwise.delete(identityId)
    },
    takeBack(identityId: string): void {
      decided.delete(identityId)
      held.delete(identityId)
      statedOtherwise.delete(identityId)
    },
    /**
     * Those whom the source states without a change. Complete once everybody is decided about. `lacks`: whether the source is complete and
     * lacks the person. Nothing is decided about a joiner whom it lacks.
     */
    statedOtherwise(lacks: (identityId: string) => boolean): StatedOtherwise[] {
      const { asOf } = context
      const isGone = (identityId: string) => coversEverybody(context) && !decided.has(identityId) && lacks(identityId)
      const gone = [...people.keys()].filter(isGone).map((identityId) => ({ identityId, asOf }))
      return [...statedOtherwise.values(), ...gone]
    },
  }
}

/** The guards about single people whose verdicts name everybody concerned. */
function isOfOne(kind: NewsKind): boolean {
  return namedAll.has(kind)
}

function isStated(entry: RosterEntry | undefined, { today, sourceToday = today }: PlanContext): boolean {
  const { statedDeparture = null } = entry ?? {}
  return statedDeparture !== null && statedDeparture <= sourceToday
}

/** Whether a change is of the sort that was left out: about a departure, or about other values. A joiner waits in whatever state. */
function isOfSort({ kind }: Change, { departs }: { readonly departs: boolean }): boolean {
  return kind === 'join' || (kind === 'leave' || kind === 'correct') === departs
}

function isCarried(change: Change): boolean {
  return change.kind !== 'retract' && change.carried
}

/**
 * Whether a usable fact says that nothing is to change. One that cannot be read in part says nothing, whoever is missing may still become a
 * leaver, and a departure to come, held back or stated by an operator is one.
 */
function statesOtherwise({ entry, decision, rows }: DecidedFrom, context: PlanContext): boolean {
  const { change, overtaken } = decision
  if (rows === 'untouched' || overtaken || (change !== null && !isCarried(change))) return false
  const { deferredTo = null, heldDeparture = null, isByOperator = false } = decision.entry ?? entry ?? {}
  if (deferredTo !== null || heldDeparture !== null || isByOperator) return false
  const mayLeave = isEmployed(entry, context.today)
  if (rows === 'absent') return coversEverybody(context) && !mayLeave
  const isClear = rows.every((row) => !row.isUncertain && (row.badCells ?? []).length === 0)
  const leaves = rows.some(
    ({ statesDeparture, leavingDate }) =>
      statesDeparture || (typeof leavingDate === 'string' && leavingDate <= context.today),
  )
  return isClear && !(mayLeave && leaves)
}
