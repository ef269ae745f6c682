import { sql } from 'kysely'
import type { Observation } from '../../identity/record.ts'
import type { ConnectionAt, PeopleKeys, PersonKey, RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** A row that takes effect on a future day (`YYYY-MM-DD`), which starts at `dueAt` (ISO instant). Its `asOf` is that of its export. */
export type WaitingRow = { readonly effectiveOn: string; readonly dueAt: string; readonly observation: Observation }

/** The end of a waiting row once a plan is accepted: for that day, or with null for all days. */
export type EndOfWaiting = { readonly identityId: string; readonly effectiveOn: string | null }

/** What a plan changes about waiting rows. `withdrawn`: people whose waiting departure ends. */
export type PlannedWaiting = {
  readonly rows: readonly WaitingRow[]
  readonly ended: readonly EndOfWaiting[]
  readonly withdrawn: readonly string[]
}

/** Maximum number of rows per statement. */
const batchSize = 1000

type WaitingOfPlan = RunOfConnection & {
  readonly waiting: PlannedWaiting
}

/** Stores the waiting rows of a plan. */
export async function storeWaiting(tx: Db, { runId, connection, waiting }: WaitingOfPlan): Promise<void> {
  const rows = [
    ...waiting.ended.map((end) => ({ ...end, dueAt: null, observation: null })),
    ...waiting.rows.map((row) => ({ ...row, identityId: row.observation.identityId })),
  ]
  for (let start = 0; start < rows.length; start += batchSize) {
    await sql`
      insert into waiting_rows (connection, run_id, identity_id, effective_on, due_at, observation)
      select ${connection}, ${runId}, "identityId", "effectiveOn", "dueAt", observation
      from jsonb_to_recordset(${JSON.stringify(rows.slice(start, start + batchSize))}::jsonb)
        as r("identityId" text, "effectiveOn" date, "dueAt" timestamptz, observation jsonb)`.execute(tx)
  }
}

/** Accepts the waiting rows of a plan. Rows of a newer export stay. Call it when the people of the plan become the roster. */
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

/** Removes the waiting rows of a person, also in plans. */
export async function dropWaiting(tx: Db, { connection, identityId }: PersonKey): Promise<void> {
  await tx
    .deleteFrom('waiting_rows')
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .execute()
}

/** The accepted rows of a connection whose day has come. */
export async function dueWaiting(db: Db, { connection, now }: ConnectionAt): Promise<readonly WaitingRow[]> {
  const { rows } = await sql<StoredRow>`
    select to_char(effective_on, 'YYYY-MM-DD') as "effectiveOn", due_at as "dueAt", observation from waiting_rows
    where connection = ${connection} and run_id is null and due_at <= ${now} order by due_at, seq`.execute(db)
  return rows.map(toWaitingRow)
}

/** The waiting rows of a person, the earliest first. */
export async function waitingOf(db: Db, { connection, identityId }: PersonKey): Promise<readonly WaitingRow[]> {
  const { rows } = await sql<StoredRow>`
    select to_char(effective_on, 'YYYY-MM-DD') as "effectiveOn", due_at as "dueAt", observation from waiting_rows
    where connection = ${connection} and identity_id = ${identityId} and run_id is null order by due_at, seq`.execute(
    db,
  )
  return rows.map(toWaitingRow)
}

/** The keys of the people with waiting rows. */
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

/** Those of these people with a waiting departure from an export of that time or earlier. */
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
