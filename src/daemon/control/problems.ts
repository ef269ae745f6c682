import type { problemOperations } from '../../contract/control/problems.ts'

import { deliveryFailures } from '../../contract/failures.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { listProblems } from '../../store/deliveries/problems.ts'
import { listBlockedPeople } from '../../store/rejects/blocked-people.ts'
import { unblock } from '../../sync/sync.ts'
import type { ControlContext } from './control-context.ts'
import { BlockedPersonCursor, nextCursor, ProblemCursor, problemCursor, readCursor } from './cursors.ts'
import { withNames } from './names.ts'
import { requireConnection } from './require-connection.ts'
import { nextRunAt } from './schedules.ts'
import { blockedPersonView, problemView } from './views.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about people who are not delivered, and about blocked connections. */
export const problemHandlers: Handlers<typeof problemOperations, ControlContext & WithActor> = {
  async listProblems(ctx, { query: { connection, after, limit, values } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const now = ctx.sync.now()
    const scope = { list: 'problems', connection }
    const cursor = readCursor(scope, after, ProblemCursor)
    const rows = await listProblems(ctx.sync.store.db, {
      now,
      connection,
      after: cursor,
      limit,
    })
    const names = new Set(rows.map((problem) => problem.connection))
    const nextRuns = new Map([...names].map((name) => [name, nextRunAt(ctx, name)]))
    const data = rows.map((problem) =>
      problemView(problem, { now, nextRunAt: nextRuns.get(problem.connection) ?? null }),
    )
    const next = nextCursor(scope, { rows, limit }, problemCursor)
    return { status: 200, body: { data: await withNames(ctx, data, { values }), next } }
  },

  async listBlockedPeople(ctx, { query: { connection, after, limit, values } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const now = ctx.sync.now()
    const scope = { list: 'blockedPeople', connection }
    const cursor = readCursor(scope, after, BlockedPersonCursor)
    const rows = await listBlockedPeople(ctx.sync.store.db, {
      now,
      connection,
      after: cursor,
      limit,
    })
    const next = nextCursor(scope, { rows, limit }, (last) => last.cursor)
    const data = rows.map((one) => blockedPersonView(one, now))
    return { status: 200, body: { data: await withNames(ctx, data, { values }), next } }
  },

  async listFailures() {
    const data = Object.entries(deliveryFailures).map(([code, failure]) => ({ code, ...failure }))
    return { status: 200, body: { data } }
  },

  async unblockConnection(ctx, { params: { connection } }) {
    requireConnection(ctx, connection)
    return { status: 200, body: await unblock(ctx.sync, { connection, by: ctx.actor.by }) }
  },
}
