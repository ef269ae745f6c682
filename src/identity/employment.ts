import type { HeldDeparture, RosterEntry, Observation } from './record.ts'

/** What decides about a person's employment besides the facts themselves. Days are calendar dates (`YYYY-MM-DD`) in the source's time zone. */
export type EmploymentRules = {
  readonly mode: 'snapshot' | 'delta'
  /** The snapshots in a row that must lack a person before the absence counts as leaving. */
  readonly graceRuns: number
  /** The day on which the facts were true; an inferred leaving date. */
  readonly exportDate: string
  /** The day on which the run happens; what is still ahead is measured from it. */
  readonly today: string
  /** Whether a leaving date that lies ahead is sent at once or waits for its day. */
  readonly future: 'send' | 'defer'
}

/** The last day of employment as it is desired on the platform, and what is known of it beyond the date. */
export type Employment = {
  readonly separatedAt: string | null
  readonly inferred: boolean
  readonly deferredTo: string | null
  readonly clearedDate: string | null
}

const employed: Employment = { separatedAt: null, inferred: false, deferredTo: null, clearedDate: null }

/** What is known of a person's employment before this run. */
export function storedEmployment(entry: RosterEntry | undefined): Employment {
  if (entry === undefined) return employed
  const { inferred, deferredTo, clearedDate, heldDeparture } = entry
  // What HR says goes on by itself while it is held back.
  if (heldDeparture !== null)
    return { separatedAt: heldDeparture.separatedAt, inferred: heldDeparture.inferred, deferredTo, clearedDate }
  return { separatedAt: (entry.desired ?? entry.confirmed)?.separatedAt ?? null, inferred, deferredTo, clearedDate }
}

/** What is desired of an employment: no leaving for as long as an operator holds it back, which then is kept beside it. */
export function applyHold(
  employment: Employment,
  { heldBackUntil }: Pick<RosterEntry, 'heldBackUntil'>,
  { today, timeZone }: { readonly today: string; readonly timeZone: string },
): { readonly effective: Employment; readonly heldDeparture: HeldDeparture | null } {
  const { separatedAt, inferred } = employment
  if (heldBackUntil === null || today >= heldBackUntil || separatedAt === null)
    return { effective: employment, heldDeparture: null }
  const heldDeparture = { separatedAt, inferred, until: heldBackUntil, timeZone }
  return { effective: { ...employment, separatedAt: null, inferred: false }, heldDeparture }
}

/** Whether accepted facts say that the person is employed, if only until a day that lies ahead. */
export function isEmployed(entry: RosterEntry | undefined, today: string): boolean {
  const known = employmentUntouched(storedEmployment(entry), { today })
  return (entry?.desired ?? null) !== null && !isLeaver(known, today)
}

/** Whether a leaving date has come. One that lies ahead may have been sent under `future: send`; an inferred one never does. */
export function isLeaver(
  { separatedAt, inferred = false }: { readonly separatedAt?: string | null; readonly inferred?: boolean },
  today: string,
): boolean {
  return typeof separatedAt === 'string' && (inferred || dayOf(separatedAt) <= today)
}

/** Whether a row says anything of employment. To be spoken of is not to be employed; to stand in a snapshot is. */
export function isAboutEmployment(observation: Observation, { mode }: Pick<EmploymentRules, 'mode'>): boolean {
  return (
    mode === 'snapshot' ||
    typeof observation.leavingDate === 'string' ||
    observation.statesDeparture ||
    observation.hasEmploymentCell
  )
}

/**
 * Whether facts about employment that are older than the row no longer count. They do where a cell that may say that the person has left
 * cannot be read, and nothing else of the row says so.
 */
export function datesEmployment(observation: Observation, rules: Pick<EmploymentRules, 'mode'>): boolean {
  const { isUncertain, statesDeparture, leavingDate } = observation
  return isAboutEmployment(observation, rules) && (!isUncertain || statesDeparture || typeof leavingDate === 'string')
}

/**
 * Employment after a row that names the person. Evidence of leaving counts as soon as one piece of it does: a date that has come, or
 * a status. A person who has left comes back by positive evidence alone.
 */
export function employmentObserved(before: Employment, observation: Observation, rules: EmploymentRules): Employment {
  const known = employmentUntouched(before, rules)
  const clearedDate = dateThatStartClears(known, observation, rules)
  const stated = observation.leavingDate === clearedDate ? null : observation.leavingDate
  if (typeof stated === 'string' && stated <= rules.today) return onDate(stated, known)
  if (observation.statesDeparture) return isLeaver(known, rules.today) ? known : inferredDate(known, rules)
  if (!isAboutEmployment(observation, rules)) return known

  const hadLeft = isLeaver(known, rules.today)
  if (hadLeft && !bringsBack(known, observation)) return known
  if (typeof stated === 'string') return ahead(stated, known, rules)
  const isWithdrawn = hadLeft || withdrawsAhead(observation, stated)
  return { ...(isWithdrawn ? employed : known), clearedDate: clearedDate ?? known.clearedDate }
}

/**
 * Whether a date that lies ahead is over, by a cell that says so or by a hire. A row that says nothing of dates leaves it, and so does a
 * cell that cannot be read.
 */
function withdrawsAhead({ action, badCells = [] }: Observation, stated: string | null | undefined): boolean {
  return stated === null || (action === 'join' && !badCells.some(({ mayLeave }) => mayLeave))
}

type Dates = Pick<Observation, 'leavingDate' | 'isFirstDayGone' | 'fields'>

/** Whether a row's start lies on or after its leaving date: the person was hired again, or not in the end, or HR swapped the dates. */
export function startsAfterLeaving(observation: Dates): boolean {
  const { leavingDate, isFirstDayGone } = observation
  const start = startOf(observation)
  if (typeof leavingDate !== 'string' || start === null) return false
  return isFirstDayGone ? start > leavingDate : start >= leavingDate
}

/** Whether a row's start lies after the leaving date, as the row states both: on the first day gone, the person never came. */
function startsLater({ leavingDate, isFirstDayGone, fields }: Dates): boolean {
  const start = startOf({ fields })
  if (typeof leavingDate !== 'string' || start === null || start <= leavingDate) return false
  return !isFirstDayGone || start !== Temporal.PlainDate.from(leavingDate).add({ days: 1 }).toString()
}

function startOf({ fields }: Pick<Observation, 'fields'>): string | null {
  return typeof fields.startedAt === 'string' ? dayOf(fields.startedAt) : null
}

/** Whether a row says that the person was hired again after its leaving date, and is employed by now. */
export function isHiredAgain(observation: Observation, today: string): boolean {
  const start = startOf(observation)
  return observation.statesEmployed && startsLater(observation) && start !== null && start <= today
}

/** Employment after a run in which nothing was said about the person: as it was, except that a deferred day may have come. */
export function employmentUntouched(known: Employment, { today }: Pick<EmploymentRules, 'today'>): Employment {
  return known.deferredTo === null || today < known.deferredTo ? known : onDate(known.deferredTo, known)
}

/** Employment after a snapshot that lacks the person for the `absences`-th time in a row. A date that lies ahead does not outvote it. */
export function employmentAbsent(before: Employment, absences: number, rules: EmploymentRules): Employment {
  const known = employmentUntouched(before, rules)
  return isLeaver(known, rules.today) || absences < rules.graceRuns ? known : inferredDate(known, rules)
}

/** The platform's form of a calendar date. */
export function utcMidnight(date: string): string {
  return `${date}T00:00:00.000Z`
}

function dayOf(instant: string): string {
  return instant.slice(0, 'yyyy-mm-dd'.length)
}

/**
 * The row's leaving date, where a later start says that it is over: HR systems keep the date of a person who was hired again. That
 * takes a status that says employed, or a person who had left before the start. For everyone else such a start is a mistake that must
 * not hide the date.
 */
function dateThatStartClears(known: Employment, observation: Observation, { today }: EmploymentRules): string | null {
  const { leavingDate, statesDeparture, statesEmployed, isUncertain } = observation
  if (typeof leavingDate !== 'string') return null
  const start = startOf(observation)
  if (leavingDate === known.clearedDate) return start === null || startsLater(observation) ? leavingDate : null
  if (statesDeparture || isUncertain || start === null || !startsLater(observation) || start > today) return null
  const hadLeftBefore = known.separatedAt !== null && start > dayOf(known.separatedAt)
  return statesEmployed || hadLeftBefore ? leavingDate : null
}

/**
 * Whether a row without evidence of leaving brings a person back who has left. A leaving date that HR stated is withdrawn by a cell
 * that says so, by a status or by a later start; to be there again is enough where the date was inferred.
 */
function bringsBack(known: Employment, { leavingDate, statesEmployed, isUncertain, fields }: Observation): boolean {
  if (isUncertain) return false
  if (known.inferred || leavingDate !== undefined || statesEmployed) return true
  return typeof fields.startedAt === 'string' && fields.startedAt > (known.separatedAt ?? '')
}

function ahead(date: string, known: Employment, { future }: EmploymentRules): Employment {
  // A future date that is desired already was accepted under `future: send`; taking it back would bring the person back for nothing.
  if (future === 'send' || known.separatedAt === utcMidnight(date)) return onDate(date, known)
  return { ...employed, deferredTo: date, clearedDate: known.clearedDate }
}

function onDate(date: string, { clearedDate }: Employment): Employment {
  return { ...employed, separatedAt: utcMidnight(date), clearedDate }
}

function inferredDate({ clearedDate }: Employment, { exportDate }: EmploymentRules): Employment {
  return { ...employed, separatedAt: utcMidnight(exportDate), inferred: true, clearedDate }
}
