import { fingerprint } from '../digest.ts'
import { startsAfterLeaving, utcMidnight } from '../employment.ts'
import type { Reject, RosterEntry, Observation } from '../record.ts'
import type { PlanContext } from './decide.ts'

/** How many days HR has to change the status of a leaver: a weekend, and a day. */
const daysForStatus = 3

/** A row whose status says that the person is employed, although its leaving date has come and decides. */
export type Contradiction = { readonly line: number; readonly leavingDate: string }

/** How a row contradicts itself, with the record that follows from it. Null: it does not, or a later start explains both facts. */
export function contradictionIn(
  observation: Observation,
  { desired, retracted }: Pick<RosterEntry, 'desired' | 'retracted'>,
  { exportDate }: Pick<PlanContext, 'exportDate'>,
): Contradiction | null {
  const { statesEmployed, action, leavingDate, origin } = observation
  // An action that says "employed" is no status.
  if (!statesEmployed || action !== undefined || typeof leavingDate !== 'string') return null
  const newest = Temporal.PlainDate.from(exportDate)
    .subtract({ days: daysForStatus + 1 })
    .toString()
  if (leavingDate > newest || retracted !== null || startsAfterLeaving(observation)) return null
  return desired?.separatedAt === utcMidnight(leavingDate) ? { line: origin.line, leavingDate } : null
}

/** Stands among the rows that HR has to correct, until it does. Nothing of the row is lost, so the guards do not count it. */
export function contradictionReject(identityId: string, { line, leavingDate }: Contradiction): Reject {
  return {
    line,
    identityId,
    column: null,
    field: 'employment',
    reason:
      `the status says employed, and the last day of employment, ${leavingDate}, is over: ` +
      'the person stays separated; ask HR which is right',
    cellOnly: true,
    mayLeave: false,
    fingerprint: fingerprint('contradiction', identityId),
  }
}
