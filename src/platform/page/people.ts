import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { anyOf, groupRows } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { searchExpression } from '../core/search-words.ts'
import { leadingRecordFirst } from '../identity-sync/identity-sync.ts'
import type { Filter, PeopleQuery } from './query.ts'

/** An HRIS connection as the page shows it. */
export type Connection = { readonly id: number; readonly name: string }

/** A group as the page shows it. */
export type Group = { readonly id: number; readonly name: string }

/** A person in the list. */
export type ListedPerson = {
  readonly id: number
  readonly userId: number
  readonly name: string | null
  readonly email: string
  readonly status: EmploymentStatus
  readonly compliance: 'PASS' | 'FAIL' | 'EXCLUDED'
  readonly startedAt: Date | null
  readonly separatedAt: Date | null
  readonly setByHandAt: Date | null
  readonly hasDatesByHand: boolean
  readonly createdAt: Date
  /** The names of the connections with a record of the person; the first has the leading record. */
  readonly connections: readonly string[]
  /** The names of the groups of the person. */
  readonly groups: readonly string[]
}

/** One page of the list of people. */
export type PeoplePage = {
  readonly people: readonly ListedPerson[]
  readonly total: number
  /** The cursors of the previous and the next page, as user ids; null if there is none. */
  readonly before: number | null
  readonly after: number | null
}

type Row = {
  readonly id: number
  readonly user_id: number
  readonly email: string
  readonly first_name: string | null
  readonly last_name: string | null
  readonly employment_status: EmploymentStatus
  readonly compliance_status: 'PASS' | 'FAIL' | 'EXCLUDED'
  readonly started_at: Date | null
  readonly separated_at: Date | null
  readonly status_updated_at: Date | null
  readonly started_by_hand: boolean
  readonly separated_by_hand: boolean
  readonly created_at: Date
}
type NamePosition = { readonly last: string; readonly first: string; readonly id: number }
type Db = Kysely<PlatformSchema>

const pageSize = 50
/** Maximum number of groups to choose from. */
const maxGroups = 500

// The expressions of the index `users_names`.
const lastName = sql`fold_case(coalesce(users.last_name, users.first_name, users.email))`
const firstName = sql`fold_case(coalesce(users.first_name, ''))`

type PeopleRequest = { readonly accountId: number; readonly query: PeopleQuery; readonly now: Date }

/** One page of the people of an account by name, with the number of all matches and the cursors. */
export async function listPeople(db: Db, { accountId, query, now }: PeopleRequest): Promise<PeoplePage> {
  const matching = conditionsOf(accountId, query)
  const isBackwards = query.before !== null
  const from = await positionOf(db, accountId, query.before ?? query.after)
  const rows = await peopleFrom(db, { matching, from, isBackwards: isBackwards && from !== null })
  const shown = rows.slice(0, pageSize)
  const hasMore = rows.length > pageSize
  if (isBackwards && from) shown.reverse()
  const connections = await connectionsOf(
    db,
    shown.map((row) => row.user_id),
    now,
  )
  const groups = await groupsOfPeople(
    db,
    shown.map((row) => row.id),
  )
  const [hasBefore, hasAfter] = isBackwards && from ? [hasMore, true] : [from !== null, hasMore]
  return {
    people: shown.map((row) => presentPerson(row, connections.get(row.user_id) ?? [], groups.get(row.id) ?? [])),
    total: await count(db, matching),
    before: hasBefore ? (shown.at(0)?.user_id ?? null) : null,
    after: hasAfter ? (shown.at(-1)?.user_id ?? null) : null,
  }
}

/** The number of people of an account by status. */
export async function countStatuses(db: Db, accountId: number): Promise<ReadonlyMap<EmploymentStatus, number>> {
  const rows = await db
    .selectFrom('personnel')
    .select(['employment_status', sql<number>`count(*)::int`.as('people')])
    .where('account_id', '=', accountId)
    .groupBy('employment_status')
    .execute()
  return new Map(rows.map((row) => [row.employment_status, row.people]))
}

/** The number of people of an account who were edited by hand. */
export async function countSetByHand(db: Db, accountId: number): Promise<number> {
  const row = await db
    .selectFrom('personnel')
    .select(sql<number>`count(*)::int`.as('people'))
    .where('account_id', '=', accountId)
    .where('set_by_hand', '=', true)
    .executeTakeFirstOrThrow()
  return row.people
}

/** The start of the last finished sync of an account, or null. */
export async function lastSync(db: Db, accountId: number): Promise<Date | null> {
  const syncs = db.selectFrom('identity_syncs').select('started_at').where('account_id', '=', accountId)
  return (await syncs.orderBy('id', 'desc').limit(1).executeTakeFirst())?.started_at ?? null
}

/** The HRIS connections of an account. */
export async function hrisConnections(db: Db, accountId: number): Promise<Connection[]> {
  const rows = await db
    .selectFrom('custom_connections')
    .select(['id', 'client_alias'])
    .where('account_id', '=', accountId)
    .where('provider_type', '=', 'HRIS')
    .orderBy('id')
    .execute()
  return rows.map(({ id, client_alias }) => ({ id, name: connectionName(id, client_alias) }))
}

/** The groups of an account by name. */
export async function groupsOfAccount(db: Db, accountId: number): Promise<Group[]> {
  const groups = db.selectFrom('personnel_groups').select(['id', 'name']).where('account_id', '=', accountId)
  return groups.orderBy('name').orderBy('id').limit(maxGroups).execute()
}

function conditionsOf(accountId: number, { search, status, source, group }: Filter): RawBuilder<unknown> {
  const conditions = [sql`personnel.account_id = ${accountId} and users.account_id = ${accountId}`]
  if (status) conditions.push(sql`personnel.employment_status = ${status}`)
  if (source !== null) conditions.push(fromSource(source))
  if (group !== null) {
    conditions.push(sql`exists (select from group_members where person_id = personnel.id and group_id = ${group})`)
  }
  if (search !== '') conditions.push(matchesSearch(search))
  return sql.join(conditions, sql` and `)
}

function fromSource(source: NonNullable<Filter['source']>): RawBuilder<unknown> {
  if (source === 'by-hand') return sql`personnel.set_by_hand`
  const record = sql`
    select from identity_matches as match
    join hris_user_identities as identity on identity.id = match.identity_row_id
    where match.user_id = users.id and identity.deleted_at is null
  `
  return source === 'none'
    ? sql`not personnel.set_by_hand and not exists (${record})`
    : sql`not personnel.set_by_hand and exists (${record} and identity.connection_id = ${source})`
}

function matchesSearch(search: string): RawBuilder<unknown> {
  const expression = searchExpression(search)
  if (expression === null) return sql`false`
  return sql`users.words @@ fold_case(${expression})::tsquery`
}

/** The position of a user in the order, or null if the user does not exist any more. */
async function positionOf(db: Db, accountId: number, userId: number | null): Promise<NamePosition | null> {
  if (userId === null) return null
  const { rows } = await sql<NamePosition>`
    select ${lastName} as last, ${firstName} as first, id from users where id = ${userId} and account_id = ${accountId}
  `.execute(db)
  return rows[0] ?? null
}

type Step = {
  readonly matching: RawBuilder<unknown>
  readonly from: NamePosition | null
  readonly isBackwards: boolean
}

async function peopleFrom(db: Db, { matching, from, isBackwards }: Step): Promise<Row[]> {
  const dir = sql.raw(isBackwards ? 'desc' : 'asc')
  const beyond = from
    ? sql`and (${lastName}, ${firstName}, users.id) ${sql.raw(isBackwards ? '<' : '>')} (${from.last}, ${from.first}, ${from.id}::bigint)`
    : sql``
  const { rows } = await sql<Row>`
    select personnel.*, users.email, users.first_name, users.last_name
    from personnel join users on users.id = personnel.user_id
    where ${matching} ${beyond}
    order by ${lastName} ${dir}, ${firstName} ${dir}, users.id ${dir}
    limit ${pageSize + 1}
  `.execute(db)
  return rows
}

async function count(db: Db, matching: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from personnel join users on users.id = personnel.user_id where ${matching}
  `.execute(db)
  return rows[0]?.total ?? 0
}

async function connectionsOf(db: Db, userIds: readonly number[], now: Date): Promise<ReadonlyMap<number, string[]>> {
  const { rows } = await sql<{ user_id: number; connection_id: number; client_alias: string | null }>`
    select user_id, connection_id, client_alias
    from (
      select match.user_id, identity.connection_id, identity.id, identity.started_at, identity.separated_at, connection.client_alias
      from identity_matches as match
      join hris_user_identities as identity on identity.id = match.identity_row_id
      join custom_connections as connection on connection.id = identity.connection_id
      where match.user_id = any(${userIds}::bigint[]) and identity.deleted_at is null
    ) as record
    order by user_id, ${leadingRecordFirst(now)}
  `.execute(db)
  const names = new Map<number, Set<string>>()
  for (const { user_id, connection_id, client_alias } of rows) {
    names.set(user_id, (names.get(user_id) ?? new Set()).add(connectionName(connection_id, client_alias)))
  }
  return new Map([...names].map(([userId, set]) => [userId, [...set]]))
}

/** The names of the groups of these people by personnel id. */
export async function groupsOfPeople(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, string[]>> {
  const rows = await db
    .selectFrom('group_members')
    .innerJoin('personnel_groups', 'personnel_groups.id', 'group_members.group_id')
    .select(['person_id', 'personnel_groups.name'])
    .where('person_id', '=', anyOf(ids))
    .orderBy('personnel_groups.name')
    .execute()
  return groupRows(
    rows,
    (row) => row.person_id,
    (row) => row.name,
  )
}

function connectionName(id: number, alias: string | null): string {
  return alias ?? `Connection ${id}`
}

function presentPerson(row: Row, connections: readonly string[], groups: readonly string[]): ListedPerson {
  const name = [row.first_name, row.last_name].filter((part) => part !== null).join(' ')
  return {
    id: row.id,
    userId: row.user_id,
    name: name.trim() === '' ? null : name,
    email: row.email,
    status: row.employment_status,
    compliance: row.compliance_status,
    startedAt: row.started_at,
    separatedAt: row.separated_at,
    setByHandAt: row.status_updated_at,
    hasDatesByHand: row.started_by_hand || row.separated_by_hand,
    createdAt: row.created_at,
    connections,
    groups,
  }
}
