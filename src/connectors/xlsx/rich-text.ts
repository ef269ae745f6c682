import { decodeEscapes } from './escapes.ts'

/** How many characters a cell of Excel holds. */
export const maxCellCharacters = 32_767
/** The same as it is stored: an escape such as `_x000D_` has seven. */
export const maxStoredCharacters = 7 * maxCellCharacters

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
    if (this.#isInText && this.#text.length <= maxStoredCharacters) this.#text += piece
  }

  /** The text so far, without escapes; null if it is longer than any cell. The next string begins. */
  take(): string | null {
    const stored = this.#text
    this.#text = ''
    const text = stored.length > maxStoredCharacters ? null : decodeEscapes(stored)
    return text !== null && text.length > maxCellCharacters ? null : text
  }
}
