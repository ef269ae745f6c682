/** A cell of Excel holds 32,767 characters. */
const maxCharacters = 1024 * 1024

/**
 * The text of a shared or inline string: that of its `t`, or of the `t` of each run `r`. The reading aid of Japanese names (`rPh`) is not
 * part of it. Depths count from the string itself.
 */
export class RichText {
  #text = ''
  #isInRun = false
  #isInText = false

  open(tag: string, depth: number): void {
    if (depth === 1 && tag === 'r') this.#isInRun = true
    this.#isInText = tag === 't' && (depth === 1 || (depth === 2 && this.#isInRun))
  }

  close(tag: string, depth: number): void {
    this.#isInText = false
    if (depth === 1 && tag === 'r') this.#isInRun = false
  }

  add(piece: string): void {
    if (this.#isInText && this.#text.length <= maxCharacters) this.#text += piece
  }

  /** The text so far; null if it is longer than any cell. The next string begins. */
  take(): string | null {
    const text = this.#text
    this.#text = ''
    return text.length > maxCharacters ? null : text
  }
}
