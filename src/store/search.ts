import { type RawBuilder, sql } from 'kysely'

/** Where a search continues: the step, and the key after which it continues. */
export type SearchCursor = { readonly step: number; readonly after: string }

/** Maximum number of people that one statement scans, because an embedded database does nothing else meanwhile. */
export const portionSize = 20_000

/** The two queries of a search, in key order. */
type Searched<T> = {
  /** People whose key has this prefix, after a key. An index finds them. */
  readonly withPrefix: (prefix: string, after: string, limit: number) => Promise<T[]>
  /** Matches in the next portion of people after a key. */
  readonly amongNext: (after: string, limit: number) => Promise<Portion<T>>
}

/** Matches of one scanned portion, its last key, and how many people were scanned. */
export type Portion<T> = { readonly matches: readonly T[]; readonly last: string | null; readonly scanned: number }

type SearchInput = {
  readonly search: string
  readonly cursor: SearchCursor
  readonly limit: number
  readonly isOver: () => boolean
}

/** Searches by key first, and then scans everybody. The time is limited: `next` is where to continue, also without a match. */
export async function searchInSteps<T extends { readonly identityId: string }>(
  { search, cursor, limit, isOver }: SearchInput,
  searched: Searched<T>,
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

/** In SQL, which part of a person matches; null: none. `values`: a JSON document with the fields of a person. */
export function matchedBy(
  search: string,
  key: RawBuilder<unknown>,
  values: RawBuilder<unknown> | null,
): RawBuilder<string> {
  const folded = search.normalize('NFC').toLowerCase()
  const beginsSo = (text: RawBuilder<unknown>) => sql`${fold(text)} like ${`${escaped(folded)}%`}`
  if (values === null) return sql`case when ${beginsSo(key)} then 'key' end`
  const words = folded.split(/[\s,.'’-]+/).filter((word) => word !== '')
  const name = sql`' ' || translate(${fold(sql`concat_ws(' ', ${values} ->> 'firstName', ${values} ->> 'lastName')`)}, '-.,''’', '     ')`
  const isNamed =
    words.length === 0
      ? sql`false`
      : sql.join(
          words.map((word) => sql`${name} like ${`% ${escaped(word)}%`}`),
          sql` and `,
        )
  return sql`case when ${beginsSo(key)} then 'key' when ${beginsSo(sql`(${values} ->> 'email')`)} then 'email' when ${isNamed} then 'name' end`
}

/** In SQL, whether the first step has already found a key. */
export function hasSearchedKey(search: string, key: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(
    keyPrefixes(search).map((prefix) => hasPrefix(key, prefix)),
    sql` or `,
  )})`
}

function fold(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`lower(${text} collate "und-x-icu")`
}

function escaped(text: string): string {
  return text.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)
}
