import { withOptionalPackage } from '../../../system/optional-package.ts'
import type { ConnectorContext } from '../../connector.ts'
import { joinChunks, prependChunk, splitChunks } from '../chunks.ts'
import { type ExportFile, readBytes } from '../export-file.ts'
import { unreadable } from '../failures.ts'
import type { ExportFormat } from '../format.ts'
import { gunzipChunks } from './gzip.ts'

const maxPieceBytes = 128 * 1024
const headBytes = 32

/** Exports compress to about a tenth. A file that compresses to less than a two-hundredth was made to fill a disk. */
const maxRatio = 200
const minBytesForRatio = 10 * 1024 * 1024

const gzipMagic = '\x1f\x8b'
// The beginnings of a zip with entries, without entries, and in several parts.
const zipMagics = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08']

type Compression = 'plain' | 'gzip' | 'zip'

type DecodeFormat = Pick<ExportFormat, 'format' | 'compression' | 'decrypt' | 'unpackedBytes'>

type DecodeOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

type SizeLimits = {
  readonly name: string
  readonly unpackedBytes: number
  /** The number of compressed bytes that were read so far. */
  readonly compressedBytes: () => number
  readonly signal: AbortSignal
}

type OtherFormat = { readonly magic: string; readonly at?: number; readonly problem: string; readonly help: string }

/** Formats that are not supported: the first bytes of such a file, and advice. */
const otherFormats: readonly OtherFormat[] = [
  { magic: '-----BEGIN PGP MESSAGE', problem: 'is encrypted with OpenPGP', help: 'configure decrypt' },
  { magic: '1AY&SY', at: 4, problem: 'is compressed with bzip2', help: 'have it compressed with gzip or zip' },
  { magic: '\xfd7zXZ\0', problem: 'is compressed with xz', help: 'have it compressed with gzip or zip' },
  { magic: '\x28\xb5\x2f\xfd', problem: 'is compressed with zstd', help: 'have it compressed with gzip or zip' },
  { magic: '7z\xbc\xaf\x27\x1c', problem: 'is a 7-Zip archive', help: 'have it compressed with gzip or zip' },
  { magic: 'Rar!\x1a\x07', problem: 'is a RAR archive', help: 'have it compressed with gzip or zip' },
  {
    magic: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
    problem: 'is an Excel workbook of the old kind, or one with a password',
    help: 'have it saved as CSV or .xlsx',
  },
  { magic: '%PDF-', problem: 'is a PDF', help: 'have it exported as CSV' },
]

const loadOpenPgp = () =>
  withOptionalPackage(() => import('./openpgp.ts'), { name: 'openpgp', use: 'an encrypted export' })

/** Decrypts and decompresses a file. The text keeps its encoding. Ends normally only if the whole file was read and is intact. */
export async function* decodeFile(
  file: ExportFile,
  format: DecodeFormat,
  { signal, secret }: DecodeOptions,
): AsyncGenerator<Buffer> {
  const { name } = file
  const { decrypt, unpackedBytes } = format
  const input = countBytes(readBytes(file, signal))
  const limits = { name, unpackedBytes, compressedBytes: () => input.bytes, signal }
  const decrypted = decrypt && (await loadOpenPgp()).decryptChunks(input.chunks, { name, decrypt, secret, signal })
  const bytes = joinChunks(
    decrypted ? limitSize(splitChunks(decrypted, maxPieceBytes), limits) : input.chunks,
    headBytes,
  )
  // The generator was started with next(), so a loop does not end it.
  try {
    const first = await bytes.next()
    if (first.done) return
    const whole = prependChunk(first.value, bytes)
    const compression = detectCompression(first.value, name, format)
    switch (compression) {
      case 'plain':
        yield* whole
        return
      case 'gzip':
        yield* limitSize(gunzipChunks(whole, name), limits)
        return
      case 'zip': {
        const { unzipChunks, unzipFile } = await import('./zip.ts')
        const help =
          format.format === 'xlsx' ? 'take out compression: zip' : 'write format: xlsx, or have it saved as CSV'
        if (decrypt) yield* limitSize(unzipChunks(whole, name, help), limits)
        else yield* limitSize(unzipFile(file, signal, help), { ...limits, compressedBytes: () => file.bytes })
        return
      }
      default:
        return compression satisfies never
    }
  } finally {
    await bytes.return(undefined)
  }
}

function detectCompression(head: Buffer, name: string, { compression, format }: DecodeFormat): Compression {
  const isGzip = startsWith(head, gzipMagic)
  const isZipFile = isZip(head)
  switch (compression) {
    case 'none':
      return 'plain'
    case 'gzip':
      if (!isGzip) throw unreadable(`${name} is no gzip file`, 'check compression')
      return 'gzip'
    case 'zip':
      if (!isZipFile) throw unreadable(`${name} is no zip file`, 'check compression')
      return 'zip'
    case 'auto': {
      // A workbook is a zip itself, and who reads it knows what else the file may be.
      if (format === 'xlsx') return isGzip ? 'gzip' : 'plain'
      const other = findOtherFormat(head)
      if (other) throw unreadable(`${name} ${other.problem}`, other.help)
      return isGzip ? 'gzip' : isZipFile ? 'zip' : 'plain'
    }
    default:
      return compression satisfies never
  }
}

/** What a file is that is not read, by its first bytes; undefined if it may be read. */
export function findOtherFormat(head: Buffer): Pick<OtherFormat, 'problem' | 'help'> | undefined {
  return otherFormats.find(({ magic, at = 0 }) => startsWith(head.subarray(at), magic))
}

/** Whether bytes begin as a zip does. A text may begin with PK too. */
export function isZip(head: Buffer): boolean {
  return zipMagics.some((magic) => startsWith(head, magic))
}

function startsWith(head: Buffer, magic: string): boolean {
  return head.toString('latin1', 0, magic.length) === magic
}

type CountedChunks = { readonly bytes: number; readonly chunks: AsyncGenerator<Buffer> }

function countBytes(chunks: AsyncIterable<Buffer>): CountedChunks {
  const result = { bytes: 0, chunks: passThrough() }
  async function* passThrough() {
    for await (const chunk of chunks) {
      result.bytes += chunk.length
      yield chunk
    }
  }
  return result
}

/** Throws if a content is larger than configured, or than the compressed bytes by far. */
export function checkUnpackedSize(
  totalBytes: number,
  { name, unpackedBytes, compressedBytes }: Omit<SizeLimits, 'signal'>,
): void {
  if (totalBytes > unpackedBytes)
    throw unreadable(`${name} unpacks to more than ${unpackedBytes} bytes`, 'raise unpackedBytes if that is right')
  if (totalBytes > minBytesForRatio && totalBytes > maxRatio * compressedBytes()) {
    const problem = `${name} unpacks to more than ${maxRatio} times its size`
    throw unreadable(problem, 'exports never do; if it is one, have it sent without compression')
  }
}

/** Passes the bytes through. Throws as soon as they exceed the configured size, or the compressed size by far. */
export async function* limitSize(chunks: AsyncIterable<Buffer>, limits: SizeLimits): AsyncGenerator<Buffer> {
  let totalBytes = 0
  for await (const chunk of chunks) {
    limits.signal.throwIfAborted()
    totalBytes += chunk.length
    checkUnpackedSize(totalBytes, limits)
    yield chunk
  }
}
