import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type EntryFilter, passesFilter, peopleOf } from './filter.ts'
import { type Entry, readableEntry, rollcall } from './trail.ts'

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
      select ordinal::float8, case when coalesce(${isWithin(filter)}, true) then entry end as entry from audit_trail
      where ordinal < ${beforeOrdinal} order by ordinal desc limit ${size}`.execute(db)
    for (const { ordinal, entry: text } of rows) {
      const entry = text === null ? null : readableEntry(text)
      if (text === null || (entry !== null && !isMeant(entry, filter))) continue
      entries.push({ ...(entry ?? (await unreadableEntry(db, ordinal))), ordinal })
      if (entries.length === limit) return { entries, next: ordinal }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < size) return { entries, next: null }
    beforeOrdinal = last.ordinal
    if (performance.now() > end) return { entries, next: beforeOrdinal }
  }
}

/**
 * What is shown of an entry that cannot be read, whatever the filter: it may be the one that is looked for. It has the time at which it was
 * signed.
 */
async function unreadableEntry(db: Db, ordinal: number): Promise<Entry> {
  const { rows } = await sql<{ at: string }>`
    select at from audit_checkpoints where ordinal >= ${ordinal} order by ordinal limit 1`.execute(db)
  const at = rows[0]?.at ?? new Date(0).toISOString()
  return { id: '', at, act: 'entry.unreadable', by: rollcall, connection: null }
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

/** The number of entries that are not signed yet. They are not in the trail. */
export async function countPending(db: Db): Promise<number> {
  const { rows } = await sql<{ pending: number }>`select count(*)::float8 as pending from audit_pending`.execute(db)
  return rows[0]?.pending ?? 0
}

/** Maximum number of entries in which `recentActors` looks. */
const recentEntries = 20_000
/** The actor is in the first characters of an entry; its details may be long. */
const maxActorEnd = 2000

type Actors = { readonly newest: number; readonly names: string[] }
const actorsByDb = new WeakMap<Db, Actors>()

/** Who did something in the newest entries, by name. Entries are looked at again once there are newer ones. */
export async function recentActors(db: Db): Promise<string[]> {
  const newest = await newestOrdinal(db)
  const known = actorsByDb.get(db)
  if (known?.newest === newest) return known.names
  const { rows } = await sql<{ by: string | null }>`
    select distinct ${member('by')} as by from (
      select left(entry, ${maxActorEnd}) as entry from audit_trail order by ordinal desc limit ${recentEntries}) newest`.execute(
    db,
  )
  const names = rows.flatMap(({ by }) => (by === null ? [] : readName(by))).sort()
  actorsByDb.set(db, { newest, names })
  return names
}

async function newestOrdinal(db: Db): Promise<number> {
  const { rows } = await sql<{ newest: number | null }>`select max(ordinal)::float8 as newest from audit_trail`.execute(
    db,
  )
  return rows[0]?.newest ?? 0
}

/** The name in a JSON text; nothing if the text was changed by hand and is none any more. */
function readName(json: string): string[] {
  try {
    return [String(JSON.parse(json))]
  } catch {
    return []
  }
}
