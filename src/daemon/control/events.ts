import type { eventOperations } from '../../contract/control/events.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { dismissEvents, listEvents, retryEvents } from '../../store/inbox/review.ts'
import type { ControlContext } from './control-context.ts'
import { nextCursor, readCursor, TextCursor } from './cursors.ts'
import { requireConnection } from './require-connection.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about webhook events. */
export const eventHandlers: Handlers<typeof eventOperations, ControlContext & WithActor> = {
  async listEvents(ctx, { params: { connection }, query: { state, order, after, limit } }) {
    requireConnection(ctx, connection)
    const scope = { list: 'events', connection, state, order }
    const cursor = readCursor(scope, after, TextCursor)
    const data = await listEvents(ctx.sync.store.db, { connection, order, state, after: cursor, limit })
    return { status: 200, body: { data, next: nextCursor(scope, { rows: data, limit }, (last) => last.id) } }
  },

  async retryEvents(ctx, { params: { connection }, body: { ids } }) {
    requireConnection(ctx, connection)
    const { by } = ctx.actor
    const events = await ctx.sync.store.db.transaction().execute(async (tx) => {
      const retried = await retryEvents(tx, { connection, ids })
      const details = { events: retried, ids }
      if (retried > 0)
        await recordAuditEntry(tx, { act: 'events.retried', connection, by, details, now: ctx.sync.now() })
      return retried
    })
    return { status: 200, body: { events } }
  },

  async dismissEvents(ctx, { params: { connection }, body: { ids } }) {
    requireConnection(ctx, connection)
    const { by } = ctx.actor
    const events = await ctx.sync.store.db.transaction().execute(async (tx) => {
      const dismissed = await dismissEvents(tx, { connection, ids, by })
      const details = { events: dismissed, ids }
      if (dismissed > 0)
        await recordAuditEntry(tx, { act: 'events.dismissed', connection, by, details, now: ctx.sync.now() })
      return dismissed
    })
    return { status: 200, body: { events } }
  },
}
