import { columnPlaceholder } from '../../../src/connectors/http/settings/details.ts'
import type { HttpSource } from '../../../src/connectors/http/settings/settings.ts'
import { memberAt, withMember } from '../../../src/connectors/json/members.ts'
import type { Exchange } from './cassette.ts'
import type { RawExchange } from './exchanges.ts'
import type { Json, Redactor } from './redact.ts'

type Cleaning = { readonly redactor: Redactor; readonly plainText: (text: string) => string }

/** Headers of answers that say something about a list. */
const keptHeaders =
  /^(?:content-type|link|content-range|last-modified|retry-after|(?:x-)?rate-?limit.*|x-.*(?:page|total|count|cursor|next).*)$/

/** What makes the exchanges of a reading ones of a cassette. They are cleaned in their order, since a key is first seen in the list. */
export function exchangeCleaner(
  source: HttpSource,
  { redactor, plainText }: Cleaning,
): (exchange: RawExchange) => Exchange {
  return (exchange) => {
    const keys = keysIn(exchange, source)
    const cleanText = (text: string) =>
      plainText(keys.reduce((rest, key) => rest.replaceAll(key, redactor.known(decodeURIComponent(key))), text))
    const isToken = isForToken(exchange, source)
    const answer = parsed(Buffer.concat(exchange.chunks).toString())
    const headers = Object.entries(exchange.headers).filter(([name]) => keptHeaders.test(name))
    const request = { method: exchange.method, path: cleanText(exchange.path) }
    return {
      request:
        isToken || exchange.sent === ''
          ? request
          : { ...request, body: sentBody(exchange, source, { redactor, plainText }) },
      response: {
        status: exchange.status,
        headers: Object.fromEntries(headers.map(([name, value]) => [name, cleanText(value)])),
        ...(answer !== '' && {
          body: isToken ? withoutTokens(answer) : answerBody(answer, source, { redactor, plainText: cleanText }),
        }),
      },
    }
  }
}

function isForToken({ origin, path }: RawExchange, { oauth2, login }: HttpSource): boolean {
  const addresses = [oauth2?.tokenUrl, login?.url].filter((address) => address !== undefined)
  return addresses.some((address) => new URL(address).href === new URL(path, origin).href)
}

/** The keys of a record in the address of a request of `each`, as they stand there. */
function keysIn({ origin, path }: RawExchange, { each }: HttpSource): readonly string[] {
  return each.flatMap(({ url }) => {
    const parts = url
      .split(columnPlaceholder)
      .map((part, index) => (index % 2 === 0 ? RegExp.escape(part) : '([^/?&]+)'))
    return new RegExp(`^${parts.join('')}$`).exec(`${origin}${path}`)?.slice(1) ?? []
  })
}

/** The body of a request. The keys in one of `each` are those of people; one of a list holds positions. */
function sentBody({ origin, path, sent }: RawExchange, { each }: HttpSource, { redactor, plainText }: Cleaning): Json {
  const body = parsed(plainText(sent))
  const isOfEach = each.some(({ url, method }) => method === 'POST' && url === `${origin}${path}`)
  return isOfEach ? redactor.redactKnown(body) : body
}

/**
 * The answer without the people in its records, and without any text if it has no records. What speaks of pages stays; lists and e-mail
 * addresses beside the records may be about people.
 */
function answerBody(answer: Json, { records, join, each }: HttpSource, { redactor, plainText }: Cleaning): Json {
  const details = each.map(({ batch, records: ofDetail }) => batch?.answers ?? ofDetail)
  const pointers = [records, ...join.map((list) => list.records), ...details]
  const pointer = pointers.find((one) => typeof memberAt(answer, one) === 'object')
  if (pointer === undefined || pointer === '') return redactor.redact(answer)
  const people = redactor.redact(memberAt(answer, pointer) ?? null)
  const others = parsed(plainText(JSON.stringify(withoutPeople(withMember(answer, pointer, []), redactor))))
  return withMember(others, pointer, people)
}

function withoutPeople(value: Json, redactor: Redactor): Json {
  if (Array.isArray(value) || (typeof value === 'string' && value.includes('@'))) return redactor.redact(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([member, below]) => [member, withoutPeople(below, redactor)]))
}

/** The answer of an address that issues tokens, with invented ones. */
function withoutTokens(answer: Json, name = ''): Json {
  if (typeof answer === 'string') return /^(?:token_type|error)$/.test(name) ? answer : 'invented-token'
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer
  return Object.fromEntries(Object.entries(answer).map(([member, below]) => [member, withoutTokens(below, member)]))
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
