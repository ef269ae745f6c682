import { compareKeys } from '../digest.ts'
import { isHiredAgain, isLeaver, storedEmployment } from '../employment.ts'
import type { Observation, RosterEntry } from '../record.ts'
import { dateIn, type PlanContext } from './decide.ts'

/** Sorts after every date. */
const afterAll = '~'

/** A departure in effect, as a row states it: the date if it has come, its zone, and whether a status states it. */
export type Departure = {
  readonly line: number
  readonly leavingDate: string | undefined
  readonly statesDeparture: boolean
  readonly timeZone: string | undefined
}

/** The departure that a row states. Without one: whether the row has a leaving date that has not come or does not apply. */
export function leavingIn(
  observation: Observation,
  { now, today: ofSource }: Pick<PlanContext, 'now' | 'today'>,
): Departure | boolean {
  const { statesDeparture, leavingDate, timeZone, origin } = observation
  if (!statesDeparture && typeof leavingDate !== 'string') return false
  const today = timeZone === undefined ? ofSource : dateIn(timeZone, now)
  const hasCome = typeof leavingDate === 'string' && leavingDate <= today && !isHiredAgain(observation, today)
  if (!statesDeparture && !hasCome) return true
  return {
    line: origin.line,
    leavingDate: hasCome ? leavingDate : undefined,
    statesDeparture: statesDeparture,
    timeZone,
  }
}

/** The earlier of two departures; a stated date takes precedence over an inferred one. Null unless both are in effect. */
export function bothLeave(
  one: Departure | boolean,
  other: Departure | boolean,
  { asOf, timeZone: ofSource }: PlanContext,
): Departure | null {
  if (typeof one === 'boolean' || typeof other === 'boolean') return null
  const order = ({ leavingDate = afterAll, timeZone = ofSource }: Departure) =>
    `${leavingDate} ${dateIn(timeZone, asOf)} ${timeZone}`
  const [first] = [one, other].sort((a, b) => compareKeys(order(a), order(b)) || a.line - b.line)
  return { ...(first ?? one), statesDeparture: one.statesDeparture || other.statesDeparture }
}

/** An observation that states only a departure. */
export function observationOf(
  { line, leavingDate, statesDeparture, timeZone }: Departure,
  { identityId, origin }: Pick<Observation, 'identityId' | 'origin'>,
): Observation {
  return {
    identityId,
    fields: {},
    leavingDate,
    statesDeparture: statesDeparture,
    statesEmployed: false,
    isUncertain: false,
    hasEmploymentCell: true,
    origin: { ...origin, line },
    ...(timeZone !== undefined && { timeZone }),
  }
}

/** The observation for a departure of rejected rows, or of rows out of scope. It adds no person, and changes no date of a leaver. */
export function departureOf(
  entry: RosterEntry | undefined,
  observation: Observation,
  today: string,
): Observation | null {
  if (entry === undefined || (entry.desired ?? entry.confirmed) === null) return null
  const hasLeft = isLeaver(storedEmployment(entry), today)
  return hasLeft ? { ...observation, leavingDate: undefined, statesDeparture: true } : observation
}
