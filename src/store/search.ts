import { type RawBuilder, sql } from 'kysely'
import { type FoldedText, foldedWords, foldLetters, holdsFolded } from '../contract/control/fold-letters.ts'
import type { OwnField } from '../identity/record.ts'
import type { Db } from './schema.ts'

/** Where a search continues: the step, and the key after which it continues. */
export type SearchCursor = { readonly step: number; readonly after: string }

/** Maximum number of people that one statement scans, because an embedded database does nothing else meanwhile. */
export const portionSize = 20_000

/** The two queries of a search, in key order. */
type SearchQueries<T> = {
  /** People whose key has this prefix, after a key. An index finds them. */
  readonly withPrefix: (prefix: string, after: string, limit: number) => Promise<T[]>
  /** Matches in the next portion of people after a key. */
  readonly amongNext: (after: string, limit: number) => Promise<Portion<T>>
}

/** Matches of one scanned portion, its last key, and how many people were scanned. */
type Portion<T> = { readonly matches: readonly T[]; readonly last: string | null; readonly scanned: number }

type SearchInput = {
  readonly search: string
  readonly cursor: SearchCursor
  readonly limit: number
  readonly isOver: () => boolean
}

/** Searches by key first, and then scans everybody. The time is limited: `next` is where to continue, also without a match. */
export async function searchInSteps<T extends { readonly identityId: string }>(
  { search, cursor, limit, isOver }: SearchInput,
  searched: SearchQueries<T>,
): Promise<{ readonly matches: T[]; readonly next: SearchCursor | null }> {
  const prefixes = keyPrefixes(search)
  const matches: T[] = []
  let { step, after } = cursor
  for (; step < prefixes.length; step++, after = '') {
    matches.push(...(await searched.withPrefix(prefixes[step] ?? '', after, limit - matches.length)))
    if (matches.length === limit) return { matches, next: { step, after: matches.at(-1)?.identityId ?? '' } }
  }
  for (;;) {
    const portion = await searched.amongNext(after, limit - matches.length)
    matches.push(...portion.matches)
    if (matches.length === limit) return { matches, next: { step, after: matches.at(-1)?.identityId ?? '' } }
    if (portion.last === null || portion.scanned < portionSize) return { matches, next: null }
    after = portion.last
    if (isOver()) return { matches, next: { step, after } }
  }
}

/** The prefixes in common spellings. The scan finds others. */
function keyPrefixes(search: string): string[] {
  return [...new Set([search, search.toUpperCase(), search.toLowerCase()])]
}

/** In SQL, whether a key has a prefix. Keys are sorted by bytes, so the matches are a range. */
export function hasPrefix(key: RawBuilder<unknown>, prefix: string): RawBuilder<boolean> {
  return sql<boolean>`(${key} >= ${prefix} and ${key} < ${`${prefix}\u{10FFFF}`})`
}

/** What of a person matches a search. */
export type MatchedBy = 'key' | 'email' | 'name'
/** A person whom a search matched. */
export type Match = { readonly identityId: string; readonly by: MatchedBy }

/** The people that one statement scans. */
type PortionQuery = {
  readonly search: string
  /**
   * In SQL, the next `portionSize` people in key order, as \`identity_id\` and \`record\`: a JSON document with the fields of a person; null
   * where only the key is searched.
   */
  readonly people: RawBuilder<unknown>
  /** The own field with the name of a record; null for people. */
  readonly label: OwnField | null
  /** In SQL, which of them are meant. */
  readonly isMeant?: RawBuilder<boolean>
  readonly limit: number
}

/** Maximum number of people whom the database passes on at once for letters that only the rule of folding can compare. */
const maxCandidates = 2000

type Candidate = { readonly identityId: string; readonly email: string | null; readonly name: string | null }

/** Matches in the next portion of people. The database decides about ASCII, and passes on everything else. */
export async function matchesAmong(
  db: Db,
  { search, people, label, isMeant = sql<boolean>`true`, limit }: PortionQuery,
): Promise<Portion<Match>> {
  const fullName = sql`concat_ws(' ', record ->> 'firstName', record ->> 'lastName', record ->> ${label}::text)`
  const { rows } = await sql<{ candidates: Candidate[] | null; last: string | null; scanned: number }>`
    with portion as materialized (${people}),
    named as materialized (
      select identity_id as "identityId", record ->> 'email' as email,
        ${fullName} as name, lower(concat_ws(' ', identity_id, record ->> 'email', ${fullName}) collate "C") as text
      from portion where ${isMeant} and not ${hasSearchedKey(search, sql.ref('identity_id'))}),
    candidates as (
      select "identityId", email, name from named where ${mayMatch(search)}
      order by "identityId" limit ${maxCandidates})
    select (select json_agg(candidates) from candidates) as candidates, max(identity_id) as last, count(*)::int as scanned
    from portion`.execute(db)
  const [{ candidates, last = null, scanned = 0 } = { candidates: null }] = rows
  const matchedBy = createMatcher(search)
  const matches: Match[] = []
  for (const { identityId, email, name } of candidates ?? []) {
    const by = matchedBy({ identityId, email, name })
    if (by !== null) matches.push({ identityId, by })
    if (matches.length === limit) break
  }
  const unread = candidates?.length === maxCandidates ? candidates.at(-1) : undefined
  return unread === undefined ? { matches, last, scanned } : { matches, last: unread.identityId, scanned: portionSize }
}

/** Makes a test of people: it returns what matches the search, any part of key or address, or a name with each of its words; null if nothing does. */
function createMatcher(search: string): (person: Candidate) => MatchedBy | null {
  const whole = foldLetters(search)
  const words = foldedWords(search)
  return ({ identityId, email, name }) => {
    if (holdsFolded(foldLetters(identityId), whole)) return 'key'
    if (email !== null && holdsFolded(foldLetters(email), whole)) return 'email'
    if (name === null || words.length === 0) return null
    const folded = foldLetters(name)
    return words.every((word) => holdsFolded(folded, word)) ? 'name' : null
  }
}

/** In SQL, whether a person may match, by `text`: all of their texts. Only texts of ASCII are compared here. */
function mayMatch(search: string): RawBuilder<boolean> {
  const holds = ({ plain, german }: FoldedText) => {
    const spellings = [...new Set([plain, german])]
    const each = spellings.map((spelling) => sql`strpos(text, ${spelling}) > 0`)
    return sql<boolean>`(${sql.join(each, sql` or `)})`
  }
  const words = foldedWords(search)
  const holdsWords = words.length === 0 ? sql`false` : sql.join(words.map(holds), sql` and `)
  return sql<boolean>`(octet_length(text) > char_length(text) or ${holds(foldLetters(search))} or (${holdsWords}))`
}

/** In SQL, whether the first step has already found a key. */
function hasSearchedKey(search: string, key: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(
    keyPrefixes(search).map((prefix) => hasPrefix(key, prefix)),
    sql` or `,
  )})`
}
