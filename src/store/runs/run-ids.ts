import { sql } from 'kysely'
import type { Db } from '../schema.ts'

type Asked = { readonly connection?: string; readonly limit: number }

const lowest = '00000000-0000-0000-0000-000000000000'
const highest = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type IdsWithPrefixInput = Asked & {
  readonly prefix: string
}

/** The ids that begin so, of the newest run first. The primary key finds them, however many runs there are. */
export async function idsWithPrefix(db: Db, { prefix, ...asked }: IdsWithPrefixInput): Promise<string[]> {
  const [from, to] = [lowest, highest].map((end) => prefix + end.slice(prefix.length))
  // The hyphens of an id stand in fixed places.
  if (prefix.includes('-') && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(from ?? '')) return []
  return await newest(ids(db, asked).where(sql<boolean>`id between ${from}::uuid and ${to}::uuid`), asked)
}

/** The runs that wait for a decision, the newest first. */
export async function heldIds(db: Db, asked: Asked): Promise<string[]> {
  return await newest(ids(db, asked).where('state', '=', 'held'), asked)
}

/** The newest run, or with `before` the one so many before it; none if there are not so many. */
export async function idBefore(
  db: Db,
  { before, connection }: { readonly before: number; readonly connection?: string },
): Promise<string[]> {
  return await newest(ids(db, { connection }).offset(before), { limit: 1 })
}

function ids(db: Db, { connection }: { readonly connection?: string }) {
  const query = db.selectFrom('runs').select('id')
  return connection === undefined ? query : query.where('connection', '=', connection)
}

async function newest(query: ReturnType<typeof ids>, { limit }: { readonly limit: number }): Promise<string[]> {
  const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
  return rows.map(({ id }) => id)
}
