import type { RawRecord, RecordRange } from '../connector.ts'
import type { RecordFormat } from './records.ts'
import { indexIn } from './text-window.ts'

const carriageReturn = 13
const lineFeed = 10
const recordLimitBytes = 1024 * 1024
const nothing: Buffer = Buffer.alloc(0)
const nothingLooked = -1

/** The characters of a dialect whose records can be told apart byte by byte. `quote`: -1 for none. */
type Dialect = { readonly delimiter: number; readonly quote: number }

/** Where in a record a byte stands. */
const inside = { start: 0, plain: 1, quoted: 2, quoteSeen: 3, returnSeen: 4 } as const
type Inside = (typeof inside)[keyof typeof inside]

/** In place of the end of a record: the text can be taken in more than one way. */
const uncertain = -1

/** The dialect of a format; null where records cannot be told apart for certain. */
export function scannedDialect({ delimiter, quote, escape: behind }: RecordFormat): Dialect | null {
  const separator = asciiOf(delimiter === 'tab' ? '\t' : delimiter)
  if (quote === 'none') return separator === null ? null : { delimiter: separator, quote: -1 }
  const mark = asciiOf(quote)
  if (separator === null || mark === null || (behind !== 'doubled' && behind !== quote)) return null
  return { delimiter: separator, quote: mark }
}

/**
 * Takes a text in UTF-8 apart into records without reading their cells. It claims only what every reader of CSV takes in one way: line
 * ends of one kind, and quotes that enclose a whole cell.
 */
export class RecordScanner {
  readonly #delimiter: number
  readonly #quote: number
  /** The beginning of a record that the next chunk goes on with. */
  #held: Buffer = nothing
  #text: Buffer = nothing
  #inside: Inside = inside.start
  #line: number
  #linesWithin = 0
  /** A cell goes on with CR, which has to be one line end with the LF behind it. */
  #returnWithin = false
  /** 1 where lines end with LF, 2 where they end with CRLF; 0 before the first line end. */
  #lineEndBytes = 0
  /** The next quote and the next CR of the text, from where it was last looked for on; its length for none. */
  #nextQuote = 0
  #nextReturn = 0

  constructor({ delimiter, quote }: Dialect, firstLine: number) {
    this.#delimiter = delimiter
    this.#quote = quote
    this.#line = firstLine
  }

  /** The text from the first record on that the latest chunk completed, or could not. */
  get text(): Buffer {
    return this.#text
  }

  /**
   * Tells each record that the chunk completes, but for those that are passed over: `passOver` is asked wherever one begins. False: the
   * text can be taken in more than one way, and nothing of it may be told apart.
   */
  scan(
    chunk: Buffer,
    tell: (record: RawRecord) => void,
    passOver: (text: Buffer, start: number, line: number) => RecordRange | null = () => null,
  ): boolean {
    const text = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    this.#text = text
    this.#nextQuote = this.#quote < 0 ? text.length : nothingLooked
    this.#nextReturn = nothingLooked
    let start = 0
    let at = this.#held.length
    while (at < text.length) {
      // Also where a record began in the chunk before, which was not enough then to tell.
      const stretch = at === start || start === 0 ? passOver(text, start, this.#line) : null
      if (stretch !== null) {
        this.#inside = inside.start
        this.#linesWithin = 0
        this.#returnWithin = false
        start += stretch.bytes
        if (!this.#endsAsOthers(text, start - 1)) return false
        this.#line += stretch.records
        at = start
        continue
      }
      const end = this.#endOfRecord(text, at)
      if (end === uncertain) return false
      if (end === text.length) break
      if (end - start > recordLimitBytes || !this.#endsAsOthers(text, end)) return false
      const lines = this.#linesWithin + 1
      tell({ text, start, end: end + 1 - this.#lineEndBytes, next: end + 1, line: this.#line, lines })
      this.#line += lines
      this.#linesWithin = 0
      start = end + 1
      at = start
    }
    this.#held = start === text.length ? nothing : text.subarray(start)
    return this.#held.length <= recordLimitBytes
  }

  /** Whether the line that ends with this LF ends as all before it. */
  #endsAsOthers(text: Buffer, feed: number): boolean {
    const bytes = text[feed - 1] === carriageReturn ? 2 : 1
    if (this.#lineEndBytes === 0) this.#lineEndBytes = bytes
    return this.#lineEndBytes === bytes
  }

  /** The LF that ends the record which goes on from here; the length of the text if it is not there yet. */
  #endOfRecord(text: Buffer, from: number): number {
    if (this.#inside === inside.start || this.#inside === inside.plain) {
      const feed = text.indexOf(lineFeed, from)
      if (feed >= 0 && this.#isPlain(text, from, feed)) {
        this.#inside = inside.start
        return feed
      }
    }
    return this.#endByBytes(text, from)
  }

  /** Whether no quote stands before this LF, and no CR but the one that belongs to it. */
  #isPlain(text: Buffer, from: number, feed: number): boolean {
    if (this.#nextQuote < from) this.#nextQuote = indexIn(text, this.#quote, from)
    if (this.#nextReturn < from) this.#nextReturn = indexIn(text, carriageReturn, from)
    return this.#nextQuote > feed && this.#nextReturn >= feed - 1
  }

  #endByBytes(text: Buffer, from: number): number {
    const delimiter = this.#delimiter
    const quote = this.#quote
    let state = this.#inside
    for (let at = from; at < text.length; at += 1) {
      const byte = text[at]
      if (state === inside.quoted) {
        if (this.#returnWithin && byte !== lineFeed) return uncertain
        this.#returnWithin = byte === carriageReturn
        if (byte === quote) state = inside.quoteSeen
        else if (byte === lineFeed) this.#linesWithin += 1
      } else if (byte === lineFeed) {
        this.#inside = inside.start
        return at
      } else if (state === inside.returnSeen) {
        return uncertain
      } else if (byte === delimiter) {
        state = inside.start
      } else if (byte === carriageReturn) {
        state = inside.returnSeen
      } else if (byte === quote) {
        if (state === inside.plain) return uncertain
        state = inside.quoted
      } else if (state === inside.quoteSeen) {
        return uncertain
      } else {
        state = inside.plain
      }
    }
    this.#inside = state
    return text.length
  }

  /** What is left behind the last line end; null where it cannot be told apart. Its line is the last one. */
  end(): { readonly text: Buffer; readonly line: number } | null {
    this.#text = this.#held
    if (this.#inside === inside.quoted || this.#inside === inside.returnSeen) return null
    return { text: this.#held, line: this.#line }
  }
}

function asciiOf(character: string): number | null {
  const code = character.charCodeAt(0)
  return character.length === 1 && code < 0x80 ? code : null
}
