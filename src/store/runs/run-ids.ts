import { sql } from 'kysely'
import type { Db } from '../schema.ts'

type RunIdFilter = { readonly connection?: string; readonly limit: number }

const lowest = '00000000-0000-0000-0000-000000000000'
const highest = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type IdsWithPrefixInput = RunIdFilter & {
  readonly prefix: string
}

/** The run ids with this prefix, the newest first. The primary key finds them, however many runs there are. */
export async function idsWithPrefix(db: Db, { prefix, ...filter }: IdsWithPrefixInput): Promise<string[]> {
  const [from, to] = [lowest, highest].map((end) => prefix + end.slice(prefix.length))
  // The hyphens of an id have fixed positions.
  if (prefix.includes('-') && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(from ?? '')) return []
  return await newestIds(ids(db, filter).where(sql<boolean>`id between ${from}::uuid and ${to}::uuid`), filter)
}

/** The held runs, the newest first. */
export async function heldIds(db: Db, filter: RunIdFilter): Promise<string[]> {
  return await newestIds(ids(db, filter).where('state', '=', 'held'), filter)
}

/** The run that is `before` runs older than the newest; none if there are fewer. */
export async function idBefore(
  db: Db,
  { before, connection }: { readonly before: number; readonly connection?: string },
): Promise<string[]> {
  return await newestIds(ids(db, { connection }).offset(before), { limit: 1 })
}

function ids(db: Db, { connection }: { readonly connection?: string }) {
  const query = db.selectFrom('runs').select('id')
  return connection === undefined ? query : query.where('connection', '=', connection)
}

async function newestIds(query: ReturnType<typeof ids>, { limit }: { readonly limit: number }): Promise<string[]> {
  const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
  return rows.map(({ id }) => id)
}
