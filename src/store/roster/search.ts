import { sql } from 'kysely'
import type { IdentityRecord } from '../../identity/record.ts'
import { resolveKey } from '../key-answers.ts'
import type { Db } from '../schema.ts'
import {
  hasPrefix,
  hasSearchedKey,
  matchedBy,
  type Portion,
  portionSize,
  type SearchCursor,
  searchInSteps,
} from '../search.ts'

/** A person that a search found, and by what. */
export type RosterSearchResult = {
  readonly connection: string
  readonly identityId: string
  readonly desired: IdentityRecord
  readonly isRetracted: boolean
  readonly by: 'key' | 'email' | 'name' | null
}

/** Where a search through several connections continues. */
export type PeopleCursor = SearchCursor & { readonly connection: string }

type PeopleSearch = {
  readonly connections: readonly string[]
  readonly search?: string
  readonly place?: PeopleCursor
  readonly limit: number
  readonly withinMs: number
}

/**
 * Searches people by the start of key, e-mail or name; without `search`, lists everybody by key. An index finds keys. Scanning a million
 * people for the rest takes one to three seconds, so after `withinMs` the search returns its matches so far and where to continue.
 */
export async function searchPeople(
  db: Db,
  { connections, search, place, limit, withinMs }: PeopleSearch,
): Promise<{ readonly found: RosterSearchResult[]; readonly next: PeopleCursor | null }> {
  const end = performance.now() + withinMs
  const isOver = () => performance.now() > end
  const found: RosterSearchResult[] = []
  for (const connection of connections.toSorted()) {
    if (place !== undefined && connection < place.connection) continue
    const { step, after } = place?.connection === connection ? place : { step: 0, after: '' }
    const desired = { search, place: { step, after }, limit: limit - found.length, isOver }
    const page =
      search === undefined
        ? await everybody(db, connection, desired)
        : await inConnection(db, connection, { ...desired, search })
    found.push(...page.found)
    if (page.next !== null) return { found, next: { connection, ...page.next } }
  }
  return { found, next: null }
}

async function everybody(
  db: Db,
  connection: string,
  { place, limit }: { place: SearchCursor; limit: number },
): Promise<{ readonly found: RosterSearchResult[]; readonly next: SearchCursor | null }> {
  const { rows } = await sql<RosterSearchResult>`
    select ${columns}, null as by from roster
    where connection = ${connection} and identity_id > ${place.after} and desired is not null
    order by identity_id limit ${limit}`.execute(db)
  const last = rows.at(-1)
  return { found: rows, next: last && rows.length === limit ? { step: 0, after: last.identityId } : null }
}

async function inConnection(
  db: Db,
  connection: string,
  desired: { search: string; place: SearchCursor; limit: number; isOver: () => boolean },
): Promise<{ readonly found: RosterSearchResult[]; readonly next: SearchCursor | null }> {
  const { search } = desired
  const key = sql.ref('identity_id')
  return await searchInSteps(desired, {
    async withPrefix(prefix, after, limit) {
      const { rows } = await sql<RosterSearchResult>`
        select ${columns}, 'key' as by from roster
        where connection = ${connection} and identity_id > ${after} and ${hasPrefix(key, prefix)} and desired is not null
        order by identity_id limit ${limit}`.execute(db)
      if (prefix !== search || after !== '' || rows.length === limit) return rows
      return [...(await withOtherKey(db, { connection, identityId: search })), ...rows]
    },
    async amongNext(after, limit) {
      const by = matchedBy(search, key, sql.ref('desired'))
      const { rows } = await sql<{ found: RosterSearchResult[] | null } & Omit<Portion<RosterSearchResult>, 'found'>>`
        with portion as materialized (
          select connection, identity_id, desired, retracted_at, ${by} as by from roster
          where connection = ${connection} and identity_id > ${after} and desired is not null
          order by identity_id limit ${portionSize}),
        found as (
          select ${columns}, by from portion where by is not null and not ${hasSearchedKey(search, key)}
          order by identity_id limit ${limit})
        select (select json_agg(found) from found) as found, max(identity_id) as last, count(*)::int as looked from portion`.execute(
        db,
      )
      const [{ found = null, last = null, looked = 0 } = {}] = rows
      return { found: found ?? [], last, looked }
    },
  })
}

/** The person who has this key as a later key. */
async function withOtherKey(db: Db, asked: { connection: string; identityId: string }): Promise<RosterSearchResult[]> {
  const identityId = await resolveKey(db, asked)
  if (identityId === asked.identityId) return []
  const { rows } = await sql<RosterSearchResult>`
    select ${columns}, 'key' as by from roster
    where connection = ${asked.connection} and identity_id = ${identityId} and desired is not null`.execute(db)
  return rows
}

const columns = sql`connection, identity_id as "identityId", desired, retracted_at is not null as "isRetracted"`
