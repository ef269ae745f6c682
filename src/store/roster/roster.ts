import { sql } from 'kysely'
import { timesSpokenOf } from '../../identity/field-times.ts'
import type { FieldTimes, HeldDeparture, IdentityRecord, RosterEntry } from '../../identity/record.ts'
import { changeRoster, lockRoster } from '../connections/connections.ts'
import type { PeopleKeys, PersonKey } from '../keys.ts'
import type { Db, RosterCounts } from '../schema.ts'

type EntryRow = {
  identity_id: string
  desired: IdentityRecord | null
  inferred: boolean
  deferred_to: string | null
  cleared_date: string | null
  deferred_zone: string | null
  held_departure: HeldDeparture | null
  held_back_until: string | null
  stated_departure: string | null
  is_by_operator: boolean
  as_of: Date
  employment_as_of: Date | null
  export_is_silent: boolean
  field_times: FieldTimes | null
  spoken_at: Date | null
  absences: number
  is_out_of_sync: boolean
  confirmed: IdentityRecord | null
  retracted_reason: string | null
  retracted_at: Date | null
  forgotten_at: Date | null
  group_value: string | null
}

/**
 * The roster entries of these people, by key. The newest accepted export speaks about everybody who was known by then, so no time is before
 * that export, except for people about whom it is silent.
 */
export async function rosterEntries(
  db: Db,
  { connection, identityIds }: PeopleKeys,
): Promise<Map<string, RosterEntry>> {
  if (identityIds.length === 0) return new Map()
  const rows = await entries(db)
    .where('roster.connection', '=', connection)
    .where(sql<boolean>`roster.identity_id = any(${identityIds})`)
    .execute()
  return new Map(rows.map((row) => [row.identity_id, toEntry(row)]))
}

/** The roster entry of a person; null if the person is unknown. */
export async function rosterEntry(db: Db, { connection, identityId }: PersonKey): Promise<RosterEntry | null> {
  return (await rosterEntries(db, { connection, identityIds: [identityId] })).get(identityId) ?? null
}

/** Locks the entries of these people until the transaction ends. */
export async function lockEntries(tx: Db, { connection, identityIds }: PeopleKeys): Promise<void> {
  await lockRoster(tx, connection)
  await sql`
    select from roster where connection = ${connection} and identity_id = any(${identityIds})
    order by identity_id for update`.execute(tx)
}

/** The keys of all known people, in byte order, page by page. */
export function rosterKeys(db: Db, connection: string): AsyncGenerator<string[]> {
  return keysWhere(db, connection, sql<boolean>`true`)
}

/**
 * The keys of people with unfinished work, independent of the source: a future date, a held or stated departure, or unacknowledged facts.
 */
export function unfinishedKeys(db: Db, connection: string): AsyncGenerator<string[]> {
  const isStated = sql`exists (
    select 1 from stated_departures stated
    where stated.connection = roster.connection and stated.identity_id = roster.identity_id and applies)`
  return keysWhere(
    db,
    connection,
    sql<boolean>`(deferred_to is not null or due_at is not null or ${isStated} or ${isDue})`,
  )
}

/**
 * The connections with leaving dates, stated departures or rows whose day has come, and the time of the newest. Cheap: the indexes contain
 * only waiting ones, and few departures are stated.
 */
export async function connectionsWithDueLeavers(
  db: Db,
  { now, connection }: { now: Date; connection?: string },
): Promise<{ readonly connection: string; readonly since: Date }[]> {
  const { rows } = await sql<{ connection: string; since: Date }>`
    select connection, max(due_at) as since from (
      select connection, due_at from roster where due_at <= ${now}
      union all select connection, due_at from stated_departures where applies and due_at <= ${now}
      union all select connection, due_at from waiting_rows where run_id is null and due_at <= ${now}) due
    where ${connection === undefined ? sql`true` : sql`connection = ${connection}`}
    group by connection order by connection`.execute(db)
  return rows
}

/** The keys of people whose desired e-mail address passes a test. Reads everybody, so only for requests of operators. */
export async function findKeysByEmail(
  db: Db,
  { connection, isMeant }: { connection: string; isMeant: (email: string) => boolean },
): Promise<string[]> {
  const matches: string[] = []
  for await (const keys of keysWhere(db, connection, sql<boolean>`desired ->> 'email' is not null`)) {
    for (const { identityId, desired } of (await rosterEntries(db, { connection, identityIds: keys })).values()) {
      const { email } = desired ?? {}
      if (typeof email === 'string' && isMeant(email)) matches.push(identityId)
    }
  }
  return matches
}

/** The keys of uncertain people: their record on the platform is unknown. */
export function uncertainKeys(db: Db, connection: string): AsyncGenerator<string[]> {
  return keysWhere(db, connection, sql<boolean>`uncertain`)
}

/** Counts the known people of a connection, including leavers. */
export async function rosterSize(db: Db, connection: string): Promise<number> {
  const row = await db
    .selectFrom('roster')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('connection', '=', connection)
    .executeTakeFirstOrThrow()
  return row.count
}

/** Whether the roster has any entry of a connection. */
export async function hasRosterEntries(db: Db, connection: string): Promise<boolean> {
  const { rows } = await sql`select from roster where connection = ${connection} limit 1`.execute(db)
  return rows.length > 0
}

/** Whether anybody of a connection is employed according to accepted facts. */
export async function hasEmployed(db: Db, connection: string): Promise<boolean> {
  const { rows } = await sql<{ hasEmployed: boolean }>`
    select exists (
      select 1 from roster where connection = ${connection} and desired is not null and retracted_at is null
        and desired ->> 'separatedAt' is null) as "hasEmployed"`.execute(db)
  return rows[0]?.hasEmployed ?? false
}

/** Counts the people of a connection by accepted facts. Reads everybody. */
export async function headcount(db: Db, connection: string): Promise<RosterCounts & { readonly employed: number }> {
  const { people, separated } = await db
    .selectFrom('roster')
    .select([
      sql<number>`count(*)::int`.as('people'),
      sql<number>`(count(*) filter (where desired ->> 'separatedAt' is not null))::int`.as('separated'),
    ])
    .where('connection', '=', connection)
    .where(sql<boolean>`desired is not null and retracted_at is null`)
    .executeTakeFirstOrThrow()
  return { people, separated, employed: people - separated }
}

/** The record of a person that was read from the platform: as desired, or another one; null for none. */
export type ReadBack = { readonly identityId: string } & (
  | { readonly asDesired: true }
  | { readonly asDesired: false; readonly confirmed: IdentityRecord | null }
)

/** Records what was read from the platform. These people are no longer uncertain. */
export async function recordVerification(
  db: Db,
  { connection, people }: { connection: string; people: readonly ReadBack[] },
): Promise<void> {
  if (people.length === 0) return
  // First, and in order, as `lockEntries` does.
  await sql`
    with certain as (
      select identity_id from roster
      where connection = ${connection} and uncertain and identity_id = any(${people.map(({ identityId }) => identityId)})
      order by identity_id for update
    )
    update roster set uncertain = false from certain
    where roster.connection = ${connection} and roster.identity_id = certain.identity_id`.execute(db)
  const desired = people.filter((person) => person.asDesired).map(({ identityId }) => identityId)
  const others = people.filter((person) => !person.asDesired)
  await sql`delete from acknowledged where connection = ${connection} and identity_id = any(${desired})`.execute(db)
  if (others.length > 0) {
    await sql`
      insert into acknowledged (connection, identity_id, confirmed)
      select ${connection}, "identityId", confirmed
      from jsonb_to_recordset(${JSON.stringify(others)}::jsonb) as person("identityId" text, confirmed jsonb)
      on conflict (connection, identity_id) do update set confirmed = excluded.confirmed, run_id = null`.execute(db)
  }
}

/** Removes what was acknowledged, because the target is another platform or connection. */
export async function forgetConfirmed(db: Db, connection: string): Promise<void> {
  await sql`
    insert into acknowledged (connection, identity_id, confirmed)
    select connection, identity_id, null from roster where connection = ${connection}
    on conflict (connection, identity_id) do update set confirmed = null, run_id = null`.execute(db)
}

/**
 * Withdraws a retraction: the next run adds the person to the platform again. A person whose values were removed becomes a joiner when a
 * source names them. False if there is no retraction.
 */
export async function unretract(db: Db, { connection, identityId }: PersonKey): Promise<boolean> {
  await changeRoster(db, connection)
  const restored = await db
    .updateTable('roster')
    .set({
      retracted_reason: null,
      retracted_at: null,
      desired: sql`case when forgotten_at is null then desired end`,
      forgotten_at: null,
    })
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

// A retracted person is due as long as the platform has a record.
const isDue = sql<boolean>`case when roster.retracted_at is null
  then roster.desired is not null and exists (
    select 1 from out_of_sync where out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id)
  else not exists (
    select 1 from out_of_sync where out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id
      and out_of_sync.confirmed is null)
  end`

function entries(db: Db) {
  const spoken = sql`case when connections.exports_accepted > roster.exports_before and not roster.export_is_silent then connections.accepted_as_of end`
  return db
    .selectFrom('roster')
    .innerJoin('connections', 'connections.name', 'roster.connection')
    .leftJoin('out_of_sync', (join) =>
      join
        .onRef('out_of_sync.connection', '=', 'roster.connection')
        .onRef('out_of_sync.identity_id', '=', 'roster.identity_id'),
    )
    .leftJoin('hold_backs', (join) =>
      join
        .onRef('hold_backs.connection', '=', 'roster.connection')
        .onRef('hold_backs.identity_id', '=', 'roster.identity_id'),
    )
    .leftJoin('stated_departures', (join) =>
      join
        .onRef('stated_departures.connection', '=', 'roster.connection')
        .onRef('stated_departures.identity_id', '=', 'roster.identity_id')
        .on('stated_departures.applies', '=', true),
    )
    .select([
      'roster.identity_id',
      'roster.group_value',
      'roster.desired',
      'roster.inferred',
      'roster.deferred_to',
      'roster.cleared_date',
      'roster.deferred_zone',
      'roster.held_departure',
      'hold_backs.until as held_back_until',
      'stated_departures.leaving_date as stated_departure',
      'roster.is_by_operator',
      'roster.absences',
      'out_of_sync.confirmed',
      sql<boolean>`out_of_sync.identity_id is not null`.as('is_out_of_sync'),
      'roster.retracted_reason',
      'roster.retracted_at',
      'roster.forgotten_at',
      'roster.as_of',
      'roster.export_is_silent',
      'roster.field_times',
      sql<Date | null>`${spoken}`.as('spoken_at'),
      sql<Date | null>`greatest(roster.employment_as_of, ${spoken})`.as('employment_as_of'),
    ])
}

const remembered = 100
const instants = new Map<number, string>()

/** All people of an export have the same times. */
function isoOf(time: Date): string {
  const known = instants.get(time.getTime())
  if (known !== undefined) return known
  if (instants.size >= remembered) instants.clear()
  const text = time.toISOString()
  instants.set(time.getTime(), text)
  return text
}

function toEntry(row: EntryRow): RosterEntry {
  return {
    identityId: row.identity_id,
    desired: row.desired,
    inferred: row.inferred,
    deferredTo: row.deferred_to,
    clearedDate: row.cleared_date,
    deferredZone: row.deferred_zone,
    heldDeparture: row.held_departure,
    heldBackUntil: row.held_back_until,
    statedDeparture: row.stated_departure,
    isByOperator: row.is_by_operator,
    ...timesSpokenOf({ asOf: isoOf(row.as_of), fieldTimes: row.field_times }, row.spoken_at && isoOf(row.spoken_at)),
    employmentAsOf: row.employment_as_of && isoOf(row.employment_as_of),
    exportIsSilent: row.export_is_silent,
    absences: row.absences,
    confirmed: row.is_out_of_sync ? row.confirmed : row.desired,
    retracted:
      row.retracted_at && row.retracted_reason !== null
        ? { reason: row.retracted_reason, at: row.retracted_at.toISOString() }
        : null,
    ...(row.group_value !== null && { group: row.group_value }),
    ...(row.forgotten_at && { forgotten: true }),
  }
}
