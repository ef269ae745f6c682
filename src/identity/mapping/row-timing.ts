import { dateIn } from '../decide/decide.ts'
import { startsAfterLeaving } from '../employment.ts'
import type { Observation, Reject } from '../record.ts'
import { hasOffset } from './date-formats.ts'
import { isoFormat } from './iso-dates.ts'
import { isReject, type MappableRow, rejectedRow } from './rows.ts'

type RowMap = (row: MappableRow) => Observation | Reject

/**
 * Maps rows that take effect later than they were stated. A row with a departure announces it: the person leaves on that day, as with a
 * future leaving date, and a later hire withdraws it. Any other row is rejected until it takes effect.
 */
export function inTime(map: RowMap, timeZone: string): RowMap {
  return (row) => {
    const mapped = map(row)
    const { timing } = row
    if (timing === undefined || isReject(mapped)) return mapped
    const { statedAt, effectiveAt, reason } = timing
    if (speaksOfLeaving(mapped) && effectiveAt !== null) {
      const leavingDate = mapped.leavingDate ?? dateIn(mapped.timeZone ?? timeZone, effectiveAt)
      return { ...mapped, statesDeparture: false, leavingDate, isUncertain: true, asOf: statedAt }
    }
    if (reason === null) return mapped
    const mayLeave = speaksOfLeaving(mapped) || (mapped.badCells?.some((bad) => bad.mayLeave) ?? false)
    const rejected = rejectedRow(row, null, { reason, cause: 'later' }, { identityId: mapped.identityId, mayLeave })
    return effectiveAt === null ? rejected : { ...rejected, retryAt: effectiveAt }
  }
}

/** Adds the day on which a row takes effect, if days or moments decide which row of a person is the latest. */
export function withDay(
  map: RowMap,
  { format, timeZone }: { readonly format: string | undefined; readonly timeZone: string },
): RowMap {
  if (format === undefined) return map
  const isInstant = hasOffset(format) && format !== isoFormat
  return (row) => {
    const mapped = map(row)
    if (isReject(mapped) || mapped.rank === undefined) return mapped
    const instant = isInstant ? `${mapped.rank}Z` : mapped.rank
    const effectiveOn = instant.endsWith('Z')
      ? dateIn(mapped.timeZone ?? timeZone, instant)
      : mapped.rank.slice(0, 'yyyy-mm-dd'.length)
    return { ...mapped, effectiveOn }
  }
}

function speaksOfLeaving(mapped: Observation): boolean {
  const { action, statesDeparture, leavingDate } = mapped
  if (action === 'join' || action === 'retract') return false
  return statesDeparture || (typeof leavingDate === 'string' && !startsAfterLeaving(mapped))
}
