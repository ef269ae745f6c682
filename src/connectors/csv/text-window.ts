const carriageReturn = 13
const lineFeed = 10

/** Holds text that belongs to no record yet, and counts its line ends (LF, CRLF, CR). Positions only move forward. */
export class TextWindow {
  #chunks: Buffer[] = []
  /** The position of the first chunk. */
  #startByte = 0
  /** The next uncounted line ends in the first chunk; the length of the chunk if there are none. */
  #nextFeed = 0
  #nextReturn = 0
  #lineEnds = 0

  /** Appends a chunk. */
  push(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    if (this.#chunks.length === 1) this.#startCounting(chunk)
  }

  /** The number of line ends that begin before `byte`. */
  lineEndsBefore(byte: number): number {
    for (;;) {
      const chunk = this.#chunks[0]
      if (!chunk) return this.#lineEnds
      const until = byte - this.#startByte
      this.#count(chunk, Math.min(until, chunk.length))
      if (until < chunk.length) return this.#lineEnds
      this.#dropFirst(chunk)
    }
  }

  /** The bytes between two positions. Neither may be before a counted position. */
  slice(fromByte: number, untilByte: number): Buffer {
    const from = fromByte - this.#startByte
    const until = untilByte - this.#startByte
    const [first] = this.#chunks
    const bytes = first && until <= first.length ? first : Buffer.concat(this.#chunks)
    return bytes.subarray(from, until)
  }

  #count(chunk: Buffer, until: number): void {
    while (this.#nextFeed < until) {
      this.#lineEnds += 1
      this.#nextFeed = indexIn(chunk, lineFeed, this.#nextFeed + 1)
    }
    while (this.#nextReturn < until) {
      const after = this.#nextReturn + 1
      const next = after < chunk.length ? chunk[after] : this.#chunks[1]?.[0]
      if (next !== lineFeed) this.#lineEnds += 1
      this.#nextReturn = indexIn(chunk, carriageReturn, after)
    }
  }

  #dropFirst(chunk: Buffer): void {
    this.#startByte += chunk.length
    this.#chunks.shift()
    const next = this.#chunks[0]
    if (next) this.#startCounting(next)
  }

  #startCounting(chunk: Buffer): void {
    this.#nextFeed = indexIn(chunk, lineFeed, 0)
    this.#nextReturn = indexIn(chunk, carriageReturn, 0)
  }
}

/** The next index of a byte; the length of the chunk if there is none. */
export function indexIn(chunk: Buffer, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from)
  return index < 0 ? chunk.length : index
}
