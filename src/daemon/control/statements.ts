import type { statementOperations } from '../../contract/control/statements.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { runsWithoutStatement } from '../../store/statement/owed.ts'
import { type StoredStatement, statementAt, statementPeople } from '../../store/statement/read.ts'
import type { ControlContext } from './control-context.ts'
import { nextCursor, readCursor, TextCursor } from './cursors.ts'
import { requireConnection } from './require-connection.ts'
import { labelOf } from './views.ts'
import type { WithActor } from './with-permissions.ts'

type StatementQuery = { readonly connection: string; readonly at?: string | undefined }

/** Handlers of the operations about population statements. */
export const statementHandlers: Handlers<typeof statementOperations, ControlContext & WithActor> = {
  async getStatement(ctx, { params, query }) {
    const { id: _, ...body } = await requireStatement(ctx, { ...params, ...query })
    const before = exclusiveEnd(ctx, { ...params, ...query })
    const [runWithoutStatement] = await runsWithoutStatement(ctx.sync.store.db, [params.connection], {
      now: ctx.sync.now(),
      before,
    })
    return {
      status: 200,
      body: { ...body, ...(runWithoutStatement && { unstatedRunId: runWithoutStatement.runId }) },
    }
  },

  async listStatementPeople(ctx, { params: { connection }, query }) {
    const { at, side, part, after, limit, values } = query
    const { id } = await requireStatement(ctx, { connection, at })
    const scope = { list: 'statement', connection, at, side, part }
    const cursor = readCursor(scope, after, TextCursor)
    const rows = await statementPeople(ctx.sync.store.db, {
      ...{ connection, statement: id, side, part, after: cursor, limit, values },
      label: labelOf(ctx.sync, connection),
    })
    return {
      status: 200,
      body: { data: [...rows], next: nextCursor(scope, { rows, limit }, ({ identityId }) => identityId) },
    }
  },
}

/** The population statement of a connection at a day or an instant, by default the newest. */
async function requireStatement(
  ctx: Pick<ControlContext, 'sync'>,
  { connection, at }: StatementQuery,
): Promise<StoredStatement> {
  requireConnection(ctx, connection)
  const statement = await statementAt(ctx.sync.store.db, { connection, before: exclusiveEnd(ctx, { connection, at }) })
  if (statement) return statement
  const timeText = at === undefined ? '' : ` of ${at} or earlier`
  throw new Failure(
    'not_found',
    `"${connection}" has no population statement${timeText}: one is made after each accepted export, and at most once an hour after other runs`,
  )
}

/** Exclusive upper bound of the time of the population statement; undefined: take the newest one. */
function exclusiveEnd(ctx: Pick<ControlContext, 'sync'>, { connection, at }: StatementQuery): Date | undefined {
  const { source, webhook } = ctx.sync.connections.get(connection)?.feeds ?? {}
  return at === undefined ? undefined : instantAfter(at, (source ?? webhook)?.timeZone ?? 'UTC')
}

/** The first instant after a day, in the time zone of the source, or after an instant. */
function instantAfter(at: string, timeZone: string): Date {
  try {
    if (/^\d{4}-\d\d-\d\d$/.test(at)) {
      const end = Temporal.PlainDate.from(at).add({ days: 1 }).toZonedDateTime(timeZone)
      return new Date(end.epochMilliseconds)
    }
    return new Date(Temporal.Instant.from(at).epochMilliseconds + 1)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Failure('usage', 'at: write a day such as 2026-11-20, or an instant such as 2026-11-20T03:00:00Z')
  }
}
