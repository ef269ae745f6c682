import { sql } from 'kysely'
import { foldLetters, holdsFolded } from '../../contract/control/fold-letters.ts'
import type { IdentityRecord, OwnField } from '../../identity/record.ts'
import type { Db } from '../schema.ts'
import {
  hasPrefix,
  type Match,
  type MatchedBy,
  matchesAmong,
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
  readonly by: MatchedBy | null
}

/** Where a search through several connections continues. */
export type PeopleCursor = SearchCursor & { readonly connection: string }

type PeopleSearch = {
  readonly connections: readonly string[]
  readonly search?: string
  /** Whether addresses and names are searched too, and not only keys. */
  readonly values: boolean
  /** The own field with the name of a connection's records; null for people. */
  readonly labelOf: (connection: string) => OwnField | null
  readonly cursor?: PeopleCursor
  readonly limit: number
  readonly withinMs: number
}

/**
 * Searches people by any part of key, e-mail or name; without `search`, lists everybody by key. An index finds the beginnings of keys.
 * Scanning a million people for the rest takes seconds, so after `withinMs` the search returns its matches so far and where to continue.
 */
export async function searchPeople(
  db: Db,
  { connections, search, values, labelOf, cursor, limit, withinMs }: PeopleSearch,
): Promise<{ readonly matches: RosterSearchResult[]; readonly next: PeopleCursor | null }> {
  const end = performance.now() + withinMs
  const isOver = () => performance.now() > end
  const matches: RosterSearchResult[] = []
  let hasSearched = false
  for (const connection of connections.toSorted()) {
    if (cursor !== undefined && connection < cursor.connection) continue
    if (hasSearched && isOver()) return { matches, next: { connection, step: 0, after: '' } }
    hasSearched = true
    const { step, after } = cursor?.connection === connection ? cursor : { step: 0, after: '' }
    const input = { search, cursor: { step, after }, limit: limit - matches.length, isOver }
    const page =
      search === undefined
        ? await everybody(db, connection, input)
        : await inConnection(db, connection, { ...input, search, values, label: labelOf(connection) })
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

type SearchInConnection = {
  readonly search: string
  readonly values: boolean
  readonly label: OwnField | null
  readonly cursor: SearchCursor
  readonly limit: number
  readonly isOver: () => boolean
}

async function inConnection(
  db: Db,
  connection: string,
  input: SearchInConnection,
): Promise<{ readonly matches: RosterSearchResult[]; readonly next: SearchCursor | null }> {
  const { search, values, label } = input
  const key = sql.ref('identity_id')
  const otherKeys = await ownersOfOtherKeys(db, { connection, search })
  const hasOtherKey = sql<boolean>`identity_id = any(${otherKeys})`
  const { matches, next } = await searchInSteps<Match>(input, {
    async withPrefix(prefix, after, limit) {
      const isMatch =
        prefix === search
          ? sql`(${hasPrefix(key, prefix)} or ${hasOtherKey})`
          : sql`${hasPrefix(key, prefix)} and not ${hasOtherKey}`
      const { rows } = await sql<Match>`
        select identity_id as "identityId", 'key' as by from roster
        where connection = ${connection} and identity_id > ${after} and ${isMatch} and desired is not null
        order by identity_id limit ${limit}`.execute(db)
      return rows
    },
    async amongNext(after, limit) {
      const people = sql`
        select identity_id, ${values ? sql.ref('desired') : sql`null::jsonb`} as record from roster
        where connection = ${connection} and identity_id > ${after} and desired is not null
        order by identity_id limit ${portionSize}`
      return await matchesAmong(db, { search, people, label, isMeant: sql`not ${hasOtherKey}`, limit })
    },
  })
  const { rows } = await sql<Omit<RosterSearchResult, 'by'>>`
    select ${columns} from roster
    where connection = ${connection} and identity_id = any(${matches.map(({ identityId }) => identityId)})`.execute(db)
  const people = new Map(rows.map((row) => [row.identityId, row]))
  const shown = matches.flatMap(({ identityId, by }) => {
    const person = people.get(identityId)
    return person === undefined ? [] : [{ ...person, by }]
  })
  return { matches: shown, next }
}

/** Maximum number of later keys that a search looks at; more have a longer part of a key in common. */
const maxOtherKeys = 2000

/** The people, by the key on the platform, of whom a later key holds the search. */
async function ownersOfOtherKeys(
  db: Db,
  { connection, search }: { readonly connection: string; readonly search: string },
): Promise<string[]> {
  const whole = foldLetters(search)
  const { rows } = await sql<{ later: string; key: string }>`
    with recursive owners as (
      (select identity_id as later, former as key, 1 as depth from key_answers
       where connection = ${connection} and same
         and (octet_length(identity_id) > char_length(identity_id) or strpos(lower(identity_id), ${whole.plain}) > 0)
       order by identity_id limit ${maxOtherKeys})
      union all
      select owners.later, answer.former, depth + 1 from owners join key_answers answer
        on answer.connection = ${connection} and answer.identity_id = owners.key and answer.same)
    select distinct on (later) later, key from owners order by later, depth desc`.execute(db)
  return [...new Set(rows.flatMap(({ later, key }) => (holdsFolded(foldLetters(later), whole) ? [key] : [])))]
}

const columns = sql`connection, identity_id as "identityId", desired, retracted_at is not null as "isRetracted"`
