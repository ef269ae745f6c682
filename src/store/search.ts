import { type RawBuilder, sql } from 'kysely'

/** Where a search goes on: which of its steps, and the key behind which that goes on. */
export type SearchCursor = { readonly step: number; readonly after: string }

/** So many people are looked through by one statement, which an embedded database does nothing beside. */
export const portionSize = 20_000

/** What is searched, in key order. */
type Searched<T> = {
  /** The people whose key begins so, from behind a key. An index leads to them. */
  readonly withPrefix: (prefix: string, after: string, limit: number) => Promise<T[]>
  /** Of the next portion of people from behind a key, those whom `matching` takes; and the last key that was looked at. */
  readonly amongNext: (after: string, limit: number) => Promise<Portion<T>>
}

export type Portion<T> = { readonly found: readonly T[]; readonly last: string | null; readonly looked: number }

type SearchInput = {
  readonly search: string
  readonly place: SearchCursor
  readonly limit: number
  readonly isOver: () => boolean
}

/**
 * Searches by key first, and then through everybody. The time that it may take is bounded: `next` says where to go on, also where
 * nothing was found so far.
 */
export async function searchInSteps<T extends { readonly identityId: string }>(
  { search, place, limit, isOver }: SearchInput,
  searched: Searched<T>,
): Promise<{ readonly found: T[]; readonly next: SearchCursor | null }> {
  const prefixes = keyPrefixes(search)
  const found: T[] = []
  let { step, after } = place
  for (; step < prefixes.length; step++, after = '') {
    found.push(...(await searched.withPrefix(prefixes[step] ?? '', after, limit - found.length)))
    if (found.length === limit) return { found, next: { step, after: found.at(-1)?.identityId ?? '' } }
  }
  for (;;) {
    const portion = await searched.amongNext(after, limit - found.length)
    found.push(...portion.found)
    if (found.length === limit) return { found, next: { step, after: found.at(-1)?.identityId ?? '' } }
    if (portion.last === null || portion.looked < portionSize) return { found, next: null }
    after = portion.last
    if (isOver()) return { found, next: { step, after } }
  }
}

/** The ways in which HR may write a key that begins so. Others are found among everybody. */
function keyPrefixes(search: string): string[] {
  return [...new Set([search, search.toUpperCase(), search.toLowerCase()])]
}

/** Whether a key begins so. In the order of bytes that keys have, what begins so lies between two keys. */
export function hasPrefix(key: RawBuilder<unknown>, prefix: string): RawBuilder<boolean> {
  return sql<boolean>`(${key} >= ${prefix} and ${key} < ${`${prefix}\u{10FFFF}`})`
}

/** By what of a person the search finds them, in SQL; null: by nothing. `values`: a JSON document with the fields of a person. */
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

/** Whether a key begins in one of the ways that were gone through before. */
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
