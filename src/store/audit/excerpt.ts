import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type Checkpoint, digestOf, firstHash } from './chain.ts'
import { type EntryFilter, passesFilter, peopleOf } from './filter.ts'
import { type Act, readableEntry } from './trail.ts'

/** Which entries an excerpt shows; an omitted property does not filter. */
export type ExcerptFilter = EntryFilter & {
  /** Their keys. */
  readonly people?: ReadonlySet<string>
  /** With `people`: also entries of these acts, whomever they are about. */
  readonly acts?: ReadonlySet<Act>
}

/**
 * One line of an excerpt. `start`: the hash before the next line; `entry`: an entry that is shown; `link`: the digest of an entry that is
 * not shown; `head`: a signed checkpoint.
 */
type ExcerptLine =
  | { readonly kind: 'start'; readonly after: number; readonly hash: string }
  | { readonly kind: 'entry'; readonly ordinal: number; readonly entry: string }
  | { readonly kind: 'link'; readonly ordinal: number; readonly digest: string }
  | ({ readonly kind: 'head' } & Checkpoint)

type Row = { readonly ordinal: number; readonly entry: string; readonly hash: string }

/** Minimum number of entries per page; more if one checkpoint covers more. */
const pageSize = 2000

/**
 * The entries that match a filter, each with its proof: the digests of the entries up to the next checkpoint, and that checkpoint. An
 * excerpt can be verified without the store, as docs/audit.md explains. Unsigned entries are not included.
 */
export async function* auditExcerpt(db: Db, filter: ExcerptFilter = {}): AsyncGenerator<ExcerptLine> {
  for (let after: number | null = 0; after !== null; ) {
    const page = await excerptPage(db, { after, filter })
    yield* page.lines
    after = page.next
  }
}

/** One page of an excerpt, after an ordinal. `next` is null at the end. */
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
  /** The ordinal that the lines have reached without a gap; null: a new start line is needed. */
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

function matchesFilter({ entry: text }: Row, { people, acts, ...filter }: ExcerptFilter): boolean {
  if (!people && Object.values(filter).every((value) => value === undefined)) return true
  const entry = readableEntry(text)
  // It may be the one that is asked for.
  if (!entry) return true
  if (!passesFilter(entry, filter)) return false
  return !people || (acts?.has(entry.act) ?? false) || peopleOf(entry).some((key) => people.has(key))
}

async function hashOf(db: Db, ordinal: number): Promise<string> {
  const row = await db
    .selectFrom('audit_trail')
    .select('hash')
    .where('ordinal', '=', String(ordinal))
    .executeTakeFirst()
  return row?.hash ?? ''
}

/** The next checkpoints, which together cover about one page of entries. */
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
