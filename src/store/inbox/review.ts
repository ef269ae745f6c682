import { sql } from 'kysely'
import type { EventState } from '../../contract/control/shapes.ts'
import type { StoredEvent } from '../../identity/record.ts'
import type { Db } from '../schema.ts'
import { readAgain } from './inbox.ts'

/** An event as operators see it. */
type ListedEvent = Omit<StoredEvent, 'body'> & {
  readonly connection: string
  readonly state: EventState
  readonly runId: string | null
  readonly reason: string | null
  /** Size of the body; 0 once it is removed. */
  readonly bytes: number
}

type EventFilter = {
  readonly connection?: string
  readonly state?: EventState
  readonly order?: 'oldest' | 'newest'
  readonly limit?: number
  readonly after?: string
}

/** Lists events in the order of arrival, or the newest first, after the id `after`. */
export async function listEvents(
  db: Db,
  { connection, state, order = 'oldest', limit = 500, after }: EventFilter = {},
): Promise<ListedEvent[]> {
  let query = db
    .selectFrom('inbox')
    .select(['id', 'connection', 'event_id', 'state', 'signed_at', 'received_at', 'run_id', 'reason'])
    .select(sql<number>`coalesce(octet_length(body), 0)`.as('bytes'))
    .orderBy('id', order === 'oldest' ? 'asc' : 'desc')
    .limit(limit)
  if (connection !== undefined) query = query.where('connection', '=', connection)
  if (state !== undefined) query = query.where('state', '=', state)
  if (after !== undefined) query = query.where('id', order === 'oldest' ? '>' : '<', Number(after))
  return (await query.execute()).map((row) => ({
    id: String(row.id),
    connection: row.connection,
    eventId: row.event_id,
    state: row.state as EventState,
    signedAt: row.signed_at?.toISOString() ?? null,
    receivedAt: row.received_at.toISOString(),
    runId: row.run_id,
    reason: row.reason,
    bytes: row.bytes,
  }))
}

/** Makes rejected events pending again: these, or all of the connection. Events without a body stay. Returns their number. */
export async function retryEvents(
  db: Db,
  { connection, ids }: { connection: string; ids?: readonly string[] },
): Promise<number> {
  let query = db
    .updateTable('inbox')
    .set(readAgain)
    .where('connection', '=', connection)
    .where('state', '=', 'rejected')
    .where('body', 'is not', null)
  if (ids !== undefined) query = query.where(sql<boolean>`id = any(${ids}::bigint[])`)
  return Number((await query.executeTakeFirst()).numUpdatedRows)
}

type Dismissal = {
  readonly connection: string
  readonly ids: readonly string[]
  readonly by: string
}

/** Dismisses rejected events and those that no run has taken; returns their number. */
export async function dismissEvents(db: Db, { connection, ids, by }: Dismissal): Promise<number> {
  const dismissed = await db
    .updateTable('inbox')
    .set({ state: 'dismissed', body: null, reason: `dismissed by ${by}`, retry_at: null })
    .where('connection', '=', connection)
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .where(sql<boolean>`(state = 'rejected' or (state = 'pending' and run_id is null))`)
    .executeTakeFirst()
  return Number(dismissed.numUpdatedRows)
}
