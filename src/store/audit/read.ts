import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type EntryFilter, passesFilter, peopleOf } from './filter.ts'
import { type Entry, readEntry } from './trail.ts'

type PeopleFilter = EntryFilter & {
  /** Keys of people whom an entry is about. */
  readonly people?: ReadonlySet<string>
}

/** An entry with its ordinal in the trail. */
export type NumberedEntry = Entry & { readonly ordinal: number }

const portionSize = 5000

type EntryPage = {
  readonly before: number | undefined
  readonly limit: number
  readonly withinMs: number
}

/**
 * Lists entries from the newest to the oldest, before an ordinal. Entries are scanned in portions; after `withinMs` the result so far is
 * returned with the ordinal to continue from.
 */
export async function newestEntries(
  db: Db,
  filter: PeopleFilter,
  { before, limit, withinMs }: EntryPage,
): Promise<{ readonly entries: NumberedEntry[]; readonly next: number | null }> {
  const end = performance.now() + withinMs
  const entries: NumberedEntry[] = []
  const isNarrowed = Object.values(filter).some((value) => value !== undefined)
  const size = isNarrowed ? portionSize : limit
  for (let beforeOrdinal = before ?? Number.MAX_SAFE_INTEGER; ; ) {
    const { rows } = await sql<{ ordinal: number; entry: string | null }>`
      select ordinal::float8, case when ${isWithin(filter)} then entry end as entry from audit_trail
      where ordinal < ${beforeOrdinal} order by ordinal desc limit ${size}`.execute(db)
    for (const { ordinal, entry: text } of rows) {
      const entry = text === null ? null : readEntry(text)
      if (entry === null || !isMeant(entry, filter)) continue
      entries.push({ ...entry, ordinal })
      if (entries.length === limit) return { entries, next: ordinal }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < size) return { entries, next: null }
    beforeOrdinal = last.ordinal
    if (performance.now() > end) return { entries, next: beforeOrdinal }
  }
}

function isMeant(entry: Entry, { people, ...filter }: PeopleFilter): boolean {
  return passesFilter(entry, filter) && (people === undefined || peopleOf(entry).some((key) => people.has(key)))
}

/** In SQL, whether an entry is from this time: what is not need not be parsed. */
function isWithin({ from, to }: EntryFilter): RawBuilder<boolean> {
  const at = member('at')
  const bounds = [
    from && sql<boolean>`${at} >= ${JSON.stringify(from)}`,
    to && sql<boolean>`${at} < ${JSON.stringify(to)}`,
  ].filter((bound) => bound !== undefined)
  return bounds.length === 0 ? sql`true` : sql`(${sql.join(bounds, sql` and `)})`
}

/** In SQL, a member of an entry as JSON writes it. An entry's text repeats no name: quotes within a value are escaped. */
function member(name: 'at' | 'by'): RawBuilder<string> {
  return sql<string>`substring(entry from ${`"${name}":("(?:[^"\\\\]|\\\\.)*")`}::text) collate "C"`
}

/** Maximum number of entries in which `recentActors` looks. */
const recentEntries = 20_000

/** Who did something in the newest entries, by name. */
export async function recentActors(db: Db): Promise<string[]> {
  const { rows } = await sql<{ by: string }>`
    select distinct ${member('by')} as by from (
      select entry from audit_trail order by ordinal desc limit ${recentEntries}) newest
    where ${member('by')} is not null`.execute(db)
  return rows.map(({ by }) => String(JSON.parse(by))).sort()
}
