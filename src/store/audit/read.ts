import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { peopleOf } from './excerpt.ts'
import { type Entry, readEntry } from './trail.ts'

type EntryFilter = {
  /** The name of an act, or the part before its dot. */
  readonly act?: string
  readonly by?: string
  readonly connection?: string
  readonly identityId?: string
  readonly runId?: string
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
  filter: EntryFilter,
  { before, limit, withinMs }: EntryPage,
): Promise<{ readonly entries: NumberedEntry[]; readonly next: number | null }> {
  const end = performance.now() + withinMs
  const entries: NumberedEntry[] = []
  const isNarrowed = Object.values(filter).some((value) => value !== undefined)
  const size = isNarrowed ? portionSize : limit
  for (let beforeOrdinal = before ?? Number.MAX_SAFE_INTEGER; ; ) {
    const { rows } = await sql<{ ordinal: number; entry: string }>`
      select ordinal::float8, entry from audit_trail where ordinal < ${beforeOrdinal} order by ordinal desc limit ${size}`.execute(
      db,
    )
    for (const { ordinal, entry: text } of rows) {
      const entry = readEntry(text)
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

function isMeant(entry: Entry, { act, by, connection, identityId, runId }: EntryFilter): boolean {
  if (act !== undefined && entry.act !== act && !entry.act.startsWith(`${act}.`)) return false
  if (by !== undefined && entry.by !== by) return false
  if (connection !== undefined && entry.connection !== connection) return false
  if (runId !== undefined && entry.runId !== runId) return false
  return identityId === undefined || peopleOf(entry).includes(identityId)
}
