import { type RawBuilder, type Selectable, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformContext } from './context.ts'
import { type Position, readCursor, writeCursor } from './cursors.ts'
import type { PlatformSchema } from './schema.ts'

/** What can be listed: tables whose rows carry `id`, `created_at` and `changed_in`, and `updated_at` where a list is sorted by it. */
type ListedTable = {
  [T in keyof PlatformSchema]: Selectable<PlatformSchema[T]> extends { id: number; created_at: Date } ? T : never
}[keyof PlatformSchema]
type Row<T extends ListedTable> = Selectable<PlatformSchema[T]> & { readonly id: number }

/** The columns behind the values of `sort`. Each of them needs an index together with `id`. */
const columns = {
  createdAt: { name: 'created_at', type: 'timestamptz' },
  updatedAt: { name: 'updated_at', type: 'timestamptz' },
  name: { name: 'name', type: 'text' },
  startDate: { name: 'start_date', type: 'timestamptz' },
  controlNumber: { name: 'control_number', type: 'bigint' },
} as const

/** The query parameters of a list: where the page begins, its size and order, and whether to count all matches. */
export type ListQuery = {
  readonly cursor?: string
  readonly size: number
  readonly sort?: keyof typeof columns
  readonly sortDir?: 'ASC' | 'DESC'
  readonly includeTotalCount?: boolean
}

/** What a page returns about the pages after it. */
export type Pagination = { readonly cursor?: string; readonly totalCount?: number }

type Listing<T extends ListedTable> = {
  readonly table: T
  /** Which rows belong to the list; it must be limited to the caller's account. */
  readonly where: RawBuilder<unknown>
  /** What distinguishes this list from others of the same operation: path parameters and filters. */
  readonly filter?: Readonly<Record<string, unknown>>
  readonly query: ListQuery
  /** For an order in which rows move: the column with the transaction that last moved a row; null for a row that never did. */
  readonly movedIn?: 'moved_in'
  /** For a list of large rows: the size of a row, and the maximum of a page, which a single row may exceed. */
  readonly byteLimit?: ByteLimit
}

type ByteLimit = { readonly rowBytes: RawBuilder<number>; readonly maxBytes: number }

/** The reply of a list operation: one page as `listPage` reads it, presented. */
export async function replyWithPage<T extends ListedTable, Data>(
  ctx: PlatformContext,
  { present, ...listing }: Listing<T> & { readonly present: (rows: Row<T>[]) => Data[] | Promise<Data[]> },
): Promise<{ status: 200; body: { data: Data[]; pagination: Pagination } }> {
  const { rows, pagination } = await listPage(ctx, listing)
  return { status: 200, body: { data: await present(rows), pagination } }
}

/**
 * Reads one page, ordered by sort value and id. Following the cursors from the first page to the last meets every row that exists
 * all the time, also while rows are added, changed and removed. It may meet a row again that moves in the order meanwhile.
 */
export async function listPage<T extends ListedTable>(
  ctx: PlatformContext,
  { table, where, filter = {}, query, movedIn, byteLimit }: Listing<T>,
): Promise<{ rows: Row<T>[]; pagination: Pagination }> {
  const order: Order = { column: columns[query.sort ?? 'createdAt'], dir: query.sortDir ?? 'ASC' }
  const lateBy: LateBy | null =
    movedIn ?? (order.column === columns.updatedAt && order.dir === 'DESC' ? 'changed_in' : null)
  const scope = JSON.stringify([ctx.accountId, ctx.operation.method, ctx.operation.path, filter, order])
  const from = query.cursor === undefined ? null : readPosition(ctx, scope, query.cursor)
  const snapshot = from ? from.snapshot : await snapshotFor(ctx, lateBy)

  const step = { table, where, order, lateBy, from, snapshot, limit: query.size + 1 }
  const size = byteLimit ? await fittingRows(ctx, step, byteLimit) : query.size
  const rows = await rowsAfter<T>(ctx, { ...step, limit: size + 1 })
  const shown = rows.slice(0, size)
  const last = shown.at(-1)
  const next = rows.length > size && last ? positionOf(last, order, snapshot) : null

  return {
    rows: shown.map(({ row }) => row),
    pagination: {
      cursor: next ? writeCursor(ctx.cursorSecret, scope, next) : undefined,
      totalCount: query.includeTotalCount && !from ? await count(ctx, table, where) : undefined,
    },
  }
}

type Column = (typeof columns)[keyof typeof columns]
type Order = { readonly column: Column; readonly dir: 'ASC' | 'DESC' }
type LateBy = 'changed_in' | 'moved_in'
type PagedRow<R> = { readonly row: R; readonly isLate: boolean }
type Step<T extends ListedTable> = {
  readonly table: T
  readonly where: RawBuilder<unknown>
  readonly order: Order
  readonly lateBy: LateBy | null
  readonly from: Position | null
  readonly snapshot: string | undefined
  readonly limit: number
}

function readPosition(ctx: PlatformContext, scope: string, cursor: string): Position {
  const position = readCursor(ctx.cursorSecret, scope, cursor)
  if (position) return position
  throw new Refusal(400, 'cursor: was not issued for this list with these parameters; start again without a cursor')
}

// A row that changes while a caller pages from the newest `updatedAt` to the oldest jumps to a page that the caller has already read; so does
// one whose name changes in a list by name. Such cursors therefore carry the snapshot of the first page, and the last pages list the rows that
// moved since.
async function snapshotFor(ctx: PlatformContext, lateBy: LateBy | null): Promise<string | undefined> {
  if (lateBy === null) return undefined
  const { rows } = await sql<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`.execute(ctx.db)
  return rows[0]?.snapshot
}

/** The number of rows whose sizes fit on a page, at least one. */
async function fittingRows<T extends ListedTable>(
  ctx: PlatformContext,
  step: Step<T>,
  { rowBytes, maxBytes }: ByteLimit,
): Promise<number> {
  const sizes = await rowsAfter<T, { readonly bytes: number }>(ctx, step, sql`${rowBytes} as bytes`)
  let remainingBytes = maxBytes
  const end = sizes.findIndex(({ row }) => {
    remainingBytes -= row.bytes
    return remainingBytes < 0
  })
  const most = step.limit - 1
  return end < 0 ? most : Math.max(1, Math.min(end, most))
}

async function rowsAfter<T extends ListedTable, R = Row<T>>(
  ctx: PlatformContext,
  step: Step<T>,
  selected: RawBuilder<unknown> = sql`*`,
): Promise<PagedRow<R>[]> {
  const { from, snapshot, limit, lateBy } = step
  const inOrder = from?.late ? [] : await orderedRows<T, R>(ctx, step, selected)
  if (snapshot === undefined || lateBy === null || from === null || inOrder.length === limit) return inOrder
  return [
    ...inOrder,
    ...(await lateRows<T, R>(ctx, step, { selected, snapshot, lateBy, limit: limit - inOrder.length })),
  ]
}

async function orderedRows<T extends ListedTable, R>(
  ctx: PlatformContext,
  step: Step<T>,
  selected: RawBuilder<unknown>,
): Promise<PagedRow<R>[]> {
  const { table, where, order, from, limit } = step
  const column = sql.ref(order.column.name)
  const dir = sql.raw(order.dir)
  const after = from
    ? sql`and (${column}, id) ${sql.raw(order.dir === 'ASC' ? '>' : '<')} (${sortValue(from.at, order.column)}, ${from.id}::bigint)`
    : sql``
  const { rows } = await sql<R>`${sql.raw(prepared)}
    select ${selected} from ${sql.table(table)} where ${where} ${after} order by ${column} ${dir}, id ${dir} limit ${limit}
  `.execute(ctx.db)
  return rows.map((row) => ({ row, isLate: false }))
}

type LateStep = {
  readonly selected: RawBuilder<unknown>
  readonly snapshot: string
  readonly lateBy: LateBy
  readonly limit: number
}

async function lateRows<T extends ListedTable, R>(
  ctx: PlatformContext,
  { table, where, from }: Step<T>,
  { selected, snapshot, lateBy, limit }: LateStep,
): Promise<PagedRow<R>[]> {
  const after = from?.late
    ? sql`and (updated_at, id) > (${sortValue(from.at, columns.updatedAt)}, ${from.id}::bigint)`
    : sql``
  const { rows } = await sql<R>`
    select ${selected} from ${sql.table(table)}
    where ${where} and not pg_visible_in_snapshot(${sql.ref(lateBy)}, ${snapshot}::pg_snapshot) ${after}
    order by updated_at, id limit ${limit}
  `.execute(ctx.db)
  return rows.map((row) => ({ row, isLate: true }))
}

async function count(ctx: PlatformContext, table: ListedTable, where: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from ${sql.table(table)} where ${where}
  `.execute(ctx.db)
  return rows[0]?.total ?? 0
}

function positionOf<T extends ListedTable>(
  { row, isLate }: PagedRow<Row<T>>,
  order: Order,
  snapshot: string | undefined,
): Position {
  const column = isLate ? columns.updatedAt : order.column
  const value = (row as Readonly<Record<string, unknown>>)[column.name]
  const rest = { id: row.id, snapshot, late: isLate || undefined }
  if (value instanceof Date) return { at: value.getTime(), ...rest }
  if (typeof value === 'string' || typeof value === 'number') return { at: value, ...rest }
  throw new Error(`the column ${column.name} holds nothing to sort by`)
}

function sortValue(at: Position['at'], { type }: Column): RawBuilder<unknown> {
  return sql`${type === 'timestamptz' ? new Date(at) : at}::${sql.raw(type)}`
}
