import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { unreadable } from '../file/failures.ts'
import { explained, type Stop } from './failures.ts'

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** How many more bytes are accepted. */
export type Budget = { leftBytes: number; readonly maxBytes: number }

type Limits = { readonly where: string; readonly budget: Budget; readonly stop: Stop }

/** The body, decompressed if the server compressed it without being asked. Refuses a body that exceeds the budget or ends too soon. */
export async function* decodedBody(
  { headers, body }: Dispatcher.ResponseData,
  { where, budget, stop }: Limits,
): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = unpacked(body, headers['content-encoding'], where)
  try {
    for await (const chunk of chunks) {
      budget.leftBytes -= chunk.length
      if (budget.leftBytes < 0)
        throw unreadable(`${where} sends more than ${budget.maxBytes} bytes`, 'check the address, or raise maxBytes')
      yield chunk
    }
  } catch (error) {
    throw explained(error, { where, stop })
  }
}

/** Refuses an answer whose content type is not the expected one. Mostly that is a login page. */
export function checkContentType(
  { headers }: Pick<Dispatcher.ResponseData, 'headers'>,
  { where, format }: { readonly where: string; readonly format: 'csv' | 'json' },
): void {
  const [type = ''] = String(headers['content-type'] ?? '').split(';')
  const kind = type.trim().toLowerCase()
  if (kind === 'text/html' || kind === 'application/xhtml+xml')
    throw unreadable(`${where} answers with ${kind}, a login page perhaps`, 'check the address and the credentials')
  const others = format === 'csv' ? /[/+]json$|[/+]xml$/ : /[/+]csv$|[/+]xml$/
  if (others.test(kind))
    throw unreadable(`${where} answers with ${printable(kind)}`, `expected ${format}; check format`)
}

function unpacked(body: Readable, encoding: string | string[] | undefined, where: string): Readable {
  const name = String(encoding ?? 'identity')
    .trim()
    .toLowerCase()
  if (name === 'identity') return body
  const decoder = Object.hasOwn(decoders, name) ? decoders[name]?.() : undefined
  if (!decoder) throw unreadable(`${where} packs its answer in an unknown way (${printable(name)})`, 'check the server')
  // Errors reach the reader of the decoder.
  return pipeline(body, decoder, () => {})
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 60)
}
