import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../contract/control/access.ts'
import { refuse } from '../../http/refusal.ts'
import { findToken, recordTokenUse } from '../../store/access/tokens.ts'
import type { Db } from '../../store/schema.ts'
import type { Attempts } from './attempts.ts'

/** The caller of a token, or why the token is refused. `tokenId` null: the token of the configuration. */
type Admission =
  | { readonly caller: Caller; readonly tokenId: string | null; readonly expiresAt: Date | null }
  | { readonly refused: 'unknown' | 'expired' | 'revoked' }

/** Checks a bearer token. */
export type CheckToken = (text: string) => Promise<Admission>

type TokenOptions = {
  readonly db: Db
  readonly now: () => Date
  /** `server.token`; null: none is configured. */
  readonly configured: string | null
}

/** The principal of callers and sessions with the configured token. */
export const configuredPrincipal = 'token:server.token'
const configuredCaller: Caller = { name: 'server.token', role: 'admin', via: 'token', principal: configuredPrincipal }

/** Checks tokens: the configured one, which needs no store, and those made with "rollcall token create". */
export function createTokenCheck({ db, now, configured }: TokenOptions): CheckToken {
  const expected = configured === null ? null : digest(configured)
  return async (text) => {
    if (expected !== null && timingSafeEqual(digest(text), expected))
      return { caller: configuredCaller, tokenId: null, expiresAt: null }
    const match = await findToken(db, text, now())
    if (match === null) return { refused: 'unknown' }
    const { token, ended } = match
    const { id: tokenId, name, role, expiresAt } = token
    // A token of SCIM opens nothing else.
    if (role === 'scim') return { refused: 'unknown' }
    if (ended !== null) return { refused: ended }
    await recordTokenUse(db, token, now())
    return { caller: { name, role, via: 'token', principal: `token:${name}` }, tokenId, expiresAt }
  }
}

/** Admits callers with a valid token. Throws a refusal: 401 for a wrong token, 429 for an address that failed too often. */
export function admitByToken(checkToken: CheckToken, attempts: Attempts): (request: FastifyRequest) => Promise<Caller> {
  return async (request) => {
    await attempts.check(request.ip)
    const admission = await checkToken(bearerOf(request))
    if ('caller' in admission) return admission.caller
    const { refused } = admission
    if (refused === 'unknown') {
      await attempts.failed(request.ip, 'wrong or missing token')
      const help = '"rollcall token create" makes one'
      throw refuse('Unauthorized', `the control API asks for a token as a bearer token: ${help}`)
    }
    await attempts.failed(request.ip, `${refused} token`)
    const helps = refused === 'expired' ? 'has expired' : 'was revoked'
    throw refuse('Unauthorized', `this token ${helps}: ask an admin for a new one`)
  }
}

/**
 * Admits senders with a valid token of this connection. Returns why nobody else is admitted, or null. Throws a refusal (429) for an address that
 * failed too often.
 */
export function admitSenders(
  { db, now }: Pick<TokenOptions, 'db' | 'now'>,
  attempts: Attempts,
): (request: FastifyRequest, connection: string) => Promise<string | null> {
  return async (request, connection) => {
    // A valid token is admitted whoever else fails from the address of a proxy.
    const match = await findToken(db, bearerOf(request), now())
    const isOwn = match?.token.role === 'scim' && match.token.connection === connection
    if (isOwn && match.ended === null) {
      await recordTokenUse(db, match.token, now())
      return null
    }
    await attempts.check(request.ip)
    const reason = isOwn && match.ended !== null ? `${match.ended} token` : 'wrong or missing token'
    await attempts.failed(request.ip, `SCIM: ${reason}`)
    if (!isOwn) return 'send the bearer token that "rollcall token create --role scim" made for this connection'
    return match.ended === 'expired'
      ? 'this token has expired: ask an admin for a new one'
      : 'this token was revoked: ask an admin for a new one'
  }
}

function bearerOf(request: FastifyRequest): string {
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  return token
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
