const carriageReturn = 13
const lineFeed = 10

/** Holds the text that belongs to no record yet, and counts its line ends (LF, CRLF, CR). Positions only move forward. */
export class TextWindow {
  #chunks: Buffer[] = []
  /** The position of the first chunk. */
  #startByte = 0
  /** The next line ends in the first chunk that are not counted yet; the length of the chunk if there are none. */
  #nextFeed = 0
  #nextReturn = 0
  #lineEnds = 0

  push(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    if (this.#chunks.length === 1) this.#enter(chunk)
  }

  /** How many line ends begin before `byte`. */
  lineEndsBefore(byte: number): number {
    for (;;) {
      const chunk = this.#chunks[0]
      if (!chunk) return this.#lineEnds
      const until = byte - this.#startByte
      this.#count(chunk, Math.min(until, chunk.length))
      if (until < chunk.length) return this.#lineEnds
      this.#leave(chunk)
    }
  }

  /** The bytes between two positions, of which neither was passed by the count. */
  slice(fromByte: number, untilByte: number): Buffer {
    const from = fromByte - this.#startByte
    const until = untilByte - this.#startByte
    const [first] = this.#chunks
    const whole = first && until <= first.length ? first : Buffer.concat(this.#chunks)
    return whole.subarray(from, until)
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

  #leave(chunk: Buffer): void {
    this.#startByte += chunk.length
    this.#chunks.shift()
    const next = this.#chunks[0]
    if (next) this.#enter(next)
  }

  #enter(chunk: Buffer): void {
    this.#nextFeed = indexIn(chunk, lineFeed, 0)
    this.#nextReturn = indexIn(chunk, carriageReturn, 0)
  }
}

/** Where the byte stands next; the length of the chunk if it does not. */
export function indexIn(chunk: Buffer, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from)
  return index < 0 ? chunk.length : index
}
