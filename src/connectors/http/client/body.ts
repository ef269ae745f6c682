import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { unreadable } from '../../file/failures.ts'
import { toRequestFailure } from '../network/failures.ts'
import type { RequestLimits } from '../network/limits.ts'

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Content types that show another format than the configured one. That of a workbook ends in `sheet`. */
const otherFormats = {
  csv: /[/+]json$|[/+]xml$|spreadsheetml/,
  xlsx: /[/+]json$|[/+]xml$|[/+]csv$/,
  json: /[/+]csv$|[/+]xml$|spreadsheetml/,
}

/** The headers of a response, with names in lower case. */
export type ResponseHeaders = Dispatcher.ResponseData['headers']

/** How many more bytes all responses of a reading may have. `help`: what to do when they have more. */
export type ByteBudget = { remainingBytes: number; readonly maxBytes: number; readonly help: string }

type BodyOptions = { readonly label: string; readonly budget: ByteBudget; readonly limits: RequestLimits }

/** The body, decompressed if the server compressed it unasked. Refuses a body that exceeds the budget or ends too soon. */
export async function* decodedBody(
  { headers, body }: Dispatcher.ResponseData,
  { label, budget, limits }: BodyOptions,
): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = decompress(body, headers['content-encoding'], label)
  try {
    for await (const chunk of chunks) {
      budget.remainingBytes -= chunk.length
      if (budget.remainingBytes < 0) throw unreadable(`${label} sends more than ${budget.maxBytes} bytes`, budget.help)
      yield chunk
    }
  } catch (error) {
    throw toRequestFailure(error, { label, limits })
  }
}

/** Refuses a response of another content type than the expected one. Mostly that is a login page. */
export function checkContentType(headers: ResponseHeaders, format: 'csv' | 'xlsx' | 'json', label: string): void {
  const [type = ''] = String(headers['content-type'] ?? '').split(';')
  const mediaType = type.trim().toLowerCase()
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml')
    throw unreadable(
      `${label} answers with ${mediaType}, a login page perhaps`,
      'check the address and the credentials',
    )
  if (otherFormats[format].test(mediaType))
    throw unreadable(`${label} answers with ${withoutControlCharacters(mediaType)}`, `expected ${format}; check format`)
}

function decompress(body: Readable, encoding: string | string[] | undefined, label: string): Readable {
  const name = String(encoding ?? 'identity')
    .trim()
    .toLowerCase()
  if (name === 'identity') return body
  const decoder = Object.hasOwn(decoders, name) ? decoders[name]?.() : undefined
  if (!decoder)
    throw unreadable(
      `${label} packs its answer in an unknown way (${withoutControlCharacters(name)})`,
      'check the server',
    )
  // Errors reach the reader of the decoder.
  return pipeline(body, decoder, () => {})
}

function withoutControlCharacters(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 80)
}
