import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { PlatformSchema } from './schema.ts'

/** Where a walk stands: the sort value and id of the last record given, and for a walk backwards in time what it knew at its start. */
export type Position = {
  /** The sort value; a moment in milliseconds since 1970. */
  readonly at: number | string
  readonly id: number
  /** The transactions that the walk's start could see, as the database writes a snapshot. */
  readonly snapshot?: string
  /** True once the walk lists what changed since its start. */
  readonly late?: boolean
}

const Position = z.strictObject({
  at: z.union([z.int(), z.string()]),
  id: z.int(),
  snapshot: z.string().optional(),
  late: z.boolean().optional(),
})

const macBytes = 16

/** The secret that signs cursors, made once for each database so that cursors outlive a restart. */
export async function cursorSecret(db: Kysely<PlatformSchema>): Promise<string> {
  const fresh = { name: 'cursor-secret', value: randomBytes(32).toString('base64url') }
  await db
    .insertInto('settings')
    .values(fresh)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const kept = await db.selectFrom('settings').select('value').where('name', '=', fresh.name).executeTakeFirstOrThrow()
  return kept.value
}

/** An opaque token for `position` that only a listing with the same `scope` reads back. */
export function writeCursor(secret: string, scope: string, position: Position): string {
  const payload = Buffer.from(JSON.stringify(position))
  return Buffer.concat([mac(secret, scope, payload), payload]).toString('base64url')
}

/** The position inside a token, or null where it was not written by `writeCursor` with this secret and scope. */
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
