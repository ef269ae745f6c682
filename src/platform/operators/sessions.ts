import { createHash, randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'
import { isPassword } from './passwords.ts'

/** An operator who has signed in to the Personnel page. */
export type PageOperator = {
  readonly id: number
  readonly name: string
  /** The one account to see; null: all. */
  readonly accountId: number | null
}

const tokenBytes = 32

/** How long a session lasts: a working day. */
export const sessionSeconds = 12 * 60 * 60

/** Maximum difference of the clocks of two processes. A session with a later start comes from a clock that was set back. */
const maxClockDifferenceMs = 60_000

/**
 * Begins a session and returns its token, of which the database stores the hash; null if the name or the password is wrong. An unknown
 * name takes as long as a wrong password.
 */
export async function beginSession(
  db: Kysely<PlatformSchema>,
  { name, password }: { readonly name: string; readonly password: string },
  now: Date,
): Promise<string | null> {
  const operator = isStorableText(name)
    ? await db.selectFrom('operators').select(['id', 'password']).where('name', '=', name).executeTakeFirst()
    : undefined
  if (!(await isPassword(password, operator?.password ?? null)) || !operator) return null
  await db.deleteFrom('operator_sessions').where('expires_at', '<=', now).execute()
  const token = randomBytes(tokenBytes).toString('base64url')
  const expiresAt = new Date(now.getTime() + sessionSeconds * 1000)
  // The condition on the password covers a removal or a new password since the check.
  const { numAffectedRows } = await sql`
    insert into operator_sessions (hash, operator_id, created_at, expires_at)
    select ${hashToken(token)}, id, ${now}::timestamptz, ${expiresAt}::timestamptz
    from operators where id = ${operator.id} and password = ${operator.password}
    for key share
  `.execute(db)
  return numAffectedRows === 1n ? token : null
}

/** The operator of a session, or null if it is unknown, ended or expired. */
export async function findSession(db: Kysely<PlatformSchema>, token: string, now: Date): Promise<PageOperator | null> {
  const row = await db
    .selectFrom('operator_sessions')
    .innerJoin('operators', 'operators.id', 'operator_sessions.operator_id')
    .select(['operators.id', 'operators.name', 'operators.account_id'])
    .where('operator_sessions.hash', '=', hashToken(token))
    .where('operator_sessions.expires_at', '>', now)
    .where('operator_sessions.created_at', '<=', new Date(now.getTime() + maxClockDifferenceMs))
    .executeTakeFirst()
  return row ? { id: row.id, name: row.name, accountId: row.account_id } : null
}

/** Ends a session; an unknown one is ignored. */
export async function endSession(db: Kysely<PlatformSchema>, token: string): Promise<void> {
  await db.deleteFrom('operator_sessions').where('hash', '=', hashToken(token)).execute()
}

// A token is 256 random bits: nobody can guess it from its hash.
function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
