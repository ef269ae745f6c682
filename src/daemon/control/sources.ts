import type { Run } from '../../contract/control/shapes.ts'
import type { SourceDetail, SourceOutcome, SourceReading, sourceOperations } from '../../contract/control/sources.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { headerOf, type SourceHeader } from '../../store/runs/headers.ts'
import { listSourceRuns, type RunState } from '../../store/runs/runs.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { nextCursor, RunCursor, readCursor } from './cursors.ts'
import { existingRun, requireConnection } from './require-connection.ts'

/** Handlers of the operations about exports. */
export const sourceHandlers: Handlers<typeof sourceOperations, { readonly sync: SyncContext }> = {
  async listSources(ctx, { query: { connection, after, limit } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const scope = { list: 'sources', connection }
    const cursor = readCursor(scope, after, RunCursor)
    const rows = await listSourceRuns(ctx.sync.store.db, { connection, after: cursor, limit })
    const next = nextCursor(scope, { rows, limit }, ({ createdAt, id }) => ({ createdAt, id }))
    return { status: 200, body: { data: rows.map(readingView), next } }
  },

  async getSource(ctx, { params: { runId } }) {
    const run = await existingRun(ctx, runId)
    if (run.feed !== 'source')
      throw new Failure('not_found', `run ${runId} read no source: it planned from the roster or from events`)
    const header = await headerOf(ctx.sync.store.db, runId)
    return { status: 200, body: { ...readingView(run), header: header && headerView(header), warnings: run.warnings } }
  },
}

const outcomes: Readonly<Record<RunState, SourceOutcome>> = {
  waiting: 'reading',
  reading: 'reading',
  planned: 'reading',
  held: 'held',
  delivering: 'accepted',
  unchanged: 'accepted',
  finished: 'accepted',
  finished_with_problems: 'accepted',
  rejected: 'refused',
  superseded: 'superseded',
  cancelled: 'cancelled',
  failed: 'failed',
}

function readingView({
  id,
  connection,
  trigger,
  source,
  asOf,
  mode,
  rows,
  records,
  counts,
  ...run
}: Run): SourceReading {
  const outcome = outcomes[run.state]
  const hadNothingNew = source === null && outcome === 'accepted'
  return {
    runId: id,
    connection,
    at: run.createdAt,
    trigger,
    name: source?.name ?? null,
    bytes: source?.bytes ?? null,
    asOf: source && asOf,
    mode: source && mode,
    rows: source && rows,
    records: source && records,
    rejected: source && (counts?.rejected ?? null),
    incomplete: source && (counts?.incomplete ?? null),
    outcome: hadNothingNew ? 'nothing_new' : outcome,
    reason: run.decidedReason ?? run.reason,
  }
}

function headerView({ headers, columns }: SourceHeader): NonNullable<SourceDetail['header']> {
  const mapped = Object.entries(columns).flatMap(([field, column]) => (column === undefined ? [] : [{ field, column }]))
  const used = new Set(mapped.flatMap(({ column }) => [column, ...column.split(', ')]))
  return { mapped, left: headers.filter((header) => !used.has(header)) }
}
