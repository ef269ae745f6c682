import { isAscii, isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import { z } from 'zod'
import { joinChunks } from './chunks.ts'
import { unreadable } from './failures.ts'

const byteOrderMarkBytes = 4
/** A longer line is refused later, so it may be cut here. */
const maxLineBytes = 1024 * 1024
const noBytes: Buffer = Buffer.alloc(0)
/** A byte that UTF-8 never contains. It replaces bytes of the source that its encoding does not know. */
const undecodable = Buffer.of(0xff)

/** Encodings that are not for text, or whose decoders accept a file that ends within a character. */
const unsupportedEncodings = /^(base64|hex|binary|cesu8|utf7|utf7imap|utf32|utf32le|utf32be|ucs4|ucs4le|ucs4be)$/

const byteOrderMarks = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8', family: /^utf8$/ },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le', family: /^(utf16|utf16le|ucs2)$/ },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be', family: /^(utf16|utf16be)$/ },
]

/** Advice for bytes that are not in the configured encoding. */
export const encodingHelp =
  'set encoding to the one of the file, such as windows-1252, windows-1250, windows-1251, windows-1257 or shift_jis'

/** The name of a text encoding that iconv-lite knows. */
export const Encoding = z
  .string()
  .refine((name) => iconv.encodingExists(name) && !unsupportedEncodings.test(normalizeName(name)), {
    error: 'unknown encoding: write a name such as utf-8, utf-16le or windows-1252',
  })

type EncodedText = { readonly name: string; readonly encoding: string }

type DecodeInput = EncodedText & { readonly warn?: (text: string) => void }

/**
 * Converts text to UTF-8 without a byte order mark. Bytes that the encoding does not know stay invalid UTF-8, so that they differ from
 * a U+FFFD in the file: UTF-8 passes through, in other encodings each becomes the byte 0xFF.
 */
export async function* toUtf8(
  chunks: AsyncIterable<Buffer>,
  { name, encoding, warn }: DecodeInput,
): AsyncGenerator<Buffer> {
  const decoder = isUtf8Name(encoding) ? undefined : new Decoder(encoding)
  let isFirst = true
  for await (const chunk of joinChunks(chunks, byteOrderMarkBytes)) {
    const bytes = isFirst ? stripByteOrderMark(chunk, { name, encoding }) : chunk
    isFirst = false
    yield decoder ? decoder.write(bytes) : bytes
  }
  if (!decoder) return
  yield decoder.end()
  if (decoder.looksLikeUtf8)
    warn?.(
      `${name}: its text reads well as utf-8, but the configuration says encoding: ${encoding}; names may come out wrong`,
    )
}

/** Removes the byte order mark of UTF-8; the decoders of other encodings remove theirs. Refuses a mark that contradicts the configuration. */
function stripByteOrderMark(chunk: Buffer, { name, encoding }: EncodedText): Buffer {
  const mark = byteOrderMarks.find(({ bytes }) => bytes.every((byte, index) => chunk[index] === byte))
  if (!mark && normalizeName(encoding) === 'utf16')
    throw unreadable(`${name} begins without a byte order mark`, 'write encoding: utf-16le or utf-16be')
  if (!mark) return chunk
  if (!mark.family.test(normalizeName(encoding))) {
    throw unreadable(
      `${name} begins with the byte order mark of ${mark.encoding}, but the configuration says encoding: ${encoding}`,
      `write encoding: ${mark.encoding}`,
    )
  }
  return isUtf8Name(encoding) ? chunk.subarray(mark.bytes.length) : chunk
}

/** Whether the name of an encoding means UTF-8. */
export function isUtf8Name(encoding: string): boolean {
  return normalizeName(encoding) === 'utf8'
}

function normalizeName(encoding: string): string {
  return encoding.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** Converts chunks of an encoding other than UTF-8. */
class Decoder {
  readonly #decoder: ReturnType<typeof iconv.getDecoder>
  readonly #isUtf16: boolean
  readonly #utf8 = new Utf8Detector()
  #bytes = 0
  /** The beginning of a line that the next chunk completes. */
  #line = noBytes
  /** The first half of a surrogate pair that the next chunk completes. */
  #half = ''

  constructor(encoding: string) {
    this.#decoder = iconv.getDecoder(encoding)
    this.#isUtf16 = /^(utf16|ucs2)/.test(normalizeName(encoding))
  }

  /** True if the bytes are valid UTF-8 and hold characters beyond ASCII, which is hardly a coincidence. */
  get looksLikeUtf8(): boolean {
    return !this.#isUtf16 && this.#utf8.isUtf8BeyondAscii
  }

  write(chunk: Buffer): Buffer {
    this.#bytes += chunk.length
    if (!this.#isUtf16) this.#utf8.write(chunk)
    const text = this.#half + this.#decoder.write(this.#isUtf16 ? chunk : this.#wholeLines(chunk))
    this.#half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? ''
    return this.#encoded(text.slice(0, text.length - this.#half.length))
  }

  end(): Buffer {
    const text = this.#encoded(this.#half + this.#decoder.write(this.#line) + (this.#decoder.end() ?? ''))
    // The decoders of UTF-16 drop a last byte that is half a character.
    return this.#isUtf16 && this.#bytes % 2 === 1 ? Buffer.concat([text, undecodable]) : text
  }

  // The multi-byte decoders of iconv-lite can lose a character that is split between two chunks. No such character contains a line end.
  #wholeLines(chunk: Buffer): Buffer {
    const bytes = this.#line.length > 0 ? Buffer.concat([this.#line, chunk]) : chunk
    const end = Math.max(bytes.lastIndexOf('\n'), bytes.lastIndexOf('\r')) + 1
    const until = end === 0 && bytes.length > maxLineBytes ? bytes.length : end
    this.#line = bytes.subarray(until)
    return bytes.subarray(0, until)
  }

  #encoded(text: string): Buffer {
    if (this.#isUtf16) return text.isWellFormed() ? Buffer.from(text) : markUndecodable(text, /\p{Surrogate}/u)
    return text.includes('\uFFFD') || !text.isWellFormed()
      ? markUndecodable(text, /\uFFFD|\p{Surrogate}/u)
      : Buffer.from(text)
  }
}

function markUndecodable(text: string, damage: RegExp): Buffer {
  const pieces = text.split(damage).flatMap((piece) => [undecodable, Buffer.from(piece)])
  return pieces.length > 0 ? Buffer.concat(pieces.slice(1)) : noBytes
}

/** Detects whether bytes in another encoding are valid UTF-8. */
class Utf8Detector {
  #isPossible = true
  #isBeyondAscii = false
  #incomplete: Buffer = noBytes

  get isUtf8BeyondAscii(): boolean {
    return this.#isPossible && this.#isBeyondAscii && this.#incomplete.length === 0
  }

  write(chunk: Buffer): void {
    if (!this.#isPossible) return
    const bytes = this.#incomplete.length > 0 ? Buffer.concat([this.#incomplete, chunk]) : chunk
    const whole = bytes.length - incompleteBytes(bytes)
    this.#isPossible = isUtf8(bytes.subarray(0, whole))
    this.#incomplete = bytes.subarray(whole)
    this.#isBeyondAscii ||= !isAscii(bytes)
  }
}

/** How many bytes at the end may be the beginning of a character. */
function incompleteBytes(bytes: Buffer): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count += 1) {
    const byte = bytes[bytes.length - count] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return count
  }
  return 0
}
