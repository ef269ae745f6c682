import type { ConnectorPlace } from '../../connector.ts'
import { type ExportFile, readBytes } from '../export-file.ts'
import { unreadable } from '../failures.ts'
import type { ExportFormat } from '../format.ts'
import { atLeast, inPieces, prepended } from './chunks.ts'
import { gunzipped } from './gzip.ts'
import { decrypted } from './openpgp.ts'
import { unzippedBytes, unzippedFile } from './zip.ts'

const pieceBytes = 128 * 1024
const headBytes = 32

/** Text as dull as exports are packs to a tenth; what packs to less than a two-hundredth was made to fill a disk. */
const ratioLimit = 200
const ratioFromBytes = 10 * 1024 * 1024

const gzipMark = '\x1f\x8b'
// With a file in it, without one, and in several parts.
const zipMarks = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08']

type Kind = 'plain' | 'gzip' | 'zip'

export type WrapFormat = Pick<ExportFormat, 'compression' | 'decrypt' | 'unpackedBytes'>

type DecodeOptions = { readonly signal: AbortSignal; readonly secret: ConnectorPlace['secret'] }

type Limits = {
  readonly name: string
  readonly unpackedBytes: number
  /** How many packed bytes were read so far. */
  readonly packedBytes: () => number
  readonly signal: AbortSignal
}

type Foreign = { readonly magic: string; readonly at?: number; readonly what: string; readonly help: string }

/** How the beginnings of files look that are no text, and what helps. */
const foreign: readonly Foreign[] = [
  { magic: '-----BEGIN PGP MESSAGE', what: 'is encrypted with OpenPGP', help: 'configure decrypt' },
  { magic: '1AY&SY', at: 4, what: 'is compressed with bzip2', help: 'have it compressed with gzip or zip' },
  { magic: '\xfd7zXZ\0', what: 'is compressed with xz', help: 'have it compressed with gzip or zip' },
  { magic: '\x28\xb5\x2f\xfd', what: 'is compressed with zstd', help: 'have it compressed with gzip or zip' },
  { magic: '7z\xbc\xaf\x27\x1c', what: 'is a 7-Zip archive', help: 'have it compressed with gzip or zip' },
  { magic: 'Rar!\x1a\x07', what: 'is a RAR archive', help: 'have it compressed with gzip or zip' },
  { magic: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', what: 'is an Excel workbook', help: 'have it saved as CSV' },
  { magic: '%PDF-', what: 'is a PDF', help: 'have it exported as CSV' },
]

/** The text that the file holds, still encoded: decrypted and unpacked. Ends normally only where all of it was read and proved intact. */
export async function* decoded(
  file: ExportFile,
  format: WrapFormat,
  { signal, secret }: DecodeOptions,
): AsyncGenerator<Buffer> {
  const { name } = file
  const { decrypt, unpackedBytes } = format
  const counted = counting(readBytes(file, signal))
  const limits = { name, unpackedBytes, packedBytes: () => counted.bytes, signal }
  const bytes = atLeast(
    decrypt
      ? withinLimits(inPieces(decrypted(counted.chunks, { name, decrypt, secret, signal }), pieceBytes), limits)
      : counted.chunks,
    headBytes,
  )
  // Begun by hand, so that ending it is ours, too.
  try {
    const first = await bytes.next()
    if (first.done) return
    const whole = prepended(first.value, bytes)
    const kind = kindOf(first.value, { name, compression: format.compression })
    switch (kind) {
      case 'plain':
        yield* whole
        return
      case 'gzip':
        yield* withinLimits(gunzipped(whole, name), limits)
        return
      case 'zip':
        yield* withinLimits(decrypt ? unzippedBytes(whole, name) : unzippedFile(file, signal), {
          ...limits,
          ...(decrypt ? {} : { packedBytes: () => file.bytes }),
        })
        return
      default:
        return kind satisfies never
    }
  } finally {
    await bytes.return(undefined)
  }
}

function kindOf(
  head: Buffer,
  { name, compression }: { readonly name: string; readonly compression: ExportFormat['compression'] },
): Kind {
  const isGzip = begins(head, gzipMark)
  const isZip = zipMarks.some((mark) => begins(head, mark))
  switch (compression) {
    case 'none':
      return 'plain'
    case 'gzip':
      if (!isGzip) throw unreadable(`${name} is no gzip file`, 'check compression')
      return 'gzip'
    case 'zip':
      if (!isZip) throw unreadable(`${name} is no zip file`, 'check compression')
      return 'zip'
    case 'auto': {
      const other = foreign.find(({ magic, at = 0 }) => begins(head.subarray(at), magic))
      if (other) throw unreadable(`${name} ${other.what}`, other.help)
      return isGzip ? 'gzip' : isZip ? 'zip' : 'plain'
    }
    default:
      return compression satisfies never
  }
}

function begins(head: Buffer, mark: string): boolean {
  return head.toString('latin1', 0, mark.length) === mark
}

function counting(chunks: AsyncIterable<Buffer>): { readonly bytes: number; readonly chunks: AsyncGenerator<Buffer> } {
  const count = { bytes: 0, chunks: counted() }
  async function* counted() {
    for await (const chunk of chunks) {
      count.bytes += chunk.length
      yield chunk
    }
  }
  return count
}

/** The same bytes, refused as soon as they are more than configured or far more than what they were packed in. */
async function* withinLimits(
  chunks: AsyncIterable<Buffer>,
  { name, unpackedBytes, packedBytes, signal }: Limits,
): AsyncGenerator<Buffer> {
  let totalBytes = 0
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    totalBytes += chunk.length
    if (totalBytes > unpackedBytes)
      throw unreadable(`${name} unpacks to more than ${unpackedBytes} bytes`, 'raise unpackedBytes if that is right')
    if (totalBytes > ratioFromBytes && totalBytes > ratioLimit * packedBytes()) {
      const what = `${name} unpacks to more than ${ratioLimit} times its size`
      throw unreadable(what, 'no export does; have it sent without compression if it is one after all')
    }
    yield chunk
  }
}
