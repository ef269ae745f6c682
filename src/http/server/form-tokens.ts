import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { refuse } from '../refusal.ts'

const secretBytes = 32
/** One value for each field. A field that is sent twice has no usable value. */
const Fields = z.record(z.string(), z.unknown())

/** A field of a form; empty if it is missing or sent twice. */
export function field(request: FastifyRequest, name: string): string {
  const fields = Fields.safeParse(request.body)
  const value = fields.success ? fields.data[name] : undefined
  return typeof value === 'string' ? value : ''
}

/** The secret in a cookie that identifies the forms of a visitor who is not signed in. */
export function newFormSecret(): string {
  return randomBytes(secretBytes).toString('base64url')
}

/** The token in a form. Only the holder of the cookie knows its secret, and no other site can read or set it. */
export function formTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('form').digest('base64url')
}

/** Refuses a form that did not come from a page of ours. `expected`: the token; null without a cookie. */
export function checkFormToken(request: FastifyRequest, expected: string | null): void {
  const submitted = Buffer.from(field(request, 'token'))
  const known = Buffer.from(expected ?? '')
  if (expected !== null && submitted.length === known.length && timingSafeEqual(submitted, known)) return
  throw refuse('Forbidden', 'This form is too old, or came from elsewhere. Go back, reload the page and try again.')
}
