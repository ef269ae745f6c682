import { signedIdProblem, type WebhookRecipe } from './recipe.ts'
import { readEpochMs, unitNames } from './times.ts'

const maxHeaderCharacters = 8 * 1024
const maxSignatures = 16
const maxPairs = 32

/** The headers of a request with all values of each name, as Node's `request.headersDistinct` gives them. */
export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Unverified claims of a request. The text of `timestamp` is unchanged, because the text was signed. */
type Claims = {
  readonly signatures: readonly string[]
  readonly id: string | null
  readonly timestamp: { readonly text: string; readonly epochMs: number } | null
}

type Unreadable = { readonly reason: 'unsigned' | 'malformed'; readonly message: string }

/** Reads what a recipe needs from the headers. Refuses long and ambiguous headers. */
export function readClaims(recipe: WebhookRecipe, headers: WebhookHeaders): Claims | Unreadable {
  const { signature, timestamp, id } = recipe
  const signed = readHeader(headers, signature.header)
  if (typeof signed === 'object') return signed
  if (signed === undefined || signed === '') return unsigned(`the header ${signature.header} is missing`)

  const list = splitList(signed, recipe)
  if ('reason' in list) return list
  const time = timestamp ? readTimestamp(headers, { timestamp, pairs: list.pairs }) : null
  if (time && 'reason' in time) return time
  const eventId = id && 'header' in id ? readId(headers, { header: id.header, signed: recipe.signed }) : null
  if (typeof eventId === 'object' && eventId) return eventId
  return { signatures: list.signatures, id: eventId, timestamp: time }
}

type Pairs = readonly { readonly name: string; readonly value: string }[]
type List = { readonly signatures: readonly string[]; readonly pairs: Pairs }

/** The value of a header, in any case; undefined if it is missing. Refuses a header that is there twice. */
function readHeader(headers: WebhookHeaders, header: string): string | undefined | Unreadable {
  const name = header.toLowerCase()
  const values = Object.entries(headers).flatMap(([key, text]) =>
    text === undefined || key.toLowerCase() !== name ? [] : text,
  )
  const [value] = values
  if (values.length > 1) return malformed(`the header ${header} is there more than once`)
  if (value === undefined) return undefined
  if (value.length > maxHeaderCharacters)
    return malformed(`the header ${header} is longer than ${maxHeaderCharacters} characters`)
  // In Node, each byte of a header is one character.
  if (/[^\0-\xff]/.test(value)) return malformed(`the header ${header} holds characters that no header can hold`)
  return value
}

function splitList(text: string, { signature }: WebhookRecipe): List | Unreadable {
  const { header, pair, separator = pair === undefined ? undefined : ',' } = signature
  const entries = separator === undefined ? [text] : text.split(separator, maxPairs + 1)
  const pairs = pair === undefined ? [] : entries.map(asPair)
  const signatures = pair === undefined ? entries : pairs.filter(({ name }) => name === pair).map(({ value }) => value)
  if (entries.length > maxPairs || signatures.length > maxSignatures)
    return malformed(`the header ${header} holds more than ${maxSignatures} signatures or ${maxPairs} parts`)
  if (signatures.length === 0) return unsigned(`the header ${header} holds no signature ${pair}`)
  return { signatures, pairs }
}

function asPair(entry: string): Pairs[number] {
  const at = entry.indexOf('=')
  return at < 0 ? { name: '', value: '' } : { name: entry.slice(0, at).trim(), value: entry.slice(at + 1) }
}

function readTimestamp(
  headers: WebhookHeaders,
  { timestamp, pairs }: { readonly timestamp: NonNullable<WebhookRecipe['timestamp']>; readonly pairs: Pairs },
): NonNullable<Claims['timestamp']> | Unreadable {
  const { header, pair, unit } = timestamp
  const where = header === undefined ? `the pair ${pair}` : `the header ${header}`
  const times = pairs.filter(({ name }) => name === pair)
  if (times.length > 1) return malformed(`${where} is there more than once`)
  const text = header === undefined ? times[0]?.value : readHeader(headers, header)
  if (typeof text === 'object') return text
  if (text === undefined || text === '') return malformed(`${where} is missing`)
  const epochMs = readEpochMs(text, { unit })
  return epochMs === null ? malformed(`${where} holds no time in ${unitNames[unit]}`) : { text, epochMs }
}

function readId(
  headers: WebhookHeaders,
  { header, signed }: { readonly header: string; readonly signed: string },
): string | Unreadable {
  const text = readHeader(headers, header)
  if (typeof text === 'object') return text
  if (text === undefined || text === '') return malformed(`the header ${header} is missing`)
  const problem = signedIdProblem(text, signed)
  return problem === null ? text : malformed(`the header ${header} ${problem}`)
}

function unsigned(message: string): Unreadable {
  return { reason: 'unsigned', message }
}

function malformed(message: string): Unreadable {
  return { reason: 'malformed', message }
}
