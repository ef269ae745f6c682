import { sql } from 'kysely'
import type { OvertakenEvent } from '../../identity/decide/decider.ts'
import type { PersonKey } from '../keys.ts'
import type { Db } from '../schema.ts'

const batchSize = 5000
const shownOfPerson = 20

/** Records which events of a run have no effect, replacing the result of an earlier plan. */
export async function recordOvertakenEvents(
  tx: Db,
  { runId, overtaken }: { runId: string; overtaken: readonly OvertakenEvent[] },
): Promise<void> {
  await sql`
    delete from overtaken_events using inbox where inbox.id = overtaken_events.event and inbox.run_id = ${runId}`.execute(
    tx,
  )
  for (let start = 0; start < overtaken.length; start += batchSize) {
    const rows = JSON.stringify(overtaken.slice(start, start + batchSize))
    await sql`
      insert into overtaken_events (event, identity_id, reason)
      select overtaken.event, "identityId", overtaken.reason
      from jsonb_to_recordset(${rows}::jsonb) as overtaken(event bigint, "identityId" text, reason text)
        join inbox on inbox.id = overtaken.event
      on conflict do nothing`.execute(tx)
  }
}

/** An event that had no effect on a person. */
export type OvertakenOf = {
  readonly id: string
  readonly eventId: string | null
  readonly runId: string | null
  readonly receivedAt: string
  readonly reason: string
}

/** The events that had no effect on a person because newer facts were known, the newest first. */
export async function overtakenOf(db: Db, { connection, identityId }: PersonKey): Promise<OvertakenOf[]> {
  const rows = await db
    .selectFrom('overtaken_events')
    .innerJoin('inbox', 'inbox.id', 'overtaken_events.event')
    .select(['inbox.id', 'inbox.event_id', 'inbox.run_id', 'inbox.received_at', 'overtaken_events.reason'])
    .where('overtaken_events.identity_id', '=', identityId)
    .where('inbox.connection', '=', connection)
    .where('inbox.state', '=', 'settled')
    .orderBy('inbox.id', 'desc')
    .limit(shownOfPerson)
    .execute()
  return rows.map((row) => ({
    id: String(row.id),
    eventId: row.event_id,
    runId: row.run_id,
    receivedAt: row.received_at.toISOString(),
    reason: row.reason,
  }))
}
