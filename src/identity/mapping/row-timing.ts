import { dateIn } from '../decide/decide.ts'
import { startsAfterLeaving } from '../employment.ts'
import type { Reject, Observation } from '../record.ts'
import { hasOffset } from './date-formats.ts'
import { isoFormat } from './iso-dates.ts'
import { isReject, type MappableRow, rejectedRow } from './rows.ts'

type RowMap = (row: MappableRow) => Observation | Reject

/**
 * Maps rows that take effect later than they were stated. One that speaks of leaving announces it: the person leaves on that day, as
 * with a leaving date that lies ahead, so that a later hire withdraws it. Any other counts once its time has come; before, it is rejected
 * until then.
 */
export function inTime(map: RowMap, timeZone: string): RowMap {
  return (row) => {
    const told = map(row)
    const { timing } = row
    if (timing === undefined || isReject(told)) return told
    const { statedAt, effectiveAt, reason } = timing
    if (speaksOfLeaving(told) && effectiveAt !== null) {
      const leavingDate = told.leavingDate ?? dateIn(told.timeZone ?? timeZone, effectiveAt)
      return { ...told, statesDeparture: false, leavingDate, isUncertain: true, asOf: statedAt }
    }
    if (reason === null) return told
    const mayLeave = speaksOfLeaving(told) || (told.badCells?.some((bad) => bad.mayLeave) ?? false)
    const rejected = rejectedRow(row, null, { reason }, { identityId: told.identityId, mayLeave })
    return effectiveAt === null ? rejected : { ...rejected, retryAt: effectiveAt }
  }
}

/** Adds the day on which a row takes effect, where days or moments say which row of a person is the latest. */
export function withDay(
  map: RowMap,
  { format, timeZone }: { readonly format: string | undefined; readonly timeZone: string },
): RowMap {
  if (format === undefined) return map
  const isInstant = hasOffset(format) && format !== isoFormat
  return (row) => {
    const told = map(row)
    if (isReject(told) || told.rank === undefined) return told
    const instant = isInstant ? `${told.rank}Z` : told.rank
    const effectiveOn = instant.endsWith('Z')
      ? dateIn(told.timeZone ?? timeZone, instant)
      : told.rank.slice(0, 'yyyy-mm-dd'.length)
    return { ...told, effectiveOn }
  }
}

function speaksOfLeaving(told: Observation): boolean {
  const { action, statesDeparture, leavingDate } = told
  if (action === 'join' || action === 'retract') return false
  return statesDeparture || (typeof leavingDate === 'string' && !startsAfterLeaving(told))
}
