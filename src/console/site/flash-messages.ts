import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Visitor } from './access.ts'

const seconds = 60
const longest = 1000

/** What was just done, on its way to the next page. */
/** A sentence about what was just done, for the next page. */
export type FlashMessages = {
  /** Keeps a sentence for the next page, and for that one only. It is signed, so that no one else writes it. */
  set(reply: FastifyReply, visitor: Visitor, sentence: string): void
  /** What was told; null: nothing. */
  take(request: FastifyRequest, reply: FastifyReply, visitor: Visitor): string | null
}

export function createFlashMessages({ isSecure }: { readonly isSecure: boolean }): FlashMessages {
  // Of such a name a browser takes a cookie from this very host alone, and over HTTPS alone.
  const cookie = `${isSecure ? '__Host-' : ''}rollcall_done`
  const options: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'strict', secure: isSecure }
  return {
    set(reply, { formToken }, sentence) {
      const text = Buffer.from(sentence.slice(0, longest)).toString('base64url')
      reply.setCookie(cookie, `${text}.${signed(text, formToken)}`, { ...options, maxAge: seconds })
    },
    take(request, reply, { formToken }) {
      const told = request.cookies[cookie]
      if (told === undefined) return null
      reply.clearCookie(cookie, options)
      const [text = '', signature = ''] = told.split('.')
      const [given, known] = [Buffer.from(signature), Buffer.from(signed(text, formToken))]
      if (given.length !== known.length || !timingSafeEqual(given, known)) return null
      return Buffer.from(text, 'base64url').toString()
    },
  }
}

function signed(text: string, formToken: string): string {
  return createHmac('sha256', formToken).update(`done ${text}`).digest('base64url')
}
