import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../contract/control/access.ts'
import { refuse } from '../../http/refusal.ts'
import { findToken, recordTokenUse } from '../../store/access/tokens.ts'
import type { Db } from '../../store/schema.ts'
import type { Attempts } from './attempts.ts'

/** Who comes with a token, or why the token lets no one in. `tokenId` null: it is the one of the configuration. */
type Admission =
  | { readonly caller: Caller; readonly tokenId: string | null; readonly expiresAt: Date | null }
  | { readonly refused: 'unknown' | 'expired' | 'revoked' }

export type CheckToken = (text: string) => Promise<Admission>

type TokenOptions = {
  readonly db: Db
  readonly now: () => Date
  /** `server.token`; null: none is configured. */
  readonly configured: string | null
}

export const configuredPrincipal = 'token:server.token'
/** Who comes with `server.token`. */
const configuredCaller: Caller = { name: 'server.token', role: 'admin', via: 'token', principal: configuredPrincipal }

/** Judges tokens: the one of the configuration, which needs no store, and those that were made. */
export function createTokenCheck({ db, now, configured }: TokenOptions): CheckToken {
  const expected = configured === null ? null : digest(configured)
  return async (text) => {
    if (expected !== null && timingSafeEqual(digest(text), expected))
      return { caller: configuredCaller, tokenId: null, expiresAt: null }
    const shown = await findToken(db, text, now())
    if (shown === null) return { refused: 'unknown' }
    const { token, ended } = shown
    if (ended !== null) return { refused: ended }
    await recordTokenUse(db, token, now())
    const { id: tokenId, name, role, expiresAt } = token
    return { caller: { name, role, via: 'token', principal: `token:${name}` }, tokenId, expiresAt }
  }
}

/** Lets those in who send a token. An address that has failed too often is not listened to until its minute is over. */
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

function bearerOf(request: FastifyRequest): string {
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  return token
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
