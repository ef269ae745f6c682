import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type Checkpoint, digestOf, firstHash } from './chain.ts'
import { type Entry, readEntry } from './trail.ts'

/** Which acts an excerpt shows; what is left out does not matter. */
export type ExcerptFilter = {
  readonly from?: Date
  readonly to?: Date
  readonly connection?: string
  readonly runId?: string
  /** Their keys. */
  readonly people?: ReadonlySet<string>
}

/**
 * One line of an excerpt. `start` says what the chain had come to; `entry` shows an act; `link` stands for one that is not shown;
 * `head` says what was signed.
 */
type ExcerptLine =
  | { readonly kind: 'start'; readonly after: number; readonly hash: string }
  | { readonly kind: 'entry'; readonly ordinal: number; readonly entry: string }
  | { readonly kind: 'link'; readonly ordinal: number; readonly digest: string }
  | ({ readonly kind: 'head' } & Checkpoint)

type Row = { readonly ordinal: number; readonly entry: string; readonly hash: string }

/** So many entries are looked at for one page, and more if one head stands for more. */
const pageSize = 2000

/**
 * The acts that a filter leaves, each with what proves it: the digests of the entries from there to the next signed head, and that
 * head. So an excerpt is verified by itself; docs/audit.md says how. An entry that is not signed yet is not shown.
 */
export async function* auditExcerpt(db: Db, filter: ExcerptFilter = {}): AsyncGenerator<ExcerptLine> {
  for (let after: number | null = 0; after !== null; ) {
    const page = await excerptPage(db, { after, filter })
    yield* page.lines
    after = page.next
  }
}

/** The part of an excerpt from behind an entry. `next` is null at the end. */
export async function excerptPage(
  db: Db,
  { after, filter }: { after: number; filter: ExcerptFilter },
): Promise<{ readonly lines: ExcerptLine[]; readonly next: number | null }> {
  const heads = await headsAfter(db, after)
  const last = heads.at(-1)?.ordinal
  if (last === undefined) return { lines: [], next: null }
  const rows = await entriesBetween(db, { after, upTo: last })
  const lines: ExcerptLine[] = []
  let hash = after === 0 ? firstHash : await hashOf(db, after)
  /** The entry that the lines lead up to without a gap; null: a new start is needed. */
  let reached: number | null = null
  let begin = 0
  for (const [ordinal, signed] of Map.groupBy(heads, (head) => head.ordinal)) {
    const end = rows.findLastIndex((row) => row.ordinal <= ordinal) + 1
    const part = rows.slice(begin, end)
    const first = part.findIndex((row) => matchesFilter(row, filter))
    if (first >= 0) {
      const before = part[first - 1]
      const start = before?.ordinal ?? (part[0]?.ordinal ?? 1) - 1
      if (reached === null || reached !== start) lines.push({ kind: 'start', after: start, hash: before?.hash ?? hash })
      lines.push(...part.slice(first).map((row) => lineOf(row, filter)))
      lines.push(...signed.map((head): ExcerptLine => ({ kind: 'head', ...head })))
      reached = ordinal
    }
    hash = part.at(-1)?.hash ?? hash
    begin = end
  }
  return { lines, next: last }
}

function lineOf(row: Row, filter: ExcerptFilter): ExcerptLine {
  const { ordinal, entry } = row
  return matchesFilter(row, filter)
    ? { kind: 'entry', ordinal, entry }
    : { kind: 'link', ordinal, digest: digestOf(entry) }
}

function matchesFilter({ entry: text }: Row, { from, to, connection, runId, people }: ExcerptFilter): boolean {
  if (!from && !to && connection === undefined && runId === undefined && !people) return true
  const entry = readEntry(text)
  if (!entry) return true
  if (from && entry.at < from.toISOString()) return false
  if (to && entry.at >= to.toISOString()) return false
  if (connection !== undefined && entry.connection !== connection) return false
  if (runId !== undefined && entry.runId !== runId) return false
  return !people || peopleOf(entry).some((key) => people.has(key))
}

/** The people that an act is about, by key. */
export function peopleOf({ identityId, details }: Entry): readonly string[] {
  const named = [details?.people, details?.refused].flatMap((keys) => (Array.isArray(keys) ? keys : []))
  return identityId === undefined ? named : [identityId, ...named]
}

async function hashOf(db: Db, ordinal: number): Promise<string> {
  const row = await db
    .selectFrom('audit_trail')
    .select('hash')
    .where('ordinal', '=', String(ordinal))
    .executeTakeFirst()
  return row?.hash ?? ''
}

/** The next heads that together stand for about a page of entries. */
async function headsAfter(db: Db, after: number): Promise<Checkpoint[]> {
  const { rows } = await sql<Checkpoint>`
    select ordinal::float8, previous::float8, hash, at, key, signature from audit_checkpoints
    where ordinal > ${after} and ordinal <= greatest(${after + pageSize},
      (select min(ordinal) from audit_checkpoints where ordinal > ${after}))
    order by ordinal, at, key`.execute(db)
  return rows
}

async function entriesBetween(db: Db, { after, upTo }: { after: number; upTo: number }): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select ordinal::float8, entry, hash from audit_trail where ordinal > ${after} and ordinal <= ${upTo}
    order by ordinal`.execute(db)
  return rows
}
