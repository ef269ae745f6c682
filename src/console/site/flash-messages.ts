import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Visitor } from './access.ts'

const maxAgeSeconds = 60
const maxLength = 1000

/** A sentence about what was just done, for the next page. */
export type FlashMessages = {
  /** Stores a sentence in a signed cookie, for the next page only. */
  set(reply: FastifyReply, visitor: Visitor, sentence: string): void
  /** Reads and removes the sentence; null if there is none or the signature is wrong. */
  take(request: FastifyRequest, reply: FastifyReply, visitor: Visitor): string | null
}

/** Creates the flash messages of a site. `isSecure`: the site is served over HTTPS. */
export function createFlashMessages({ isSecure }: { readonly isSecure: boolean }): FlashMessages {
  // Browsers accept a cookie with this prefix only from this host and over HTTPS.
  const cookie = `${isSecure ? '__Host-' : ''}rollcall_done`
  const options: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'strict', secure: isSecure }
  return {
    set(reply, { formToken }, sentence) {
      const text = Buffer.from(sentence.slice(0, maxLength)).toString('base64url')
      reply.setCookie(cookie, `${text}.${signText(text, formToken)}`, { ...options, maxAge: maxAgeSeconds })
    },
    take(request, reply, { formToken }) {
      const value = request.cookies[cookie]
      if (value === undefined) return null
      reply.clearCookie(cookie, options)
      const [text = '', signature = ''] = value.split('.')
      const [received, known] = [Buffer.from(signature), Buffer.from(signText(text, formToken))]
      if (received.length !== known.length || !timingSafeEqual(received, known)) return null
      return Buffer.from(text, 'base64url').toString()
    },
  }
}

function signText(text: string, formToken: string): string {
  return createHmac('sha256', formToken).update(`done ${text}`).digest('base64url')
}
