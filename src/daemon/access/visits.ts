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

/** Begins the session of a person who has proved who they are. */
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

/** The sign-in and sign-out of the console: its cookies, and the sessions behind them. */
export function createAccess(
  options: AccessOptions,
  openProvider: (begin: Begin, cookie: CookieSerializeOptions, names: CookieNames) => Provider | null = () => null,
): Access {
  const { db, now, limits, isSecure, hasConfigured, checkToken, attempts } = options
  // Browsers accept a cookie with this prefix only from this host and over HTTPS.
  const names = cookieNames(isSecure ? '__Host-' : '')
  // Lax: links in messages work. Forms that change something carry a token, which other sites do not have.
  const cookie: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure }

  const begin: Begin = async (request, reply, { expiresAt, ...session }) => {
    const previous = request.cookies[names.session]
    const secret = await db.transaction().execute(async (tx) => {
      if (previous) await endSession(tx, previous, now())
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
      // Always a new one: the request's cookie may have been set by somebody else.
      const secret = newFormSecret()
      reply.setCookie(names.form, secret, { ...cookie, maxAge: formSeconds })
      return formTokenOf(secret)
    },
    async signIn(request, reply): Promise<NotSignedIn | null> {
      const secret = request.cookies[names.form]
      checkFormToken(request, secret ? formTokenOf(secret) : null)
      const tooMany = await tooManyAttempts(attempts, request.ip)
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

/** The names of the console's cookies. */
export type CookieNames = { readonly session: string; readonly form: string; readonly provider: string }

function cookieNames(prefix: string): CookieNames {
  return { session: `${prefix}rollcall`, form: `${prefix}rollcall_sign_in`, provider: `${prefix}rollcall_provider` }
}

/** The response to an address that failed too often; null if it may try. */
async function tooManyAttempts(attempts: Attempts, address: string): Promise<NotSignedIn | null> {
  try {
    await attempts.check(address)
    return null
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const trouble = 'Too many attempts from this address. Try again in a minute.'
    return { status: error.status, trouble, retryAfterSeconds: Number(error.headers['retry-after']) }
  }
}
