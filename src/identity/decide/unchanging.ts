import { isLeaver, startsAfterLeaving, utcMidnight } from '../employment.ts'
import { isBefore } from '../field-times.ts'
import { fieldNames, type Observation, type RosterEntry } from '../record.ts'
import type { DesiredState, PlanContext } from './decide.ts'
import type { Decided } from './decisions.ts'

/**
 * Whether the same row, or the same absence, would change nothing once the plan with this decision is accepted and delivered: on any later
 * day and in any later export, until something else is learned about the person. Returns false if that is not certain.
 */
export function isUnchanging({ entry, decision, input }: Decided, context: PlanContext): boolean {
  const state = decision.entry ?? entry
  if (state === undefined || decision.change?.kind === 'retract') return false
  if (entry !== undefined && !isOrdinary(entry)) return false
  if (state.desired === null || state.deferredTo !== null || state.clearedDate !== null || state.heldDeparture !== null)
    return false
  if (state.exportIsSilent || state.isByOperator) return false
  if (typeof input === 'string') return isGone(state, context)
  return entry?.forgotten === undefined && isUnchangingRow(input, state, context)
}

function isOrdinary({ retracted, heldBackUntil, statedDeparture }: RosterEntry): boolean {
  return retracted === null && heldBackUntil === null && statedDeparture === null
}

/** An absence changes nothing about a leaver. */
function isGone({ desired, inferred }: DesiredState, { today }: PlanContext): boolean {
  return isLeaver({ separatedAt: desired?.separatedAt ?? null, inferred }, today)
}

function isUnchangingRow(observation: Observation, state: DesiredState, context: PlanContext): boolean {
  return (
    isPlain(observation) &&
    state.absences === 0 &&
    isNoNewer(state, context) &&
    statesEmploymentOf(observation, state, context) &&
    statesFieldsOf(observation, state, context)
  )
}

/** Whether the row states only fields, a leaving date and a status, and all of them are readable. */
function isPlain({
  action,
  asOf,
  timeZone,
  rank,
  keyOrder,
  badCells,
  tooLittleToJoin,
  isUncertain,
}: Observation): boolean {
  const others = [action, asOf, timeZone, rank, keyOrder, badCells, tooLittleToJoin]
  return !isUncertain && others.every((other) => other === undefined)
}

/** Whether no known fact is newer than the export, so that every later export applies. */
function isNoNewer({ asOf, employmentAsOf, fieldTimes }: DesiredState, context: PlanContext): boolean {
  const times = [asOf, ...(employmentAsOf === null ? [] : [employmentAsOf]), ...Object.values(fieldTimes ?? {})]
  return times.every((time) => !isBefore(context.asOf, time))
}

function statesEmploymentOf(
  observation: Observation,
  { desired, inferred }: DesiredState,
  { today }: PlanContext,
): boolean {
  const { leavingDate, statesDeparture } = observation
  const separatedAt = desired?.separatedAt ?? null
  if (typeof leavingDate === 'string') {
    // A future date will come, and a date before a start is decided again on the day of that start.
    if (leavingDate >= today || startsAfterLeaving(observation)) return false
    return separatedAt === utcMidnight(leavingDate) && !inferred
  }
  return statesDeparture ? isLeaver({ separatedAt, inferred }, today) : separatedAt === null && !inferred
}

function statesFieldsOf({ fields }: Observation, { desired }: DesiredState, { mapped }: PlanContext): boolean {
  return fieldNames.every((field) => {
    const kept = desired?.[field]
    if (kept !== undefined && mapped !== undefined && field !== 'separatedAt' && !mapped.has(field)) return false
    const stated = field === 'separatedAt' ? undefined : fields[field]
    return stated === undefined || stated === kept
  })
}
