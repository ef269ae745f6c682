import { hasLeft, startsAfterLeaving, utcMidnight } from '../employment.ts'
import { isBefore } from '../field-times.ts'
import { fieldNames, type RosterEntry, type Sighting } from '../record.ts'
import type { PlanContext, WantedSide } from './decide.ts'
import type { Decided } from './decisions.ts'

/**
 * Whether nothing more follows from the same row, or from the same silence, once the plan with this decision is accepted and delivered: on
 * no later day, and in no later export, as long as nothing else is learned of the person. It answers no where it is not certain.
 */
export function isSettled({ entry, decision, seen }: Decided, context: PlanContext): boolean {
  const side = decision.entry ?? entry
  if (side === undefined || decision.change?.kind === 'retract') return false
  if (entry !== undefined && !isOrdinary(entry)) return false
  if (side.wanted === null || side.deferredTo !== null || side.clearedDate !== null || side.heldLeaving !== null)
    return false
  if (side.exportIsSilent) return false
  if (typeof seen === 'string') return isGone(side, context)
  return entry?.forgotten === undefined && isSettledBy(seen, side, context)
}

function isOrdinary({ retracted, heldBackUntil }: RosterEntry): boolean {
  return retracted === null && heldBackUntil === null
}

/** No export makes someone leave who has left. */
function isGone({ wanted, inferred }: WantedSide, { today }: PlanContext): boolean {
  return hasLeft({ separatedAt: wanted?.separatedAt ?? null, inferred }, today)
}

function isSettledBy(sighting: Sighting, side: WantedSide, context: PlanContext): boolean {
  return (
    isPlain(sighting) &&
    side.absences === 0 &&
    isNoNewer(side, context) &&
    statesEmploymentOf(sighting, side, context) &&
    statesFieldsOf(sighting, side, context)
  )
}

/** The row says no more than fields, a leaving date and a status, each of which can be read. */
function isPlain({ action, asOf, timeZone, rank, keyOrder, badCells, tooLittleToJoin, unsure }: Sighting): boolean {
  const others = [action, asOf, timeZone, rank, keyOrder, badCells, tooLittleToJoin]
  return !unsure && others.every((other) => other === undefined)
}

/** Nothing is known of the person that is newer than the export, so that every later one counts. */
function isNoNewer({ asOf, employmentAsOf, fieldTimes }: WantedSide, context: PlanContext): boolean {
  const times = [asOf, ...(employmentAsOf === null ? [] : [employmentAsOf]), ...Object.values(fieldTimes ?? {})]
  return times.every((time) => !isBefore(context.asOf, time))
}

function statesEmploymentOf(sighting: Sighting, { wanted, inferred }: WantedSide, { today }: PlanContext): boolean {
  const { leavingDate, left } = sighting
  const separatedAt = wanted?.separatedAt ?? null
  if (typeof leavingDate === 'string') {
    // A date that lies ahead comes, and one that a start follows is read anew on the day of that start.
    if (leavingDate >= today || startsAfterLeaving(sighting)) return false
    return separatedAt === utcMidnight(leavingDate) && !inferred
  }
  return left ? hasLeft({ separatedAt, inferred }, today) : separatedAt === null && !inferred
}

function statesFieldsOf({ fields }: Sighting, { wanted }: WantedSide, { mapped }: PlanContext): boolean {
  return fieldNames.every((field) => {
    const kept = wanted?.[field]
    if (kept !== undefined && mapped !== undefined && field !== 'separatedAt' && !mapped.has(field)) return false
    const stated = field === 'separatedAt' ? undefined : fields[field]
    return stated === undefined || stated === kept
  })
}
