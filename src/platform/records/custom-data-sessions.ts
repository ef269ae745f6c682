import { sql } from 'kysely'
import type { customDataSessions } from '../../contract/platform/custom-data-sessions.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { findResource, lockResource } from '../connections/access.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { dataRecordEvents } from '../events/data-record-events.ts'
import { type NewEvent, recordEvents } from '../events/store-events.ts'
import { deleteRecords, setOf } from './rows.ts'
import { findSession, moveSession, presentSession } from './session-rows.ts'
import { uploadRecords } from './upload.ts'

/** The handlers of the operations on custom data sessions. */
export const customDataSessionHandlers: Handlers<typeof customDataSessions, PlatformContext> = {
  async listCustomDataSessions(ctx, { params, query }) {
    const { id } = await findResource(ctx, params)
    const { status } = query
    return replyWithPage(ctx, {
      table: 'custom_data_sessions',
      where: sql`resource_id = ${id} ${status === undefined ? sql`` : sql`and status = ${status}`}`,
      filter: { ...params, status },
      query,
      present: (rows) => rows.map(presentSession),
    })
  },

  async uploadSessionRecords(ctx, { params, body }) {
    const { sessionId, ...resource } = params
    return uploadRecords(ctx, resource, { data: body.data, sessionId })
  },

  async performSessionAction(ctx, { params, body: { action } }) {
    const { connectionId, resourceId, sessionId } = params
    await findResource(ctx, params)
    const status = await ctx.db.transaction().execute(async (trx) => {
      await lockResource(trx, params, 'exclusive')
      const session = await findSession(trx, params)
      if (!session) throw new Refusal(404, `This resource has no session ${sessionId}`)
      if (session.status !== 'IN_PROGRESS') {
        throw new Refusal(422, `Session ${sessionId} is ${session.status}; only one in progress can ${action}`)
      }
      // Before the session becomes active: the live records are still those that it replaces.
      const set = setOf(resourceId, action === 'cancel' ? sessionId : null)
      const removed = await deleteRecords(trx, { resourceId, set })
      const moved = await moveSession(trx, session, action, ctx.now())
      const target = { kind: 'customDataSession', id: sessionId } as const
      await recordEvents(trx, ctx, [
        ...dataRecordEvents('REMOVED', { connectionId, target, kind: 'customDataRecord', noun: 'record', ...removed }),
        ...(action === 'complete' ? [completion(connectionId, sessionId)] : []),
      ])
      return moved
    })
    return { status: 200, body: { sessionId, status, action, connectionId, resourceId } }
  },
}

function completion(connectionId: number, sessionId: string): NewEvent {
  return {
    type: 'CUSTOM_RESOURCE_RECORD_UPDATED',
    description: `The records of session ${sessionId} became the live ones of custom connection ${connectionId}`,
    target: { kind: 'customDataSession', id: sessionId },
    connectionId,
  }
}
