import type { LeaverReport } from '../../contract/control/leavers.ts'
import { type Cell, csv } from '../../web/csv.ts'

type Row = LeaverReport['leavers'][number]

const columns: Readonly<Record<string, (leaver: Row) => Cell>> = {
  connection: ({ connection }) => connection,
  identityId: ({ identityId }) => identityId,
  state: ({ state }) => state,
  lastDay: ({ effectiveOn }) => effectiveOn,
  lastDayEndsAt: ({ effectiveAt }) => effectiveAt,
  lastDayInferred: ({ inferred }) => inferred,
  leftBeforeFirstNamed: ({ joinedLeft }) => joinedLeft,
  formerLastDays: ({ formerDates }) => formerDates.map(({ on, until }) => `${on} until ${until}`).join('; '),
  statedAt: ({ statedAt }) => statedAt,
  statedBy: ({ statedBy }) => statedBy,
  firstSeenAt: ({ firstSeenAt }) => firstSeenAt,
  acceptedAt: ({ acceptedAt }) => acceptedAt,
  sentAt: ({ sentAt }) => sentAt,
  acknowledgedAt: ({ acknowledgedAt }) => acknowledgedAt,
  visibleAt: ({ visibleAt }) => visibleAt,
  endedAt: ({ endedAt }) => endedAt,
  dueAt: ({ dueAt }) => dueAt,
  late: ({ late }) => late,
  hrSeconds: ({ hrSeconds }) => hrSeconds,
  ourSeconds: ({ ourSeconds }) => ourSeconds,
  platformSeconds: ({ platformSeconds }) => platformSeconds,
  foundStatus: ({ foundStatus }) => foundStatus,
  finding: ({ finding }) => finding,
  checkedAt: ({ checkedAt }) => checkedAt,
  runId: ({ runId }) => runId,
}
const personal: typeof columns = { name: ({ name }) => name ?? null, email: ({ email }) => email ?? null }

/** The departures of a report as a table. It has names and e-mails if the report has them. */
export function leaversCsv({ leavers }: LeaverReport): string {
  const shown = leavers.some(({ email }) => email !== undefined) ? { ...columns, ...personal } : columns
  const cells = Object.values(shown)
  return csv(
    Object.keys(shown),
    leavers.map((leaver) => cells.map((of) => of(leaver))),
  )
}
