import { fingerprint } from '../digest.ts'
import { startsAfterLeaving, utcMidnight } from '../employment.ts'
import type { Observation, Reject, RosterEntry } from '../record.ts'
import type { Decision, PlanContext } from './decide.ts'
import { maxKnownFaults } from './faults.ts'

/** How many days HR has to change the status of a leaver: a weekend and a day. */
const daysForStatus = 3

/** A row whose status says "employed" more than three days after the leaving date by which the person is separated. */
export type Contradiction = { readonly line: number; readonly leavingDate: string }

/** The people with a contradiction in the row that applies. */
export type Contradictions = ReturnType<typeof collectContradictions>

/** Collects the people with a contradiction in the row that applies to them. */
export function collectContradictions(context: PlanContext) {
  const byPerson = new Map<string, Contradiction>()
  return {
    /** `row`: the row that applies to the person; null if the person's rows were rejected. */
    add(identityId: string, row: Observation | null, entry: RosterEntry | undefined, decision: Decision): void {
      const known = { desired: (decision.entry ?? entry)?.desired ?? null, retracted: entry?.retracted ?? null }
      const contradiction = row === null ? null : contradictionIn(row, known, context)
      if (contradiction === null) byPerson.delete(identityId)
      else if (byPerson.size < maxKnownFaults) byPerson.set(identityId, contradiction)
    },
    all: (): [string, Contradiction][] => [...byPerson],
  }
}

/**
 * How a row contradicts itself, given the record that follows from it. Null: it does not, the leaving date is too recent, the person is retracted,
 * or a later start explains both facts.
 */
function contradictionIn(
  observation: Observation,
  { desired, retracted }: Pick<RosterEntry, 'desired' | 'retracted'>,
  { exportDate }: Pick<PlanContext, 'exportDate'>,
): Contradiction | null {
  const { statesEmployed, action, leavingDate, origin } = observation
  // An action that means "employed" is not a status.
  if (!statesEmployed || action !== undefined || typeof leavingDate !== 'string') return null
  const newest = Temporal.PlainDate.from(exportDate)
    .subtract({ days: daysForStatus + 1 })
    .toString()
  if (leavingDate > newest || retracted !== null || startsAfterLeaving(observation)) return null
  return desired?.separatedAt === utcMidnight(leavingDate) ? { line: origin.line, leavingDate } : null
}

/** The reject that lists the row for HR to correct. The whole row is used, so the guards do not count it. */
export function contradictionReject(identityId: string, { line, leavingDate }: Contradiction): Reject {
  return {
    line,
    identityId,
    column: null,
    field: 'employment',
    reason:
      `the status says employed, and the last day of employment, ${leavingDate}, is over: ` +
      'the person stays separated; ask HR which is right',
    cause: 'contradiction',
    cellOnly: true,
    mayLeave: false,
    fingerprint: fingerprint('contradiction', identityId),
  }
}
