import type { Kysely, Selectable } from 'kysely'
import type { CustomDataSession, SessionAction, SessionStatus } from '../../contract/platform/custom-data-sessions.ts'
import { Refusal } from '../../http/refusal.ts'
import { changedAt, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

type SessionRow = Selectable<PlatformSchema['custom_data_sessions']>
type SessionKey = { readonly resourceId: number; readonly sessionId: string }

/** The status that each action leads to, and the column for its time. */
const moves = {
  complete: { status: 'ACTIVE', timeColumn: 'activated_at' },
  cancel: { status: 'CANCELED', timeColumn: 'canceled_at' },
} as const satisfies Record<SessionAction, { status: SessionStatus; timeColumn: keyof SessionRow }>

/** Creates the session of that key, or accepts the one in progress; refuses with 400 otherwise. The caller has locked the resource. */
export async function openSession(
  trx: Kysely<PlatformSchema>,
  { resourceId, sessionId, now }: SessionKey & { readonly now: Date },
): Promise<void> {
  const created = await trx
    .insertInto('custom_data_sessions')
    .values({
      resource_id: resourceId,
      session_id: sessionId,
      status: 'IN_PROGRESS',
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (created) return
  const known = await findSession(trx, { resourceId, sessionId })
  if (known?.status === 'IN_PROGRESS') return
  throw new Refusal(
    400,
    known
      ? `Session ${sessionId} is ${known.status} and takes no more records; choose a new sessionId`
      : 'Another session of this resource is in progress; complete or cancel it first',
  )
}

/** The session of that key, or undefined. */
export async function findSession(
  db: Kysely<PlatformSchema>,
  { resourceId, sessionId }: SessionKey,
): Promise<SessionRow | undefined> {
  return db
    .selectFrom('custom_data_sessions')
    .selectAll()
    .where('resource_id', '=', resourceId)
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
}

/** Completes or cancels a session in progress. A completed session becomes active and archives the one that was active. */
export async function moveSession(
  trx: Kysely<PlatformSchema>,
  { id, resource_id }: SessionRow,
  action: SessionAction,
  now: Date,
): Promise<SessionStatus> {
  const { status, timeColumn } = moves[action]
  if (status === 'ACTIVE') {
    await trx
      .updateTable('custom_data_sessions')
      .set({ status: 'ARCHIVED', ...changedAt(now) })
      .where('resource_id', '=', resource_id)
      .where('status', '=', 'ACTIVE')
      .execute()
  }
  await trx
    .updateTable('custom_data_sessions')
    .set({ status, [timeColumn]: now, ...changedAt(now) })
    .where('id', '=', id)
    .execute()
  return status
}

/** A session as responses carry it. */
export function presentSession(row: SessionRow): CustomDataSession {
  return {
    id: row.id,
    sessionId: row.session_id,
    status: row.status,
    ...presentTimes(row),
    activatedAt: row.activated_at?.toISOString() ?? null,
    canceledAt: row.canceled_at?.toISOString() ?? null,
  }
}
