import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

type RowTexts = {
  readonly table: string
  /** In SQL, the text of a row. */
  readonly text: RawBuilder<unknown>
  readonly where?: RawBuilder<unknown>
  readonly orderBy?: RawBuilder<unknown>
}

/** Limits of one piece of rows. */
export type PieceLimits = { readonly maxRows?: number; readonly maxBytes?: number }

type ListedRow = { readonly ctid: string; readonly bytes: number; readonly text: string | null }

/**
 * Reads a table as texts, one for each row, in pieces that hold at most `maxBytes` or a single row. It needs a transaction of its own
 * with one snapshot (`repeatable read`): long rows are fetched by their physical position, which a snapshot keeps.
 */
export async function* readRowsBySize(
  trx: QueryExecutorProvider,
  rowTexts: RowTexts,
  { maxRows = 1000, maxBytes = 2 * 1024 * 1024 }: PieceLimits = {},
): AsyncGenerator<string[]> {
  // Short rows come with the list: even `maxRows` of them fit into one piece. Of a long row the list has the size alone.
  const shortBytes = Math.floor(maxBytes / maxRows)
  await declareList(trx, rowTexts, shortBytes)
  for (;;) {
    const { rows } = await sql<ListedRow>`fetch ${sql.lit(maxRows)} from listed_rows`.execute(trx)
    for (const piece of splitBySize(rows, maxBytes)) yield await fetchTexts(trx, rowTexts, piece)
    if (rows.length < maxRows) break
  }
  await sql`close listed_rows`.execute(trx)
}

// `offset 0` keeps the planner from making the text of a row three times, and the inner query from sorting texts.
async function declareList(
  trx: QueryExecutorProvider,
  { table, text, where, orderBy }: RowTexts,
  shortBytes: number,
): Promise<void> {
  await sql`
    declare listed_rows no scroll cursor for
    select row_ctid::text as ctid, octet_length(text) as bytes,
      case when octet_length(text) <= ${sql.lit(shortBytes)} then text end as text
    from (
      select row_ctid, ${text} as text
      from (
        select ctid as row_ctid, * from ${sql.table(table)}
        ${where ? sql`where ${where}` : sql``} ${orderBy ? sql`order by ${orderBy}` : sql``}
      ) as stored
      offset 0
    ) as listed
  `.execute(trx)
}

function splitBySize(rows: readonly ListedRow[], maxBytes: number): ListedRow[][] {
  const pieces: ListedRow[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const row of rows) {
    if (bytes + row.bytes > maxBytes) {
      pieces.push([])
      bytes = 0
    }
    pieces.at(-1)?.push(row)
    bytes += row.bytes
  }
  return pieces
}

async function fetchTexts(
  trx: QueryExecutorProvider,
  { table, text }: RowTexts,
  piece: readonly ListedRow[],
): Promise<string[]> {
  const long = piece.filter((row) => row.text === null).map(({ ctid }) => ctid)
  if (long.length === 0) return piece.map((row) => row.text ?? '')
  const { rows } = await sql<{ ctid: string; text: string }>`
    select ctid::text as ctid, ${text} as text from ${sql.table(table)} where ctid = any(${long}::tid[])
  `.execute(trx)
  const texts = new Map(rows.map((row) => [row.ctid, row.text]))
  return piece.map(({ ctid, text: short }) => {
    const rowText = short ?? texts.get(ctid)
    if (rowText === undefined) throw new Error(`the row at ${ctid} of ${table} is not in the snapshot`)
    return rowText
  })
}
