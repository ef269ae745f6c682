import type { RawRecord, RecordFilter } from '../connector.ts'
import type { RecordFormat } from './records.ts'
import { indexIn } from './text-window.ts'

const carriageReturn = 13
const lineFeed = 10
const maxRecordBytes = 1024 * 1024
const noBytes: Buffer = Buffer.alloc(0)
const notSearched = -1

/** The bytes of a dialect whose records can be separated byte by byte. `quote`: -1 for none. */
type Dialect = { readonly delimiter: number; readonly quote: number }

/** The state of the scanner within a record. */
const states = { start: 0, plain: 1, quoted: 2, afterQuote: 3, afterReturn: 4 } as const
type State = (typeof states)[keyof typeof states]

/** Instead of the end of a record: readers of CSV may disagree about it. */
const ambiguous = -1

/** The dialect of a format; null if records cannot be separated reliably. */
export function scannableDialect({ delimiter, quote, escape: escapeSetting }: RecordFormat): Dialect | null {
  const delimiterByte = asciiOf(delimiter === 'tab' ? '\t' : delimiter)
  if (quote === 'none') return delimiterByte === null ? null : { delimiter: delimiterByte, quote: -1 }
  const quoteByte = asciiOf(quote)
  if (delimiterByte === null || quoteByte === null || (escapeSetting !== 'doubled' && escapeSetting !== quote))
    return null
  return { delimiter: delimiterByte, quote: quoteByte }
}

/**
 * Separates a UTF-8 text into records without parsing their cells. It accepts only what every reader of CSV understands alike: line ends
 * of one kind, and quotes that enclose a whole cell.
 */
export class RecordScanner {
  readonly #delimiter: number
  readonly #quote: number
  /** The beginning of a record that the next chunk continues. */
  #pending: Buffer = noBytes
  #text: Buffer = noBytes
  #state: State = states.start
  #line: number
  #lineEndsWithin = 0
  /** A quoted cell continues after CR, which must be followed by LF. */
  #isAfterReturnWithin = false
  /** 1 where lines end with LF, 2 where they end with CRLF; 0 before the first line end. */
  #lineEndBytes = 0
  /** The next quote and the next CR after the last search; the length of the text for none. */
  #nextQuote = 0
  #nextReturn = 0

  constructor({ delimiter, quote }: Dialect, firstLine: number) {
    this.#delimiter = delimiter
    this.#quote = quote
    this.#line = firstLine
  }

  /** The text of the latest scan, from the first record that it completed or could not complete. */
  get text(): Buffer {
    return this.#text
  }

  /**
   * Calls `onRecord` for each record that the chunk completes, except in ranges that `skipRange` returns at the beginning of a record.
   * Returns false if readers of CSV may disagree about the text, or a record is longer than 1 MiB, also after calls of `onRecord`: the caller then
   * discards the records of this chunk and parses `text` whole.
   */
  scan(
    chunk: Buffer,
    onRecord: (record: RawRecord) => void,
    skipRange: RecordFilter['skipRange'] = () => null,
  ): boolean {
    const text = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#text = text
    this.#nextQuote = this.#quote < 0 ? text.length : notSearched
    this.#nextReturn = notSearched
    let start = 0
    let at = this.#pending.length
    while (at < text.length) {
      // Also at the beginning of a record that began in the previous chunk, where the text was too short to decide.
      const range = at === start || start === 0 ? skipRange(text, start, this.#line) : null
      if (range !== null) {
        this.#state = states.start
        this.#lineEndsWithin = 0
        this.#isAfterReturnWithin = false
        start += range.bytes
        if (!this.#hasUsualLineEnd(text, start - 1)) return false
        this.#line += range.records
        at = start
        continue
      }
      const end = this.#endOfRecord(text, at)
      if (end === ambiguous) return false
      if (end === text.length) break
      if (end - start > maxRecordBytes || !this.#hasUsualLineEnd(text, end)) return false
      const lines = this.#lineEndsWithin + 1
      onRecord({ text, start, end: end + 1 - this.#lineEndBytes, next: end + 1, line: this.#line, lines })
      this.#line += lines
      this.#lineEndsWithin = 0
      start = end + 1
      at = start
    }
    this.#pending = start === text.length ? noBytes : text.subarray(start)
    return this.#pending.length <= maxRecordBytes
  }

  /** Whether the line that ends with this LF has the same line end as all before it. */
  #hasUsualLineEnd(text: Buffer, feed: number): boolean {
    const bytes = text[feed - 1] === carriageReturn ? 2 : 1
    if (this.#lineEndBytes === 0) this.#lineEndBytes = bytes
    return this.#lineEndBytes === bytes
  }

  /** The LF that ends the record; the length of the text if it is not there yet; `ambiguous`. */
  #endOfRecord(text: Buffer, from: number): number {
    if (this.#state === states.start || this.#state === states.plain) {
      const feed = text.indexOf(lineFeed, from)
      if (feed >= 0 && this.#isPlain(text, from, feed)) {
        this.#state = states.start
        return feed
      }
    }
    return this.#endByBytes(text, from)
  }

  /** Whether there is no quote before this LF, and no CR except the one of its line end. */
  #isPlain(text: Buffer, from: number, feed: number): boolean {
    if (this.#nextQuote < from) this.#nextQuote = indexIn(text, this.#quote, from)
    if (this.#nextReturn < from) this.#nextReturn = indexIn(text, carriageReturn, from)
    return this.#nextQuote > feed && this.#nextReturn >= feed - 1
  }

  #endByBytes(text: Buffer, from: number): number {
    const delimiter = this.#delimiter
    const quote = this.#quote
    let state = this.#state
    for (let at = from; at < text.length; at += 1) {
      const byte = text[at]
      if (state === states.quoted) {
        if (this.#isAfterReturnWithin && byte !== lineFeed) return ambiguous
        this.#isAfterReturnWithin = byte === carriageReturn
        if (byte === quote) state = states.afterQuote
        else if (byte === lineFeed) this.#lineEndsWithin += 1
      } else if (byte === lineFeed) {
        this.#state = states.start
        return at
      } else if (state === states.afterReturn) {
        return ambiguous
      } else if (byte === delimiter) {
        state = states.start
      } else if (byte === carriageReturn) {
        state = states.afterReturn
      } else if (byte === quote) {
        if (state === states.plain) return ambiguous
        state = states.quoted
      } else if (state === states.afterQuote) {
        return ambiguous
      } else {
        state = states.plain
      }
    }
    this.#state = state
    return text.length
  }

  /** The text after the last line end, and its line; null if it ends within a quoted cell or after CR. */
  end(): { readonly text: Buffer; readonly line: number } | null {
    this.#text = this.#pending
    if (this.#state === states.quoted || this.#state === states.afterReturn) return null
    return { text: this.#pending, line: this.#line }
  }
}

function asciiOf(character: string): number | null {
  const code = character.charCodeAt(0)
  return character.length === 1 && code < 0x80 ? code : null
}
