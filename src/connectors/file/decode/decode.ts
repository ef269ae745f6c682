import { withOptionalPackage } from '../../../system/optional-package.ts'
import type { ConnectorContext } from '../../connector.ts'
import { joinChunks, prepend, splitChunks } from '../chunks.ts'
import { type ExportFile, readBytes } from '../export-file.ts'
import { unreadable } from '../failures.ts'
import type { ExportFormat } from '../format.ts'
import { gunzipChunks } from './gzip.ts'

const pieceBytes = 128 * 1024
const headBytes = 32

/** Exports compress to about a tenth of their size. A file that compresses to less than a two-hundredth was made to fill a disk. */
const ratioLimit = 200
const ratioFromBytes = 10 * 1024 * 1024

const gzipMagic = '\x1f\x8b'
// The beginnings of a zip with entries, without entries, and in several parts.
const zipMagics = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08']

type Kind = 'plain' | 'gzip' | 'zip'

type DecodeFormat = Pick<ExportFormat, 'compression' | 'decrypt' | 'unpackedBytes'>

type DecodeOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

type Limits = {
  readonly name: string
  readonly unpackedBytes: number
  /** How many compressed bytes were read so far. */
  readonly compressedBytes: () => number
  readonly signal: AbortSignal
}

type OtherFormat = { readonly magic: string; readonly at?: number; readonly what: string; readonly help: string }

/** Formats that are not read: how such a file begins, and what helps. */
const otherFormats: readonly OtherFormat[] = [
  { magic: '-----BEGIN PGP MESSAGE', what: 'is encrypted with OpenPGP', help: 'configure decrypt' },
  { magic: '1AY&SY', at: 4, what: 'is compressed with bzip2', help: 'have it compressed with gzip or zip' },
  { magic: '\xfd7zXZ\0', what: 'is compressed with xz', help: 'have it compressed with gzip or zip' },
  { magic: '\x28\xb5\x2f\xfd', what: 'is compressed with zstd', help: 'have it compressed with gzip or zip' },
  { magic: '7z\xbc\xaf\x27\x1c', what: 'is a 7-Zip archive', help: 'have it compressed with gzip or zip' },
  { magic: 'Rar!\x1a\x07', what: 'is a RAR archive', help: 'have it compressed with gzip or zip' },
  { magic: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', what: 'is an Excel workbook', help: 'have it saved as CSV' },
  { magic: '%PDF-', what: 'is a PDF', help: 'have it exported as CSV' },
]

const loadOpenPgp = () =>
  withOptionalPackage(() => import('./openpgp.ts'), { name: 'openpgp', use: 'an encrypted export' })

/** Decrypts and decompresses a file. Ends normally only if all of it was read and proved intact. The text is still in its own encoding. */
export async function* decodeFile(
  file: ExportFile,
  format: DecodeFormat,
  { signal, secret }: DecodeOptions,
): AsyncGenerator<Buffer> {
  const { name } = file
  const { decrypt, unpackedBytes } = format
  const counted = counting(readBytes(file, signal))
  const limits = { name, unpackedBytes, compressedBytes: () => counted.bytes, signal }
  const decrypted = decrypt && (await loadOpenPgp()).decryptChunks(counted.chunks, { name, decrypt, secret, signal })
  const bytes = joinChunks(
    decrypted ? limitSize(splitChunks(decrypted, pieceBytes), limits) : counted.chunks,
    headBytes,
  )
  // The generator is started by hand, so it must also be ended by hand.
  try {
    const first = await bytes.next()
    if (first.done) return
    const whole = prepend(first.value, bytes)
    const kind = kindOf(first.value, { name, compression: format.compression })
    switch (kind) {
      case 'plain':
        yield* whole
        return
      case 'gzip':
        yield* limitSize(gunzipChunks(whole, name), limits)
        return
      case 'zip': {
        const { unzipChunks, unzipFile } = await import('./zip.ts')
        yield* limitSize(decrypt ? unzipChunks(whole, name) : unzipFile(file, signal), {
          ...limits,
          ...(decrypt ? {} : { compressedBytes: () => file.bytes }),
        })
        return
      }
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
  const isGzip = begins(head, gzipMagic)
  const isZip = zipMagics.some((magic) => begins(head, magic))
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
      const other = otherFormats.find(({ magic, at = 0 }) => begins(head.subarray(at), magic))
      if (other) throw unreadable(`${name} ${other.what}`, other.help)
      return isGzip ? 'gzip' : isZip ? 'zip' : 'plain'
    }
    default:
      return compression satisfies never
  }
}

function begins(head: Buffer, magic: string): boolean {
  return head.toString('latin1', 0, magic.length) === magic
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

/** Passes the bytes through, and throws as soon as they are more than configured, or far more than the compressed file. */
async function* limitSize(
  chunks: AsyncIterable<Buffer>,
  { name, unpackedBytes, compressedBytes, signal }: Limits,
): AsyncGenerator<Buffer> {
  let totalBytes = 0
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    totalBytes += chunk.length
    if (totalBytes > unpackedBytes)
      throw unreadable(`${name} unpacks to more than ${unpackedBytes} bytes`, 'raise unpackedBytes if that is right')
    if (totalBytes > ratioFromBytes && totalBytes > ratioLimit * compressedBytes()) {
      const what = `${name} unpacks to more than ${ratioLimit} times its size`
      throw unreadable(what, 'no export does; have it sent without compression if it is one after all')
    }
    yield chunk
  }
}
