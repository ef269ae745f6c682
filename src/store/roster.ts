import { sql } from 'kysely'
import type { IdentityRecord, RosterEntry } from '../identity/record.ts'
import type { Db } from './schema.ts'

type EntryRow = {
  identity_id: string
  wanted: IdentityRecord | null
  inferred: boolean
  deferred_to: string | null
  as_of: Date
  absences: number
  confirmed: IdentityRecord | null
  retracted_reason: string | null
  retracted_at: Date | null
}

/**
 * What is known of these people, by key. `asOf` is the later of the person's own fact and the connection's last accepted
 * export: that export spoke about everybody, so what is older than it is old for all.
 */
export async function rosterEntries(
  db: Db,
  { connection, identityIds }: { connection: string; identityIds: readonly string[] },
): Promise<Map<string, RosterEntry>> {
  const rows = await entries(db)
    .where('roster.connection', '=', connection)
    .where(sql<boolean>`roster.identity_id = any(${identityIds})`)
    .execute()
  return new Map(rows.map((row) => [row.identity_id, toEntry(row)]))
}

export async function rosterEntry(
  db: Db,
  { connection, identityId }: { connection: string; identityId: string },
): Promise<RosterEntry | null> {
  return (await rosterEntries(db, { connection, identityIds: [identityId] })).get(identityId) ?? null
}

/** The keys of everybody known, in byte order, page by page. */
export function rosterKeys(db: Db, connection: string): AsyncGenerator<string[]> {
  return keysWhere(db, connection, sql<boolean>`true`)
}

/** The keys of those about whom something is left to do whatever a source says: a date to come, or facts not acknowledged yet. */
export function unfinishedKeys(db: Db, connection: string): AsyncGenerator<string[]> {
  const unfinished = sql<boolean>`(deferred_to is not null or case when retracted_at is null
    then wanted is not null and wanted is distinct from confirmed else confirmed is not null end)`
  return keysWhere(db, connection, unfinished)
}

/** How many people of the connection are employed, as far as accepted facts say. */
export async function headcount(db: Db, connection: string): Promise<number> {
  const row = await db
    .selectFrom('roster')
    .select(sql<number>`count(*)`.as('count'))
    .where('connection', '=', connection)
    .where(sql<boolean>`wanted is not null and wanted ->> 'separatedAt' is null and retracted_at is null`)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Notes what the platform really holds for these people (null: nothing), as read back from it. */
export async function setConfirmed(
  db: Db,
  {
    connection,
    found,
    now,
  }: { connection: string; found: readonly { identityId: string; confirmed: IdentityRecord | null }[]; now: Date },
): Promise<void> {
  if (found.length === 0) return
  await sql`
    update roster set confirmed = found.confirmed, confirmed_at = ${now}
    from jsonb_to_recordset(${JSON.stringify(found)}::jsonb) as found("identityId" text, confirmed jsonb)
    where roster.connection = ${connection} and roster.identity_id = found."identityId"`.execute(db)
}

/** Forgets what the platform acknowledged: it is another platform, or another of its connections, than before. */
export async function forgetConfirmed(db: Db, connection: string): Promise<void> {
  await db
    .updateTable('roster')
    .set({ confirmed: null, confirmed_at: null })
    .where('connection', '=', connection)
    .where('confirmed', 'is not', null)
    .execute()
}

/** Takes a retraction back: the next run treats the person as one whom the platform does not have. False where there was none. */
export async function unretract(
  db: Db,
  { connection, identityId }: { connection: string; identityId: string },
): Promise<boolean> {
  const restored = await db
    .updateTable('roster')
    .set({ retracted_reason: null, retracted_at: null })
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .where('retracted_at', 'is not', null)
    .executeTakeFirst()
  return restored.numUpdatedRows > 0n
}

async function* keysWhere(
  db: Db,
  connection: string,
  condition: ReturnType<typeof sql<boolean>>,
): AsyncGenerator<string[]> {
  const pageSize = 20_000
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('roster')
      .select('identity_id')
      .where('connection', '=', connection)
      .where('identity_id', '>', after)
      .where(condition)
      .orderBy('identity_id')
      .limit(pageSize)
      .execute()
    const last = rows.at(-1)
    if (last) yield rows.map((row) => row.identity_id)
    if (!last || rows.length < pageSize) return
    after = last.identity_id
  }
}

function entries(db: Db) {
  return db
    .selectFrom('roster')
    .innerJoin('connections', 'connections.name', 'roster.connection')
    .select([
      'roster.identity_id',
      'roster.wanted',
      'roster.inferred',
      'roster.deferred_to',
      'roster.absences',
      'roster.confirmed',
      'roster.retracted_reason',
      'roster.retracted_at',
      sql<Date>`greatest(roster.as_of, connections.accepted_as_of)`.as('as_of'),
    ])
}

function toEntry(row: EntryRow): RosterEntry {
  return {
    identityId: row.identity_id,
    wanted: row.wanted,
    inferred: row.inferred,
    deferredTo: row.deferred_to,
    asOf: row.as_of.toISOString(),
    absences: row.absences,
    confirmed: row.confirmed,
    retracted:
      row.retracted_at && row.retracted_reason !== null
        ? { reason: row.retracted_reason, at: row.retracted_at.toISOString() }
        : null,
  }
}
