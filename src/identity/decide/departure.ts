import { compareKeys } from '../digest.ts'
import { isLeaver, isHiredAgain, storedEmployment } from '../employment.ts'
import type { RosterEntry, Observation } from '../record.ts'
import { dateIn, type PlanContext } from './decide.ts'

/** Follows every date, as text. */
const afterAll = '~'

/** What a row says of a leaving that is in effect: the date, if one has come, with its zone, and whether a status says so. */
export type Departure = {
  readonly line: number
  readonly leavingDate: string | undefined
  readonly statesDeparture: boolean
  readonly timeZone: string | undefined
}

/** What a row says of a leaving: a departure, or whether it holds anything that could say so. */
export function leavingIn(observation: Observation, { now, today: ofSource }: PlanContext): Departure | boolean {
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

/** The earlier one of two departures; a date that HR states goes before one that is inferred. Null unless both are in effect. */
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

/** A departure, and nothing else, as a row would tell it. */
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

/** What a departure of rejected rows, or of rows out of scope, states about a person. It makes nobody known, and moves no date of a leaver. */
export function departureOf(
  entry: RosterEntry | undefined,
  observation: Observation,
  today: string,
): Observation | null {
  if (entry === undefined || (entry.desired ?? entry.confirmed) === null) return null
  const hasLeft = isLeaver(storedEmployment(entry), today)
  return hasLeft ? { ...observation, leavingDate: undefined, statesDeparture: true } : observation
}
