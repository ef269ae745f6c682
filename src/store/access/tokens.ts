import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Selectable, sql } from 'kysely'
import type { TokenRole } from '../../contract/control/access.ts'
import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../audit/trail.ts'
import type { AccessTokensTable, Db } from '../schema.ts'

/** A token of the control API or of a connection that is pushed over SCIM, without its text. */
export type Token = {
  readonly id: string
  readonly name: string
  readonly role: TokenRole
  /** The connection of a token with the role scim; null for every other role. */
  readonly connection: string | null
  readonly createdAt: Date
  readonly createdBy: string
  /** Null: it does not expire. */
  readonly expiresAt: Date | null
  /** To the minute. Null: never. */
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
  readonly revokedBy: string | null
}

/** A presented token, and why it is no longer valid; `ended` is null while it is valid. */
type TokenCheck = { readonly token: Token; readonly ended: 'expired' | 'revoked' | null }

/** People and secret scanners recognise a leaked token by this prefix. */
const prefix = 'rct_'
const secretBytes = 32
const checksumDigits = 8
const minuteMs = 60_000

type NewToken = {
  readonly name: string
  readonly role: TokenRole
  readonly connection?: string | null
  readonly expiresAt: Date | null
  readonly by: string
  readonly now: Date
}

/** Creates a token and returns its text, which is not stored. The text has 256 random bits, so a fast hash is enough. */
export async function createToken(
  tx: Db,
  { name, role, connection = null, expiresAt, by, now }: NewToken,
): Promise<{ readonly text: string; readonly token: Token }> {
  const text = newText()
  const row = await tx
    .insertInto('access_tokens')
    .values({ name, role, connection, hash: hashOf(text), created_at: now, created_by: by, expires_at: expiresAt })
    .onConflict((conflict) => conflict.expression(sql`lower(name)`).where('revoked_at', 'is', null).doNothing())
    .returningAll()
    .executeTakeFirst()
  if (!row) {
    const help = 'choose another name, or revoke that one first'
    throw new Failure('conflict', `there is a token "${name}" already: ${help}`)
  }
  const details = { name, role, expiresAt: expiresAt?.toISOString() ?? null }
  await recordAuditEntry(tx, { act: 'token.created', connection, by, details, now })
  return { text, token: toToken(row) }
}

/** Lists all tokens, including ended ones, by name; those of one name the newest first. */
export async function listTokens(db: Db): Promise<Token[]> {
  const rows = await db
    .selectFrom('access_tokens')
    .selectAll()
    .orderBy(sql`lower(name)`)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toToken)
}

type Revocation = {
  readonly name: string
  readonly by: string
  readonly now: Date
}

/** Revokes a token and ends every session that started with it. */
export async function revokeToken(
  tx: Db,
  { name, by, now }: Revocation,
): Promise<{ readonly token: Token; readonly sessions: number }> {
  const row = await tx
    .updateTable('access_tokens')
    .set({ revoked_at: now, revoked_by: by })
    .where(sql`lower(name)`, '=', sql`lower(${name})`)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!row) throw new Failure('not_found', `there is no token "${name}"; "rollcall token list" lists them`)
  const { numDeletedRows } = await tx.deleteFrom('access_sessions').where('token_id', '=', row.id).executeTakeFirst()
  const sessions = Number(numDeletedRows)
  const { connection } = row
  await recordAuditEntry(tx, { act: 'token.revoked', connection, by, details: { name: row.name, sessions }, now })
  return { token: toToken(row), sessions }
}

/** Finds the token with this text; null if no such token was created here. */
export async function findToken(db: Db, text: string, now: Date): Promise<TokenCheck | null> {
  if (!isToken(text)) return null
  const row = await db.selectFrom('access_tokens').selectAll().where('hash', '=', hashOf(text)).executeTakeFirst()
  if (!row) return null
  const token = toToken(row)
  if (token.revokedAt !== null) return { token, ended: 'revoked' }
  if (token.expiresAt !== null && token.expiresAt <= now) return { token, ended: 'expired' }
  return { token, ended: null }
}

/** Records the use of a token, at most once a minute. */
export async function recordTokenUse(db: Db, { id, lastUsedAt }: Token, now: Date): Promise<void> {
  // A time of a clock that was ahead is replaced.
  if (lastUsedAt !== null && Math.abs(now.getTime() - lastUsedAt.getTime()) < minuteMs) return
  await db.updateTable('access_tokens').set({ last_used_at: now }).where('id', '=', id).execute()
}

/** Whether there is a valid token of the control API. */
export async function hasToken(db: Db, now: Date): Promise<boolean> {
  const row = await db
    .selectFrom('access_tokens')
    .select('id')
    .where('revoked_at', 'is', null)
    .where('role', '<>', 'scim')
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether a text has the form of a token and the right checksum. A mistyped one needs no query. */
function isToken(text: string): boolean {
  const [, secret, checksum] = /^rct_([0-9a-f]{64})([0-9a-f]{8})$/.exec(text) ?? []
  return secret !== undefined && checksumOf(secret) === checksum
}

function newText(): string {
  const secret = randomBytes(secretBytes).toString('hex')
  return `${prefix}${secret}${checksumOf(secret)}`
}

function checksumOf(secret: string): string {
  return crc32(secret).toString(16).padStart(checksumDigits, '0')
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function toToken(row: Selectable<AccessTokensTable>): Token {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    connection: row.connection,
    createdAt: row.created_at,
    createdBy: row.created_by,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    revokedBy: row.revoked_by,
  }
}
