import type { RecordFormat } from './records.ts'

const carriageReturn = 13
const lineFeed = 10
const recordLimitBytes = 1024 * 1024
const nothing: Buffer = Buffer.alloc(0)

/** The characters of a dialect whose records can be told apart byte by byte. `quote`: -1 for none. */
type Dialect = { readonly delimiter: number; readonly quote: number }

/**
 * A record of the text without its line end lies between `start` and `end`, the next one begins at `next`. `line` is where it begins,
 * `lines` is how many line ends it has, its own included.
 */
export type RawRecord = {
  readonly text: Buffer
  readonly start: number
  readonly end: number
  readonly next: number
  readonly line: number
  readonly lines: number
}

/** Where in a record a byte stands. */
const inside = { start: 0, plain: 1, quoted: 2, quoteSeen: 3, returnSeen: 4 } as const
type Inside = (typeof inside)[keyof typeof inside]

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
  readonly #dialect: Dialect
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

  constructor(dialect: Dialect, firstLine: number) {
    this.#dialect = dialect
    this.#line = firstLine
  }

  /** The text from the first record on that the latest chunk completed, or could not. */
  get text(): Buffer {
    return this.#text
  }

  /** Tells each record that the chunk completes. False: the text can be taken in more than one way, and nothing of it may be told apart. */
  scan(chunk: Buffer, tell: (record: RawRecord) => void): boolean {
    const { delimiter, quote } = this.#dialect
    const text = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    this.#text = text
    if (this.#isOrdinary(chunk)) return this.#scanLines(text, tell)
    let at = this.#held.length
    let start = 0
    let state = this.#inside
    for (; at < text.length; at += 1) {
      const byte = text[at]
      if (state === inside.quoted) {
        if (this.#returnWithin && byte !== lineFeed) return false
        this.#returnWithin = byte === carriageReturn
        if (byte === quote) state = inside.quoteSeen
        else if (byte === lineFeed) this.#linesWithin += 1
        continue
      }
      if (byte === lineFeed) {
        const endBytes = state === inside.returnSeen ? 2 : 1
        if (this.#lineEndBytes === 0) this.#lineEndBytes = endBytes
        else if (this.#lineEndBytes !== endBytes) return false
        if (at - start > recordLimitBytes) return false
        const lines = this.#linesWithin + 1
        tell({ text, start, end: at + 1 - endBytes, next: at + 1, line: this.#line, lines })
        this.#line += lines
        this.#linesWithin = 0
        start = at + 1
        state = inside.start
      } else if (state === inside.returnSeen) {
        return false
      } else if (byte === delimiter) {
        state = inside.start
      } else if (byte === carriageReturn) {
        state = inside.returnSeen
      } else if (byte === quote) {
        if (state === inside.plain) return false
        state = inside.quoted
      } else if (state === inside.quoteSeen) {
        return false
      } else {
        state = inside.plain
      }
    }
    this.#inside = state
    this.#held = start === text.length ? nothing : text.subarray(start)
    return this.#held.length <= recordLimitBytes
  }

  /** Whether each line of a chunk is a record: it holds no quote and no CR, and goes on with no cell that may hold one. */
  #isOrdinary(chunk: Buffer): boolean {
    if (this.#inside !== inside.start && this.#inside !== inside.plain) return false
    const { quote } = this.#dialect
    return !chunk.includes(carriageReturn) && (quote < 0 || !chunk.includes(quote))
  }

  /** Does what `scan` does, several times as fast. */
  #scanLines(text: Buffer, tell: (record: RawRecord) => void): boolean {
    let start = 0
    for (let end = text.indexOf(lineFeed, this.#held.length); end >= 0; end = text.indexOf(lineFeed, start)) {
      if (this.#lineEndBytes === 2 || end - start > recordLimitBytes) return false
      this.#lineEndBytes = 1
      const lines = this.#linesWithin + 1
      tell({ text, start, end, next: end + 1, line: this.#line, lines })
      this.#line += lines
      this.#linesWithin = 0
      start = end + 1
    }
    this.#held = start === text.length ? nothing : text.subarray(start)
    this.#inside = start === text.length || text.at(-1) === this.#dialect.delimiter ? inside.start : inside.plain
    return this.#held.length <= recordLimitBytes
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
