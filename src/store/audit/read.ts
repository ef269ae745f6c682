import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { peopleOf } from './excerpt.ts'
import { type Entry, readEntry } from './trail.ts'

type EntryFilter = {
  /** The name of an act, or what stands before its dot. */
  readonly act?: string
  readonly by?: string
  readonly connection?: string
  readonly identityId?: string
  readonly runId?: string
}

export type PlacedEntry = Entry & { readonly ordinal: number }

const portionSize = 5000

type EntryPage = {
  readonly before: number | undefined
  readonly limit: number
  readonly withinMs: number
}

/**
 * Acts of the trail from the newest to the oldest, from before a place. They are looked through in portions; after `withinMs` it answers
 * what it has, and the place where it goes on.
 */
export async function newestEntries(
  db: Db,
  filter: EntryFilter,
  { before, limit, withinMs }: EntryPage,
): Promise<{ readonly found: PlacedEntry[]; readonly next: number | null }> {
  const end = performance.now() + withinMs
  const found: PlacedEntry[] = []
  const isNarrowed = Object.values(filter).some((value) => value !== undefined)
  const size = isNarrowed ? portionSize : limit
  for (let place = before ?? Number.MAX_SAFE_INTEGER; ; ) {
    const { rows } = await sql<{ ordinal: number; entry: string }>`
      select ordinal::float8, entry from audit_trail where ordinal < ${place} order by ordinal desc limit ${size}`.execute(
      db,
    )
    for (const { ordinal, entry: text } of rows) {
      const entry = readEntry(text)
      if (entry === null || !isMeant(entry, filter)) continue
      found.push({ ...entry, ordinal })
      if (found.length === limit) return { found, next: ordinal }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < size) return { found, next: null }
    place = last.ordinal
    if (performance.now() > end) return { found, next: place }
  }
}

function isMeant(entry: Entry, { act, by, connection, identityId, runId }: EntryFilter): boolean {
  if (act !== undefined && entry.act !== act && !entry.act.startsWith(`${act}.`)) return false
  if (by !== undefined && entry.by !== by) return false
  if (connection !== undefined && entry.connection !== connection) return false
  if (runId !== undefined && entry.runId !== runId) return false
  return identityId === undefined || peopleOf(entry).includes(identityId)
}
