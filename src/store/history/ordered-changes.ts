import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'
import {
  type AccountedChange,
  accountedRuns,
  type ChangeFilter,
  fitsFilter,
  kindsByHarm,
  toAccounted,
} from './history.ts'

/** How the changes of a plan are ordered: by key, leavers first, or by leaving date with people who have none at the end. */
type ChangeOrder = 'key' | 'kind' | 'leavingDate'

/** Where a page ends: the portion of the order, and the leaving date (where it orders the portion) and the key of the last change. */
type ChangePosition = { readonly portion: number; readonly date: string | null; readonly after: string }

/** A part of an order that an index has in that order. */
type Portion = { readonly only: RawBuilder<boolean>; readonly isByDate: boolean }

type OrderedQuery = {
  readonly runId: string
  readonly order: ChangeOrder
  readonly filter: ChangeFilter
  readonly position?: ChangePosition | undefined
  readonly limit: number
}

/** Lists a page of the changes of a run in an order. `next` is null if the page is not full, so that nothing follows. */
export async function changesInOrder(
  db: Db,
  { runId, order, filter, position, limit }: OrderedQuery,
): Promise<{ readonly changes: AccountedChange[]; readonly next: ChangePosition | null }> {
  const changes: AccountedChange[] = []
  const first = position?.portion ?? 0
  for (const [at, portion] of portionsOf(order, filter).entries()) {
    if (at < first) continue
    const begin = at === first ? position : undefined
    const rows = await readPortion(db, { runId, filter, portion, begin, limit: limit - changes.length })
    changes.push(...rows.map(toAccounted))
    const last = rows.at(-1)
    if (last === undefined || changes.length < limit) continue
    return {
      changes,
      next: { portion: at, date: portion.isByDate ? last.separated_at : null, after: last.identity_id },
    }
  }
  return { changes, next: null }
}

function portionsOf(order: ChangeOrder, { kind }: ChangeFilter): Portion[] {
  switch (order) {
    case 'key':
      return [{ only: sql<boolean>`true`, isByDate: false }]
    case 'kind':
      return kindsByHarm
        .filter((one) => kind === undefined || one === kind)
        .map((one) => ({ only: sql<boolean>`changes.kind = ${one}`, isByDate: false }))
    case 'leavingDate':
      return [
        { only: sql<boolean>`changes.separated_at is not null`, isByDate: true },
        { only: sql<boolean>`changes.separated_at is null`, isByDate: false },
      ]
    default:
      return order satisfies never
  }
}

type PortionQuery = {
  readonly runId: string
  readonly filter: ChangeFilter
  readonly portion: Portion
  readonly begin: ChangePosition | undefined
  readonly limit: number
}

async function readPortion(db: Db, { runId, filter, portion: { only, isByDate }, begin, limit }: PortionQuery) {
  const date = sql`changes.separated_at collate "C"`
  let query = accountedRuns(db)
    .select('changes.separated_at')
    .where('changes.run_id', '=', runId)
    .where(only)
    .where(fitsFilter(filter, 'changes'))
  if (begin !== undefined)
    query = isByDate
      ? query.where(sql<boolean>`(${date}, changes.identity_id) > (${begin.date ?? ''}, ${begin.after})`)
      : query.where('changes.identity_id', '>', begin.after)
  if (isByDate) query = query.orderBy(date)
  return await query.orderBy('changes.identity_id').limit(limit).execute()
}
