import type { HeldDeparture, Observation, RosterEntry } from './record.ts'

/** The rules for decisions about employment. Days are calendar dates (`YYYY-MM-DD`) in the source's time zone. */
export type EmploymentRules = {
  readonly mode: 'snapshot' | 'delta'
  /** The number of consecutive snapshots without a person that count as a departure. */
  readonly graceRuns: number
  /** The day of the as-of time. It becomes the leaving date of leavers for whom HR states none. */
  readonly exportDate: string
  /** The day of the run. Later days are in the future. */
  readonly today: string
  /** Whether a future leaving date is sent at once or waits for its day. */
  readonly future: 'send' | 'defer'
}

/** The desired last day of employment, and how it was determined. */
export type Employment = {
  readonly separatedAt: string | null
  readonly inferred: boolean
  readonly deferredTo: string | null
  readonly clearedDate: string | null
}

const employed: Employment = { separatedAt: null, inferred: false, deferredTo: null, clearedDate: null }

/** The employment of a person before this run. */
export function storedEmployment(entry: RosterEntry | undefined): Employment {
  if (entry === undefined) return employed
  const { inferred, deferredTo, clearedDate, heldDeparture } = entry
  if (entry.isByOperator && !inferred) return { ...employed, deferredTo, clearedDate }
  // A held departure is still what HR states.
  if (heldDeparture !== null)
    return { separatedAt: heldDeparture.separatedAt, inferred: heldDeparture.inferred, deferredTo, clearedDate }
  return { separatedAt: (entry.desired ?? entry.confirmed)?.separatedAt ?? null, inferred, deferredTo, clearedDate }
}

/** Takes a departure out of an employment while an operator holds it back, and returns it separately. */
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

/**
 * Puts the departure that an operator states in place of an employment in which HR states no leaving date that has come. A later day of HR
 * waits for its day: it brings no one back until then. `isByOperator` of the entry: the operator's day applies already. `today`: the day in
 * the zone of HR's facts; the operator's day begins in the zone of the source (`sourceToday`).
 */
export function applyStated(
  employment: Employment,
  { statedDeparture, isByOperator }: Pick<RosterEntry, 'statedDeparture' | 'isByOperator'>,
  { today, sourceToday }: { readonly today: string; readonly sourceToday: string },
): { readonly effective: Employment; readonly isByOperator: boolean } {
  const { separatedAt, inferred, deferredTo } = employment
  const hasLeft = isLeaver(employment, today)
  const isOfHr = hasLeft && !(inferred && isByOperator)
  if (statedDeparture === null || sourceToday < statedDeparture || isOfHr || isHiredAfter(employment, statedDeparture))
    return { effective: employment, isByOperator: false }
  const later = separatedAt === null || hasLeft ? deferredTo : dayOf(separatedAt)
  const effective = { ...employment, separatedAt: utcMidnight(statedDeparture), deferredTo: later }
  return { effective, isByOperator: true }
}

/** Whether HR states both a leaving date on or after a day, and a later start. */
function isHiredAfter({ clearedDate }: Employment, day: string): boolean {
  return clearedDate !== null && clearedDate >= day
}

/** Whether the person is employed according to accepted facts, if only until a future day. */
export function isEmployed(entry: RosterEntry | undefined, today: string): boolean {
  const known = employmentUntouched(storedEmployment(entry), { today })
  return (entry?.desired ?? null) !== null && entry?.isByOperator !== true && !isLeaver(known, today)
}

/** Whether a leaving date has come. A future date may have been sent under `future: send`; an inferred date is never in the future. */
export function isLeaver(
  { separatedAt, inferred = false }: { readonly separatedAt?: string | null; readonly inferred?: boolean },
  today: string,
): boolean {
  return typeof separatedAt === 'string' && (inferred || dayOf(separatedAt) <= today)
}

/** Whether a row states employment. Every row of a snapshot does; a row of a delta needs evidence. */
export function isAboutEmployment(observation: Observation, { mode }: Pick<EmploymentRules, 'mode'>): boolean {
  return (
    mode === 'snapshot' ||
    typeof observation.leavingDate === 'string' ||
    observation.statesDeparture ||
    observation.hasEmploymentCell
  )
}

/**
 * Whether a row replaces older facts about employment. It does not if a cell that could state a departure is unreadable and nothing else
 * in the row states one.
 */
export function datesEmployment(observation: Observation, rules: Pick<EmploymentRules, 'mode'>): boolean {
  const { isUncertain, statesDeparture, leavingDate } = observation
  return isAboutEmployment(observation, rules) && (!isUncertain || statesDeparture || typeof leavingDate === 'string')
}

/**
 * Employment after a row that names the person. One piece of evidence is enough for a departure: a date that has come, or a status. A
 * leaver comes back only by positive evidence.
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
  if (typeof stated === 'string') return deferOrSend(stated, known, rules)
  const isWithdrawn = hadLeft || withdrawsAhead(observation, stated)
  return { ...(isWithdrawn ? employed : known), clearedDate: clearedDate ?? known.clearedDate }
}

/**
 * Whether a row withdraws a future date: by a blank cell, or by a hire. A row without dates does not, and neither does an unreadable cell.
 */
function withdrawsAhead({ action, badCells = [] }: Observation, stated: string | null | undefined): boolean {
  return stated === null || (action === 'join' && !badCells.some(({ mayLeave }) => mayLeave))
}

type Dates = Pick<Observation, 'leavingDate' | 'isFirstDayGone' | 'fields'>

/** Whether a row's start is on or after its leaving date: the person was hired again, never started, or HR swapped the dates. */
export function startsAfterLeaving(observation: Dates): boolean {
  const { leavingDate, isFirstDayGone } = observation
  const start = startOf(observation)
  if (typeof leavingDate !== 'string' || start === null) return false
  return isFirstDayGone ? start > leavingDate : start >= leavingDate
}

/** Whether a row's start is after the stated leaving date. A start on the first day gone means that the person never started. */
function startsLater({ leavingDate, isFirstDayGone, fields }: Dates): boolean {
  const start = startOf({ fields })
  if (typeof leavingDate !== 'string' || start === null || start <= leavingDate) return false
  return !isFirstDayGone || start !== Temporal.PlainDate.from(leavingDate).add({ days: 1 }).toString()
}

function startOf({ fields }: Pick<Observation, 'fields'>): string | null {
  return typeof fields.startedAt === 'string' ? dayOf(fields.startedAt) : null
}

/** Whether a row states that the person was hired again after its leaving date and is now employed. */
export function isHiredAgain(observation: Observation, today: string): boolean {
  const start = startOf(observation)
  return observation.statesEmployed && startsLater(observation) && start !== null && start <= today
}

/** Employment after a run without facts about the person: unchanged, unless a deferred day has come. */
export function employmentUntouched(known: Employment, { today }: Pick<EmploymentRules, 'today'>): Employment {
  return known.deferredTo === null || today < known.deferredTo ? known : onDate(known.deferredTo, known)
}

/** Employment after a snapshot without the person, the `absences`-th in a row. A future date does not prevent the departure. */
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
 * The row's leaving date if a later start clears it, because HR systems keep the date of a person who was hired again. This takes a status
 * that means employed, or a person who had left before the start. For everybody else such a start is a mistake and must not hide the
 * date.
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
 * Whether a row without evidence of a departure brings a leaver back. A stated leaving date is withdrawn by a blank cell, a status or a
 * later start. If the date was inferred, being present again is enough.
 */
function bringsBack(known: Employment, { leavingDate, statesEmployed, isUncertain, fields }: Observation): boolean {
  if (isUncertain) return false
  if (known.inferred || leavingDate !== undefined || statesEmployed) return true
  return typeof fields.startedAt === 'string' && fields.startedAt > (known.separatedAt ?? '')
}

function deferOrSend(date: string, known: Employment, { future }: EmploymentRules): Employment {
  // A future date that is already desired was accepted under `future: send`. Deferring it now would bring the person back.
  if (future === 'send' || known.separatedAt === utcMidnight(date)) return onDate(date, known)
  return { ...employed, deferredTo: date, clearedDate: known.clearedDate }
}

function onDate(date: string, { clearedDate }: Employment): Employment {
  return { ...employed, separatedAt: utcMidnight(date), clearedDate }
}

function inferredDate({ clearedDate }: Employment, { exportDate }: EmploymentRules): Employment {
  return { ...employed, separatedAt: utcMidnight(exportDate), inferred: true, clearedDate }
}
