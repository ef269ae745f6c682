import { sql } from 'kysely'
import type { Observation } from '../../identity/record.ts'
import type { ConnectionAt, PeopleKeys, PersonKey, RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** A row that takes effect on a later day (`YYYY-MM-DD`), which begins at `dueAt` (ISO instant). Its `asOf` is that of its export. */
export type WaitingRow = { readonly effectiveOn: string; readonly dueAt: string; readonly observation: Observation }

/** People of whom nothing waits any more once a plan is accepted: for that day, or at all where it is null. */
export type EndOfWaiting = { readonly identityId: string; readonly effectiveOn: string | null }

/** What a plan makes of the rows that wait. `withdrawn`: the people whose departure waited, and waits no more. */
export type PlannedWaiting = {
  readonly rows: readonly WaitingRow[]
  readonly ended: readonly EndOfWaiting[]
  readonly withdrawn: readonly string[]
}

/** So many rows are written with one statement. */
const written = 1000

type WaitingOfPlan = RunOfConnection & {
  readonly waiting: PlannedWaiting
}

/** Keeps with a plan what waits once it is accepted. */
export async function storeWaiting(tx: Db, { runId, connection, waiting }: WaitingOfPlan): Promise<void> {
  const rows = [
    ...waiting.ended.map((end) => ({ ...end, dueAt: null, observation: null })),
    ...waiting.rows.map((row) => ({ ...row, identityId: row.observation.identityId })),
  ]
  for (let start = 0; start < rows.length; start += written) {
    await sql`
      insert into waiting_rows (connection, run_id, identity_id, effective_on, due_at, observation)
      select ${connection}, ${runId}, "identityId", "effectiveOn", "dueAt", observation
      from jsonb_to_recordset(${JSON.stringify(rows.slice(start, start + written))}::jsonb)
        as r("identityId" text, "effectiveOn" date, "dueAt" timestamptz, observation jsonb)`.execute(tx)
  }
}

/**
 * Makes what a plan says of waiting rows true. What a newer export said goes on waiting. Belongs where its people become the roster.
 */
export async function acceptWaiting(tx: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await sql`
    delete from waiting_rows using waiting_rows ended join runs on runs.id = ended.run_id
    where ended.run_id = ${runId} and ended.observation is null
      and ((waiting_rows.observation ->> 'asOf')::timestamptz > runs.as_of) is not true
      and waiting_rows.connection = ${connection} and waiting_rows.run_id is null
      and waiting_rows.identity_id = ended.identity_id
      and (ended.effective_on is null or waiting_rows.effective_on = ended.effective_on)`.execute(tx)
  await sql`
    delete from waiting_rows where run_id = ${runId} and (observation is null or exists (
      select 1 from roster where roster.connection = waiting_rows.connection
        and roster.identity_id = waiting_rows.identity_id and roster.forgotten_at is not null))`.execute(tx)
  await sql`update waiting_rows set run_id = null where run_id = ${runId}`.execute(tx)
}

/** Removes what waits for a person, also in plans. */
export async function dropWaiting(tx: Db, { connection, identityId }: PersonKey): Promise<void> {
  await tx
    .deleteFrom('waiting_rows')
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .execute()
}

/** The accepted rows of a connection whose day has come, each true since that day began. */
export async function dueWaiting(db: Db, { connection, now }: ConnectionAt): Promise<readonly WaitingRow[]> {
  const { rows } = await sql<StoredRow>`
    select to_char(effective_on, 'YYYY-MM-DD') as "effectiveOn", due_at as "dueAt", observation from waiting_rows
    where connection = ${connection} and run_id is null and due_at <= ${now} order by due_at, seq`.execute(db)
  return rows.map(toWaitingRow)
}

/** What waits for a person, the earliest first. */
export async function waitingOf(db: Db, { connection, identityId }: PersonKey): Promise<readonly WaitingRow[]> {
  const { rows } = await sql<StoredRow>`
    select to_char(effective_on, 'YYYY-MM-DD') as "effectiveOn", due_at as "dueAt", observation from waiting_rows
    where connection = ${connection} and identity_id = ${identityId} and run_id is null order by due_at, seq`.execute(
    db,
  )
  return rows.map(toWaitingRow)
}

/** The keys of the people of a connection for whom something waits. */
export async function waitingKeys(db: Db, connection: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('waiting_rows')
    .select('identity_id')
    .distinct()
    .where('connection', '=', connection)
    .where('run_id', 'is', null)
    .orderBy('identity_id')
    .execute()
  return rows.map((row) => row.identity_id)
}

type DepartureQuery = PeopleKeys & {
  readonly asOf: string
}

/** Those of these people for whom a departure waits that an export of that time, or of an earlier one, has stated. */
export async function waitingDepartures(
  db: Db,
  { connection, identityIds, asOf }: DepartureQuery,
): Promise<readonly string[]> {
  const { rows } = await sql<{ identityId: string }>`
    select distinct identity_id as "identityId" from waiting_rows
    where connection = ${connection} and run_id is null and identity_id = any(${identityIds})
      and (observation ->> 'statesDeparture' = 'true' or observation ->> 'leavingDate' is not null)
      and ((observation ->> 'asOf')::timestamptz > ${asOf}) is not true
    order by identity_id`.execute(db)
  return rows.map(({ identityId }) => identityId)
}

type StoredRow = { readonly effectiveOn: string; readonly dueAt: Date; readonly observation: Observation }

function toWaitingRow({ effectiveOn, dueAt, observation }: StoredRow): WaitingRow {
  return { effectiveOn, dueAt: dueAt.toISOString(), observation }
}
