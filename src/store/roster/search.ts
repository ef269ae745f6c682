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

/** A match of a search, and what matched. */
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
  readonly cursor?: PeopleCursor
  readonly limit: number
  readonly withinMs: number
}

/**
 * Searches people by the start of key, e-mail or name; without `search`, lists everybody by key. An index finds keys. Scanning a million
 * people for the rest takes one to three seconds, so after `withinMs` the search returns its matches so far and where to continue.
 */
export async function searchPeople(
  db: Db,
  { connections, search, cursor, limit, withinMs }: PeopleSearch,
): Promise<{ readonly matches: RosterSearchResult[]; readonly next: PeopleCursor | null }> {
  const end = performance.now() + withinMs
  const isOver = () => performance.now() > end
  const matches: RosterSearchResult[] = []
  for (const connection of connections.toSorted()) {
    if (cursor !== undefined && connection < cursor.connection) continue
    const { step, after } = cursor?.connection === connection ? cursor : { step: 0, after: '' }
    const input = { search, cursor: { step, after }, limit: limit - matches.length, isOver }
    const page =
      search === undefined
        ? await everybody(db, connection, input)
        : await inConnection(db, connection, { ...input, search })
    matches.push(...page.matches)
    if (page.next !== null) return { matches, next: { connection, ...page.next } }
  }
  return { matches, next: null }
}

async function everybody(
  db: Db,
  connection: string,
  { cursor, limit }: { cursor: SearchCursor; limit: number },
): Promise<{ readonly matches: RosterSearchResult[]; readonly next: SearchCursor | null }> {
  const { rows } = await sql<RosterSearchResult>`
    select ${columns}, null as by from roster
    where connection = ${connection} and identity_id > ${cursor.after} and desired is not null
    order by identity_id limit ${limit}`.execute(db)
  const last = rows.at(-1)
  return { matches: rows, next: last && rows.length === limit ? { step: 0, after: last.identityId } : null }
}

async function inConnection(
  db: Db,
  connection: string,
  input: { search: string; cursor: SearchCursor; limit: number; isOver: () => boolean },
): Promise<{ readonly matches: RosterSearchResult[]; readonly next: SearchCursor | null }> {
  const { search } = input
  const key = sql.ref('identity_id')
  return await searchInSteps(input, {
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
      const { rows } = await sql<
        { matches: RosterSearchResult[] | null } & Omit<Portion<RosterSearchResult>, 'matches'>
      >`
        with portion as materialized (
          select connection, identity_id, desired, retracted_at, ${by} as by from roster
          where connection = ${connection} and identity_id > ${after} and desired is not null
          order by identity_id limit ${portionSize}),
        matches as (
          select ${columns}, by from portion where by is not null and not ${hasSearchedKey(search, key)}
          order by identity_id limit ${limit})
        select (select json_agg(matches) from matches) as matches, max(identity_id) as last, count(*)::int as scanned from portion`.execute(
        db,
      )
      const [{ matches = null, last = null, scanned = 0 } = {}] = rows
      return { matches: matches ?? [], last, scanned }
    },
  })
}

/** The person who has this key as a later key. */
async function withOtherKey(db: Db, person: { connection: string; identityId: string }): Promise<RosterSearchResult[]> {
  const identityId = await resolveKey(db, person)
  if (identityId === person.identityId) return []
  const { rows } = await sql<RosterSearchResult>`
    select ${columns}, 'key' as by from roster
    where connection = ${person.connection} and identity_id = ${identityId} and desired is not null`.execute(db)
  return rows
}

const columns = sql`connection, identity_id as "identityId", desired, retracted_at is not null as "isRetracted"`
