import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access, NotSignedIn, Provider } from '../../console/site/access.ts'
import { Refusal } from '../../http/refusal.ts'
import { checkFormToken, field, formTokenOf, newFormSecret } from '../../http/server/form-tokens.ts'
import { beginSession, endSession, findSession, type SessionLimits } from '../../store/access/sessions.ts'
import { hasToken } from '../../store/access/tokens.ts'
import type { Db } from '../../store/schema.ts'
import type { Attempts } from './attempts.ts'
import { type CheckToken, configuredPrincipal } from './tokens.ts'

type AccessOptions = {
  readonly db: Db
  readonly now: () => Date
  readonly limits: SessionLimits
  /** Whether people reach the console over HTTPS, so that its cookies travel over HTTPS only. */
  readonly isSecure: boolean
  /** Whether `server.token` is configured. */
  readonly hasConfigured: boolean
  readonly checkToken: CheckToken
  readonly attempts: Attempts
}

/** Begins the session of somebody who has shown who they are. */
export type Begin = (
  request: FastifyRequest,
  reply: FastifyReply,
  session: Parameters<typeof beginSession>[1] & { readonly expiresAt: Date | null },
) => Promise<void>

const formSeconds = 60 * 60
const refusals = {
  unknown: 'This token is not known here.',
  expired: 'This token has expired. Ask an admin for a new one.',
  revoked: 'This token was revoked. Ask an admin for a new one.',
} as const

/** The cookies of the console, and the sessions behind them. */
export function createAccess(
  options: AccessOptions,
  openProvider: (begin: Begin, cookie: CookieSerializeOptions, names: CookieNames) => Provider | null = () => null,
): Access {
  const { db, now, limits, isSecure, hasConfigured, checkToken, attempts } = options
  // Of such a name a browser takes a cookie from this very host alone, and over HTTPS alone.
  const names = cookieNames(isSecure ? '__Host-' : '')
  // Lax: a link in a message leads to its page. What changes something carries a token of its own, and comes from no other site.
  const cookie: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure }

  const begin: Begin = async (request, reply, { expiresAt, ...session }) => {
    const former = request.cookies[names.session]
    const secret = await db.transaction().execute(async (tx) => {
      if (former) await endSession(tx, former, now())
      return await beginSession(tx, session, { limits, expiresAt, now: now() })
    })
    reply.setCookie(names.session, secret, cookie)
    reply.clearCookie(names.form, cookie)
  }
  const provider = openProvider(begin, cookie, names)

  const find: Access['find'] = async (request, { isUse }) => {
    const secret = request.cookies[names.session]
    const session = secret ? await findSession(db, secret, { limits, isUse, now: now() }) : null
    if (!secret || !session) return null
    const { name, role, principal } = session
    if (principal === configuredPrincipal && !hasConfigured) return null
    return { caller: { name, role, via: 'sign-in', principal }, formToken: formTokenOf(secret) }
  }

  return {
    find,
    isSecure,
    provider,
    canSignIn: async () => hasConfigured || provider !== null || (await hasToken(db, now())),
    anonymousFormToken(reply) {
      // Always a new one: the cookie that came may have been set by somebody else.
      const secret = newFormSecret()
      reply.setCookie(names.form, secret, { ...cookie, maxAge: formSeconds })
      return formTokenOf(secret)
    },
    async signIn(request, reply): Promise<NotSignedIn | null> {
      const secret = request.cookies[names.form]
      checkFormToken(request, secret ? formTokenOf(secret) : null)
      const tooMany = await waiting(attempts, request.ip)
      if (tooMany) return tooMany
      const admission = await checkToken(field(request, 'access').trim())
      if ('refused' in admission) {
        const { refused } = admission
        await attempts.failed(request.ip, refused === 'unknown' ? 'wrong or missing token' : `${refused} token`)
        return { status: 401, trouble: refusals[refused] }
      }
      const { caller, tokenId, expiresAt } = admission
      await begin(request, reply, { ...caller, tokenId, expiresAt, how: 'token' })
      return null
    },
    async signOut(request, reply) {
      const visit = await find(request, { isUse: true })
      if (visit) {
        checkFormToken(request, visit.formToken)
        const secret = request.cookies[names.session] ?? ''
        await db.transaction().execute((tx) => endSession(tx, secret, now()))
      }
      reply.clearCookie(names.session, cookie)
    },
  }
}

export type CookieNames = { readonly session: string; readonly form: string; readonly provider: string }

function cookieNames(prefix: string): CookieNames {
  return { session: `${prefix}rollcall`, form: `${prefix}rollcall_sign_in`, provider: `${prefix}rollcall_provider` }
}

/** What an address is told that has failed too often; null: it may try. */
async function waiting(attempts: Attempts, address: string): Promise<NotSignedIn | null> {
  try {
    await attempts.check(address)
    return null
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const trouble = 'Too many attempts from this address. Try again in a minute.'
    return { status: error.status, trouble, retryAfterSeconds: Number(error.headers['retry-after']) }
  }
}
