import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { checkFormToken, formTokenOf, newFormSecret } from '../../http/server/form-tokens.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { findSession, type PageOperator, sessionSeconds } from '../operators/sessions.ts'
import { pagePrefix } from './query.ts'

/** What the sessions of the page need. */
export type VisitOptions = {
  readonly db: Kysely<PlatformSchema>
  readonly now: () => Date
  /** Whether cookies are sent over HTTPS only. */
  readonly isSecure: boolean
}

/** A signed-in operator with the session token and the form token. */
export type Visit = { readonly operator: PageOperator; readonly token: string; readonly formToken: string }

/** A message that the next page shows once. */
export type FlashMessage = { readonly kind: keyof typeof flashKinds; readonly count: number }

const flashKinds = { reset: true, 'sync-started': true, 'sync-running': true } as const

const cookies = { session: 'rollcall_personnel', form: 'rollcall_sign_in', flash: 'rollcall_news' } as const
const formSeconds = 60 * 60
const flashSeconds = 60

/** See `createVisits`. */
export type Visits = ReturnType<typeof createVisits>

/** The sessions of the page: its cookies, and the tokens that bind forms to them. */
export function createVisits({ db, now, isSecure }: VisitOptions) {
  const options: CookieSerializeOptions = { path: pagePrefix, httpOnly: true, sameSite: 'strict', secure: isSecure }
  return {
    /** The signed-in operator, or null. */
    async find(request: FastifyRequest): Promise<Visit | null> {
      const token = request.cookies[cookies.session]
      const operator = token ? await findSession(db, token, now()) : null
      return token && operator ? { operator, token, formToken: formTokenOf(token) } : null
    },
    signIn(reply: FastifyReply, token: string): void {
      reply.setCookie(cookies.session, token, { ...options, maxAge: sessionSeconds })
      reply.clearCookie(cookies.form, options)
    },
    signOut(reply: FastifyReply): void {
      reply.clearCookie(cookies.session, options)
    },
    /** The form token of a visitor who is not signed in. The secret is always new: an attacker may have set the cookie. */
    anonymousFormToken(reply: FastifyReply): string {
      const secret = newFormSecret()
      reply.setCookie(cookies.form, secret, { ...options, maxAge: formSeconds })
      return formTokenOf(secret)
    },
    /** Refuses a form of a visitor who is not signed in if it does not come from our page. */
    checkAnonymousForm(request: FastifyRequest): void {
      const secret = request.cookies[cookies.form]
      checkFormToken(request, secret ? formTokenOf(secret) : null)
    },
    checkForm(request: FastifyRequest, visit: Visit): void {
      checkFormToken(request, visit.formToken)
    },
    setFlash(reply: FastifyReply, { kind, count }: FlashMessage): void {
      reply.setCookie(cookies.flash, `${kind}.${count}`, { ...options, maxAge: flashSeconds })
    },
    takeFlash(request: FastifyRequest, reply: FastifyReply): FlashMessage | null {
      const value = request.cookies[cookies.flash]
      if (value === undefined) return null
      reply.clearCookie(cookies.flash, options)
      const [kind = '', count = ''] = value.split('.')
      return isFlashKind(kind) && /^\d{1,9}$/.test(count) ? { kind, count: Number(count) } : null
    },
  }
}

function isFlashKind(kind: string): kind is FlashMessage['kind'] {
  return Object.hasOwn(flashKinds, kind)
}
