import { type Kysely, type Selectable, sql } from 'kysely'
import type { CustomDataSession, SessionAction, SessionStatus } from '../../contract/platform/custom-data-sessions.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformSchema } from '../core/schema.ts'

type SessionRow = Selectable<PlatformSchema['custom_data_sessions']>
type SessionKey = { readonly resourceId: number; readonly sessionId: string }

/** What each action makes of a session that is in progress, and which moment it writes. */
const moves = {
  complete: { status: 'ACTIVE', moment: 'activated_at' },
  cancel: { status: 'CANCELED', moment: 'canceled_at' },
} as const satisfies Record<SessionAction, { status: SessionStatus; moment: keyof SessionRow }>

/** Begins the session of that key, or finds it in progress. The caller holds the resource, so that it stays so. */
export async function openSession(
  trx: Kysely<PlatformSchema>,
  { resourceId, sessionId, now }: SessionKey & { readonly now: Date },
): Promise<void> {
  const begun = await trx
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
  if (begun) return
  const known = await findSession(trx, { resourceId, sessionId })
  if (known?.status === 'IN_PROGRESS') return
  throw new Refusal(
    400,
    known
      ? `Session ${sessionId} is ${known.status} and takes no more records; choose a new sessionId`
      : 'Another session of this resource is in progress; complete or cancel it first',
  )
}

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

/** Ends a session that is in progress; one that becomes active archives the one that was. */
export async function moveSession(
  trx: Kysely<PlatformSchema>,
  { id, resource_id }: SessionRow,
  { action, now }: { readonly action: SessionAction; readonly now: Date },
): Promise<SessionStatus> {
  const { status, moment } = moves[action]
  const touched = {
    updated_at: sql<Date>`greatest(updated_at, ${now}::timestamptz)`,
    changed_in: sql<never>`pg_current_xact_id()`,
  }
  if (status === 'ACTIVE') {
    await trx
      .updateTable('custom_data_sessions')
      .set({ status: 'ARCHIVED', ...touched })
      .where('resource_id', '=', resource_id)
      .where('status', '=', 'ACTIVE')
      .execute()
  }
  await trx
    .updateTable('custom_data_sessions')
    .set({ status, [moment]: now, ...touched })
    .where('id', '=', id)
    .execute()
  return status
}

export function presentSession(row: SessionRow): CustomDataSession {
  return {
    id: row.id,
    sessionId: row.session_id,
    status: row.status,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    activatedAt: row.activated_at?.toISOString() ?? null,
    canceledAt: row.canceled_at?.toISOString() ?? null,
  }
}
