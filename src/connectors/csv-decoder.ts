import iconv from 'iconv-lite'
import { z } from 'zod'
import { unreadable } from './csv-file.ts'

const carriageReturn = 13
const lineFeed = 10
const nothing = Buffer.alloc(0)

/** An encoding that iconv-lite knows. */
export const Encoding = z.string().refine((name) => iconv.encodingExists(name), {
  error: 'unknown encoding: write a name such as utf-8, utf-16le or windows-1252',
})

/**
 * The file's text as UTF-8 without a byte order mark, with every CRLF as a single LF: so what the parser counts as lines are the lines
 * that an editor shows. Bytes that the encoding does not know become U+FFFD, or stay as they are where the file is UTF-8.
 */
export async function* decodeChunks(
  chunks: AsyncIterable<Buffer>,
  { name, encoding }: { readonly name: string; readonly encoding: string },
): AsyncGenerator<Buffer> {
  const decoder = isUtf8(encoding) ? undefined : iconv.getDecoder(encoding)
  const lineEnds = new LineEnds()
  let first = true
  for await (const chunk of chunks) {
    const bytes = first ? withoutMark(chunk, { name, encoding }) : chunk
    first = false
    yield lineEnds.write(decoder ? Buffer.from(decoder.write(bytes)) : bytes)
  }
  if (decoder) yield lineEnds.write(Buffer.from(decoder.end() ?? ''))
  yield lineEnds.end()
}

const marks = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8', family: /^utf8$/ },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le', family: /^(utf16|utf16le|utf32|utf32le|ucs2)$/ },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be', family: /^(utf16|utf16be)$/ },
]

/** Takes the UTF-8 mark away (the decoders of other encodings do so themselves) and refuses one that contradicts the configuration. */
function withoutMark(chunk: Buffer, { name, encoding }: { readonly name: string; readonly encoding: string }): Buffer {
  const mark = marks.find(({ bytes }) => bytes.every((byte, index) => chunk[index] === byte))
  if (!mark) return chunk
  if (!mark.family.test(plain(encoding))) {
    throw unreadable(
      `${name} begins with the byte order mark of ${mark.encoding}, but the configuration says encoding: ${encoding}`,
      `write encoding: ${mark.encoding}`,
    )
  }
  return isUtf8(encoding) ? chunk.subarray(mark.bytes.length) : chunk
}

function isUtf8(encoding: string): boolean {
  return plain(encoding) === 'utf8'
}

function plain(encoding: string): string {
  return encoding.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** Turns CRLF into LF, also where a chunk ends between the two. Works in place: the chunks are ours alone. */
class LineEnds {
  #held = false

  write(chunk: Buffer): Buffer {
    if (chunk.length === 0) return chunk
    const whole = this.#held ? Buffer.concat([Buffer.of(carriageReturn), chunk]) : chunk
    this.#held = whole[whole.length - 1] === carriageReturn
    return compact(this.#held ? whole.subarray(0, -1) : whole)
  }

  end(): Buffer {
    return this.#held ? Buffer.of(carriageReturn) : nothing
  }
}

function compact(bytes: Buffer): Buffer {
  let to = bytes.indexOf(carriageReturn)
  if (to < 0) return bytes
  for (let from = to; from < bytes.length; from += 1) {
    const byte = bytes[from] ?? 0
    if (byte === carriageReturn && bytes[from + 1] === lineFeed) continue
    bytes[to] = byte
    to += 1
  }
  return bytes.subarray(0, to)
}
