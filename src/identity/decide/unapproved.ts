import type { Change, ChangeKind } from '../change.ts'
import { isEmployed, isLeaver, storedEmployment } from '../employment.ts'
import type { NewsKind } from '../guards/facts.ts'
import { namedAll } from '../guards/movements.ts'
import type { Observation, RosterEntry } from '../record.ts'
import { coversEverybody } from './coverage.ts'
import type { Decision, PlanContext } from './decide.ts'

/** The kind of a change that was left out. `leave` stands for another leaving date, too. A deletion always waits for an approval. */
export type UnapprovedKind = Exclude<ChangeKind, 'correct' | 'retract'>

/** A change of a person that was left out when a part of a plan was approved. */
export type UnapprovedChange = {
  readonly kind: UnapprovedKind
  /** The departure followed from nothing but the absence of the person. */
  readonly isOfMissing: boolean
  /** The leaving date (`YYYY-MM-DD`) that waited for its day before. */
  readonly deferredBefore: string | null
}

/** By key: the changes of people who were left out when a part of a plan was approved. */
export type UnapprovedPeople = ReadonlyMap<string, readonly UnapprovedChange[]>

/** A change that was left out and is held again. */
export type HeldAgain = { readonly identityId: string; readonly kind: UnapprovedKind }

/** A change that was left out, of a person whom a source states without it. `asOf`: the time (ISO instant) of that fact. */
export type StatedOtherwise = HeldAgain & { readonly asOf: string }

/** What was decided about one person, and from which rows; `absent` and `untouched` as in `PersonInput`. */
type DecidedFrom = {
  readonly entry: RosterEntry | undefined
  readonly decision: Decision
  readonly rows: readonly Observation[] | 'absent' | 'untouched'
}

/** The people of a source who were left out when a part of their plan was approved. */
export type Unapproved = ReturnType<typeof watchUnapproved>

/** Watches the decisions about people who were left out when a part of a plan was approved, and of whom nobody has approved a change since. */
export function watchUnapproved(people: UnapprovedPeople, context: PlanContext) {
  const decided = new Set<string>()
  const held = new Map<string, readonly UnapprovedKind[]>()
  const otherwise = new Map<string, readonly UnapprovedKind[]>()
  return {
    /**
     * The decision as the guards count it: no limit counts one that makes a change that was left out, as their guard alone holds it, besides
     * those about single people.
     */
    counted(identityId: string, decision: Decision, entry: RosterEntry | undefined): Decision {
      const kinds = (people.get(identityId) ?? []).flatMap((leftOut) =>
        isMadeAgain(leftOut, { decision, entry }, context) ? [leftOut.kind] : [],
      )
      if (kinds.length === 0) return decision
      held.set(identityId, kinds)
      const { news } = decision
      return {
        ...decision,
        isAbsent: false,
        news: { identityId, kinds: ['leftUnapproved', ...news.kinds.filter(isOfOne)], moves: [] },
      }
    },
    /** Whether the plan makes a departure of the person again that was left out. */
    holdsDeparture: (identityId: string): boolean => held.get(identityId)?.includes('leave') ?? false,
    /** Whether the plan changes values of the person again that were left out. */
    holdsValues: (identityId: string): boolean => held.get(identityId)?.includes('update') ?? false,
    /** Whether a departure of the person was left out. */
    mayHaveLeft: (identityId: string): boolean => (people.get(identityId) ?? []).some(({ kind }) => kind === 'leave'),
    add(identityId: string, from: DecidedFrom): void {
      const changes = people.get(identityId)
      if (changes === undefined) return
      decided.add(identityId)
      const kinds = changes.flatMap((leftOut) => (statesOtherwise(leftOut, from, context) ? [leftOut.kind] : []))
      otherwise.set(identityId, kinds)
    },
    takeBack(identityId: string): void {
      decided.delete(identityId)
      held.delete(identityId)
      otherwise.delete(identityId)
    },
    /** The changes that were left out and that the plan makes again. Complete once everybody is decided about. */
    heldAgain: (): HeldAgain[] => pairs(held),
    /**
     * Those without which the source states the person. Complete once everybody is decided about. `lacks`: whether the source is complete and
     * lacks the person. Nothing is decided about a joiner whom it lacks.
     */
    statedOtherwise(lacks: (identityId: string) => boolean): StatedOtherwise[] {
      const { asOf } = context
      const isGone = (identityId: string) => coversEverybody(context) && !decided.has(identityId) && lacks(identityId)
      const gone = [...people].flatMap(([identityId, changes]) =>
        isGone(identityId) ? changes.map(({ kind }) => ({ identityId, kind })) : [],
      )
      return [...pairs(otherwise), ...gone].map((pair) => ({ ...pair, asOf }))
    },
  }
}

function pairs(kinds: ReadonlyMap<string, readonly UnapprovedKind[]>): HeldAgain[] {
  return [...kinds].flatMap(([identityId, ofPerson]) => ofPerson.map((kind) => ({ identityId, kind })))
}

/** The guards about single people whose verdicts name everybody concerned. */
function isOfOne(kind: NewsKind): boolean {
  return namedAll.has(kind)
}

type Made = Pick<DecidedFrom, 'decision' | 'entry'>

/**
 * Whether a decision makes a change that was left out. One that was accepted before and is only sent again is not made. A departure may
 * bring other values along, and a return too, so neither waits for them.
 */
function isMadeAgain(leftOut: UnapprovedChange, { decision, entry }: Made, context: PlanContext): boolean {
  const { change } = decision
  if (change === null || isCarried(change)) return false
  const made = { decision, entry }
  if (leftOut.kind === 'return') return returnsAgain(made, context)
  if (leftOut.kind !== 'leave') return change.kind === leftOut.kind
  // Another date may have been to bring back a leaver.
  return departsAgain(leftOut, made, context) || (change.kind === 'return' && hasLeftBefore(entry, context))
}

/**
 * Whether a decision makes a departure that was left out. One that an operator states, and whose day has come, is approved. Another day to
 * come of somebody who was only missing is not what was left out: it shows that they are employed.
 */
function departsAgain({ isOfMissing }: UnapprovedChange, { decision, entry }: Made, context: PlanContext): boolean {
  const { change, news } = decision
  if (change === null || isStated(entry, context)) return false
  // A deletion may be a departure, too.
  if (change.kind === 'retract') return news.kinds.includes('leavers')
  if (change.kind !== 'leave' && change.kind !== 'correct') return false
  return !isOfMissing || hasLeftBy(change, context)
}

/** Whether a decision brings back a leaver. Under `future: send` another leaving date, which has not come, does so. */
function returnsAgain({ decision: { change }, entry }: Made, context: PlanContext): boolean {
  if (change?.kind === 'return') return true
  return change?.kind === 'correct' && hasLeftBefore(entry, context) && !hasLeftBy(change, context)
}

function hasLeftBefore(entry: RosterEntry | undefined, { today }: PlanContext): boolean {
  return isLeaver(storedEmployment(entry), today)
}

function hasLeftBy({ record, inferred }: Exclude<Change, { kind: 'retract' }>, { today }: PlanContext): boolean {
  return isLeaver({ separatedAt: record.separatedAt, inferred }, today)
}

function isStated(entry: RosterEntry | undefined, { today, sourceToday = today }: PlanContext): boolean {
  const { statedDeparture = null } = entry ?? {}
  return statedDeparture !== null && statedDeparture <= sourceToday
}

function isCarried(change: Change): boolean {
  return change.kind !== 'retract' && change.carried
}

/** Whether a usable fact states the person without the change that was left out. A fact that cannot be read in part says nothing of it. */
function statesOtherwise(leftOut: UnapprovedChange, from: DecidedFrom, context: PlanContext): boolean {
  const { entry, decision, rows } = from
  if (rows === 'untouched' || decision.overtaken || isMadeAgain(leftOut, from, context)) return false
  if (leftOut.kind === 'leave') return statesNoDeparture(leftOut, from, context)
  if (decision.change !== null && !isCarried(decision.change)) return false
  // Whoever is missing and employed may still become a leaver.
  if (rows === 'absent') return coversEverybody(context) && !isEmployed(entry, context.today)
  const isReturn = leftOut.kind === 'return'
  return rows.every(({ badCells = [], isUncertain }) => badCells.length === 0 && !(isReturn && isUncertain))
}

/**
 * Whether a source states that a person whose departure was left out is employed, or has left already. Of somebody who was missing, a row
 * without a departure is enough; a day that HR stated must be gone, or be the one that was known before.
 */
function statesNoDeparture(
  { isOfMissing, deferredBefore }: UnapprovedChange,
  { entry, decision, rows }: DecidedFrom,
  context: PlanContext,
): boolean {
  const { deferredTo = null, heldDeparture = null, isByOperator = false } = decision.entry ?? entry ?? {}
  if (heldDeparture !== null || isByOperator) return false
  const hasLeft = !isEmployed(entry, context.today)
  if (typeof rows === 'string') return hasLeft && coversEverybody(context)
  if (rows.some(mayStateDeparture) || (!hasLeft && rows.some((row) => leaves(row, context)))) return false
  return isOfMissing || deferredTo === null || deferredTo === deferredBefore
}

function mayStateDeparture({ isUncertain, badCells = [] }: Observation): boolean {
  return isUncertain || badCells.some(({ mayLeave }) => mayLeave)
}

function leaves({ statesDeparture, leavingDate }: Observation, { today }: PlanContext): boolean {
  return statesDeparture || (typeof leavingDate === 'string' && leavingDate <= today)
}
