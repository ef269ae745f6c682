import type { RawClient, RawRequest } from '../helpers/raw-requests.ts'
import { allows } from './bad-bodies.ts'
import { bodySchemaOf, bodyWith, type Field, fieldsOf } from './body-fields.ts'
import type { Company } from './fixtures/fixture.ts'
import { type NamedOperation, validCall } from './operations.ts'

const largest = [
  ...[2_147_483_647, 2_147_483_648, Number.MAX_SAFE_INTEGER],
  ...[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -Number.MIN_VALUE],
]
const unknownKeys = { unknown: 1, toString: 'x', constructor: null, '': [], nested: { deeper: [{}] } }

/** A valid request with every allowed oddity at once. */
export function oddRequest(http: RawClient, company: Company, named: NamedOperation): RawRequest {
  const { body, ...call } = validCall(named, company.things)
  const { path, method } = http.requestOf(named, call, company.key)
  const separator = path.includes('?') ? '&' : '?'
  return {
    method,
    path: `${path}${separator}page=1&__proto__=x&constructor=x&%00=%00`,
    headers: {
      authorization: `bEaReR   ${company.key}  `,
      accept: 'text/xml;q=1, */*;q=0',
      'accept-encoding': 'nothing-that-is',
      'x-rubbish': '\u00ff\u00fe',
      // Many clients announce JSON on every request, also on those without a body.
      'content-type': 'APPLICATION/JSON; Charset=UTF-8',
    },
    ...(body !== undefined && { body: oddText(named, body) }),
  }
}

/** Requests with the largest and the smallest numbers that the operation's schema allows, each in another field. */
export function largeRequests(http: RawClient, company: Company, named: NamedOperation): RawRequest[] {
  const call = validCall(named, company.things)
  if (call.body === undefined) return []
  const request = http.requestOf(named, call, company.key)
  return fieldsOf(bodySchemaOf(named.operation), call.body)
    .filter(isNumber)
    .flatMap(({ path }) => largest.map((value) => bodyWith(call.body, path, value)))
    .filter((body) => allows(named.operation, body))
    .map((body) => ({ ...request, body }))
}

/** The body with repeated fields, of which the last is used, with unknown keys, and with white space. */
function oddText({ operation }: NamedOperation, body: unknown): string {
  const [valid] = Array.isArray(body) ? body : [body]
  const [unknown] = allows(operation, JSON.stringify(wrapped(body, { ...valid, ...unknownKeys })))
    ? [unknownKeys]
    : [{}]
  const inner = (value: object) => JSON.stringify(value, null, '\t').slice(1, -1)
  const first = Object.fromEntries(Object.keys(valid).map((name) => [name, { not: 'this one' }]))
  const parts = [first, unknown, valid].filter((part) => Object.keys(part).length > 0).map(inner)
  const object = ` {\r\n${parts.join(',')} } `
  return Array.isArray(body) ? `[${object}]\n` : object
}

function wrapped(body: unknown, value: unknown): unknown {
  return Array.isArray(body) ? [value] : value
}

function isNumber({ alternatives }: Field): boolean {
  return alternatives.some(({ type }) => type === 'integer' || type === 'number')
}
