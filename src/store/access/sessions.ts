import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Role } from '../../contract/control/access.ts'
import { prepared } from '../../database/prepared.ts'
import { recordAuditEntry } from '../audit/trail.ts'
import type { Db } from '../schema.ts'

/** Somebody who is signed in. */
type Session = {
  readonly name: string
  readonly role: Role
  readonly principal: string
}

/** When sessions end. */
export type SessionLimits = {
  /** Minutes without use after which a session ends. */
  readonly idleMinutes: number
  /** Hours after which a session ends, even if it is in use. */
  readonly hours: number
}

const secretBytes = 32
const minuteMs = 60_000

/** The times between which the last use of a live session lies. A last use after `until` was recorded before the clock was set back. */
function lastUseRange(limits: SessionLimits, now: Date): { readonly since: Date; readonly until: Date } {
  const idleMs = limits.idleMinutes * minuteMs
  return { since: new Date(now.getTime() - idleMs), until: new Date(now.getTime() + idleMs) }
}

type SessionTimes = {
  readonly limits: SessionLimits
  readonly expiresAt?: Date | null
  readonly now: Date
}

/** Starts a session and returns its secret, which is not stored. Removes the sessions that have ended. */
export async function beginSession(
  tx: Db,
  session: Session & { readonly tokenId: string | null; readonly how: string },
  { limits, expiresAt = null, now }: SessionTimes,
): Promise<string> {
  const secret = randomBytes(secretBytes).toString('base64url')
  const { name, role, principal, tokenId, how } = session
  const latest = new Date(now.getTime() + limits.hours * 60 * minuteMs)
  const { since, until } = lastUseRange(limits, now)
  await tx
    .deleteFrom('access_sessions')
    .where((is) => is.or([is('expires_at', '<=', now), is('seen_at', '<=', since), is('seen_at', '>=', until)]))
    .execute()
  await tx
    .insertInto('access_sessions')
    .values({
      hash: hashOf(secret),
      name,
      role,
      principal,
      token_id: tokenId,
      created_at: now,
      seen_at: now,
      expires_at: expiresAt !== null && expiresAt < latest ? expiresAt : latest,
    })
    .execute()
  await recordAuditEntry(tx, {
    act: 'session.began',
    connection: null,
    by: name,
    details: { how, role, principal },
    now,
  })
  return secret
}

type SessionUse = {
  readonly limits: SessionLimits
  readonly isUse: boolean
  readonly now: Date
}

/**
 * Finds the person who is signed in with this secret. Null: the session is unknown, or it or its token has ended. `isUse` extends the
 * session.
 */
export async function findSession(db: Db, secret: string, { limits, isUse, now }: SessionUse): Promise<Session | null> {
  const { since, until } = lastUseRange(limits, now)
  const { rows } = await sql<Session & { readonly seenAt: Date; readonly revokedAt: Date | null }>`${sql.raw(prepared)}
    select session.name, session.role, session.principal, session.seen_at as "seenAt", token.revoked_at as "revokedAt"
    from access_sessions session left join access_tokens token on token.id = session.token_id
    where session.hash = ${hashOf(secret)} and session.expires_at > ${now}
      and session.seen_at > ${since} and session.seen_at < ${until}`.execute(db)
  const [row] = rows
  // Revoking a token ends its sessions, except for one that starts at the same moment.
  if (!row || row.revokedAt !== null) return null
  const minWriteIntervalMs = Math.min(minuteMs, (limits.idleMinutes * minuteMs) / 10)
  if (isUse && now.getTime() - row.seenAt.getTime() >= minWriteIntervalMs) {
    await db.updateTable('access_sessions').set({ seen_at: now }).where('hash', '=', hashOf(secret)).execute()
  }
  return { name: row.name, role: row.role, principal: row.principal }
}

/** Ends every session of a principal, because its secret may have changed. */
export async function endSessionsOf(db: Db, principal: string): Promise<void> {
  await db.deleteFrom('access_sessions').where('principal', '=', principal).execute()
}

/** Ends a session; true if there was one. */
export async function endSession(tx: Db, secret: string, now: Date): Promise<boolean> {
  const ended = await tx
    .deleteFrom('access_sessions')
    .where('hash', '=', hashOf(secret))
    .returning(['name', 'principal'])
    .executeTakeFirst()
  if (!ended) return false
  const { name: by, principal } = ended
  await recordAuditEntry(tx, { act: 'session.ended', connection: null, by, details: { principal }, now })
  return true
}

// A secret is 256 random bits: there is nothing to guess from its hash.
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
