import { sql } from 'kysely'
import type { StatedPerson } from '../../identity/effective/accounts.ts'
import type { EmploymentFacts } from '../../identity/effective/expected.ts'
import { nameKey, type PersonName } from '../../identity/effective/name-key.ts'
import { keyAnswers } from '../key-answers.ts'
import { desiredValue } from '../roster/names.ts'
import type { Db } from '../schema.ts'

/** A person whom HR states. `isPending`: the platform has not acknowledged the newest facts. */
export type DeliveredPerson = EmploymentFacts & {
  readonly identityId: string
  readonly email: string | null
  readonly isPending: boolean
}

/**
 * The people of a connection in key order, page by page, also those with changes to send. Retracted and forgotten people are left out.
 */
export async function* deliveredPeople(
  db: Db,
  connection: string,
  pageSize = 5000,
): AsyncGenerator<readonly DeliveredPerson[]> {
  for (let after = ''; ; ) {
    const { rows } = await sql<DeliveredPerson>`
      select identity_id as "identityId", ${desiredValue('email')} as email,
        ${desiredValue('startedAt')} as "startedAt", ${desiredValue('separatedAt')} as "separatedAt",
        (${desiredValue('isContractor')})::boolean as "isContractor",
        desired ? 'startedAt' as "statesStart",
        exists (
          select from out_of_sync
          where out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id) as "isPending"
      from roster
      where connection = ${connection} and identity_id > ${after} and desired is not null
        and retracted_at is null and forgotten_at is null
      order by identity_id limit ${pageSize}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map(toPerson)
    if (rows.length < pageSize) return
    after = last.identityId
  }
}

function toPerson(row: DeliveredPerson & { readonly statesStart?: boolean }): DeliveredPerson {
  const { statesStart, startedAt, ...person } = row
  return statesStart ? { ...person, startedAt } : person
}

/** Everybody whom these connections state, also leavers, page by page. Retracted and forgotten people are left out. */
export async function* statedPeople(
  db: Db,
  connections: readonly string[],
  pageSize = 5000,
): AsyncGenerator<readonly StatedPerson[]> {
  const laterKeys = new Map<string, string[]>()
  for (const connection of connections)
    for (const [later, { identityId }] of (await keyAnswers(db, connection)).aliases)
      laterKeys.getOrInsertComputed(`${connection}\0${identityId}`, () => []).push(later)
  for (let after = { connection: '', identityId: '' }; ; ) {
    const { rows } = await sql<Omit<StatedPerson, 'laterKeys'>>`
      select connection, identity_id as "identityId",
        array_remove(array[${desiredValue('email')}, ${desiredValue('secondaryEmail')}], null) as emails,
        ${desiredValue('firstName')} as "firstName", ${desiredValue('lastName')} as "lastName",
        ${desiredValue('startedAt')} as "startedAt", ${desiredValue('separatedAt')} as "separatedAt",
        (${desiredValue('isContractor')})::boolean as "isContractor"
      from roster
      where connection = any(${connections}) and (connection, identity_id) > (${after.connection}, ${after.identityId})
        and desired is not null and retracted_at is null and forgotten_at is null
      order by connection, identity_id limit ${pageSize}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map((row) => ({ ...row, laterKeys: laterKeys.get(`${row.connection}\0${row.identityId}`) ?? [] }))
    if (rows.length < pageSize) return
    after = last
  }
}

type WaitingQuery = {
  readonly connections: readonly string[]
  /** In lower case, without blanks around, as addresses. */
  readonly keys: readonly string[]
  readonly addresses: readonly string[]
}

/** Those of these keys and addresses of which HR has a row that is not accepted: it waits in a held plan, or has a fault. */
export async function keysOfWaitingRows(
  db: Db,
  { connections, keys, addresses }: WaitingQuery,
): Promise<ReadonlySet<string>> {
  if (keys.length === 0 && addresses.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    with held as (select id from runs where connection = any(${connections}) and state = 'held'),
    entry as (
      select lower(trim(identity_id)) as key, lower(trim(desired ->> 'email')) as address
      from held join plan_entries on run_id = held.id)
    select lower(trim(identity_id)) as key from known_faults
    where connection = any(${connections}) and lower(trim(identity_id)) = any(${keys})
    union
    select key from entry where key = any(${keys})
    union
    select address from entry where address = any(${addresses})
    union
    select lower(trim(identity_id)) from held join rejects on run_id = held.id
    where lower(trim(identity_id)) = any(${keys})`.execute(db)
  return new Set(rows.map(({ key }) => key))
}

/**
 * Those of these connections of which HR has stated nobody so far: no export was accepted, and no event. `withSource`: those of which the
 * first export states everybody, so that events alone do not count.
 */
export async function connectionsWithoutFacts(
  db: Db,
  { connections, withSource }: { readonly connections: readonly string[]; readonly withSource: readonly string[] },
): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${connections}::text[]) as asked(name)
    where not exists (
      select from connections
      where connections.name = asked.name and (accepted_as_of is not null or accepted_source is not null))
      and (name = any(${withSource})
        or not exists (select from roster where roster.connection = asked.name and desired is not null))
    order by name`.execute(db)
  return rows.map(({ name }) => name)
}

/** A key and its name in HR. */
type NamedKey = PersonName & { readonly connection: string; readonly identityId: string }
/** A key with a name, and whether it has changes to send. */
type KnownName = NamedKey & { readonly isPending: boolean }

const nameColumns = sql`${desiredValue('firstName')} as "firstName", ${desiredValue('lastName')} as "lastName"`

/** The names of these people. */
export async function namesOf(
  db: Db,
  people: readonly { readonly connection: string; readonly identityId: string }[],
): Promise<NamedKey[]> {
  if (people.length === 0) return []
  const { rows } = await sql<NamedKey>`
    select roster.connection, roster.identity_id as "identityId", ${nameColumns}
    from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as person(connection text, "identityId" text)
    join roster on roster.connection = person.connection and roster.identity_id = person."identityId"`.execute(db)
  return rows
}

type NamesQuery = {
  readonly connections: readonly string[]
  /** As `nameKey` writes them. */
  readonly names: ReadonlySet<string>
}

/**
 * The people of these connections with one of these names whose data is not retracted. Reads everybody once, page by page: which letters a
 * database takes for the same depends on its collation.
 */
export async function peopleNamed(
  db: Db,
  { connections, names }: NamesQuery,
  pageSize = 5000,
): Promise<readonly KnownName[]> {
  const known: KnownName[] = []
  if (names.size === 0) return known
  for (let after = { connection: '', identityId: '' }; ; ) {
    const { rows } = await sql<KnownName>`
      select connection, identity_id as "identityId", ${nameColumns}, exists (
        select from out_of_sync
        where out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id) as "isPending"
      from roster
      where connection = any(${connections}) and (connection, identity_id) > (${after.connection}, ${after.identityId})
        and desired is not null and retracted_at is null
      order by connection, identity_id limit ${pageSize}`.execute(db)
    known.push(...rows.filter((row) => names.has(nameKey(row) ?? '')))
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageSize) return known
    after = last
  }
}
