import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { PlatformSchema } from './schema.ts'

/**
 * The position of a cursor: sort value and id of the last row. A list whose rows may move to pages that were already read, such as one with
 * the newest changes first, also has the snapshot of its first page.
 */
export type Position = {
  /** The sort value; times in milliseconds since 1970. */
  readonly at: number | string
  readonly id: number
  /** The `pg_snapshot` of the first page. */
  readonly snapshot?: string
  /** True for the last pages, which list the rows that changed since the first page. */
  readonly late?: boolean
}

const Position = z.strictObject({
  at: z.union([z.int(), z.string()]),
  id: z.int(),
  snapshot: z.string().optional(),
  late: z.boolean().optional(),
})

const macBytes = 16

/** The secret that signs cursors. The database stores it, so that cursors survive a restart. */
export async function cursorSecret(db: Kysely<PlatformSchema>): Promise<string> {
  const fresh = { name: 'cursor-secret', value: randomBytes(32).toString('base64url') }
  await db
    .insertInto('settings')
    .values(fresh)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const stored = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', fresh.name)
    .executeTakeFirstOrThrow()
  return stored.value
}

/** A signed token of the position that is valid only for the same `scope`: the list with its account, filter and order. */
export function writeCursor(secret: string, scope: string, position: Position): string {
  const payload = Buffer.from(JSON.stringify(position))
  return Buffer.concat([mac(secret, scope, payload), payload]).toString('base64url')
}

/** The position in a token, or null if `writeCursor` did not write it with this secret and scope. */
export function readCursor(secret: string, scope: string, cursor: string): Position | null {
  const token = Buffer.from(cursor, 'base64url')
  const payload = token.subarray(macBytes)
  if (token.length <= macBytes || token.toString('base64url') !== cursor) return null
  if (!timingSafeEqual(token.subarray(0, macBytes), mac(secret, scope, payload))) return null
  return Position.parse(JSON.parse(payload.toString()))
}

function mac(secret: string, scope: string, payload: Buffer): Buffer {
  return createHmac('sha256', secret).update(scope).update('\0').update(payload).digest().subarray(0, macBytes)
}
