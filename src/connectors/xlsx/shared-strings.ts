import { unreadable } from '../file/failures.ts'
import type { Archive } from './archive.ts'
import { maxCellCharacters, RichText } from './rich-text.ts'
import { readXml } from './xml.ts'

const maxStrings = 10_000_000
const maxTextBytes = 128 * 1024 * 1024
const initialTextBytes = 64 * 1024
const initialStrings = 1024

/** The texts that cells refer to by their number. They are kept as bytes, which take a fraction of the memory of as many strings. */
export class SharedStrings {
  #bytes: Buffer = Buffer.alloc(initialTextBytes)
  /** Where each text ends. */
  #ends = new Uint32Array(initialStrings)
  #count = 0
  #end = 0

  /** Adds the next text. Returns false if all of them would take too much memory. */
  add(text: string): boolean {
    const maxBytes = this.#end + text.length * 3
    if (maxBytes > maxTextBytes || this.#count === maxStrings) return false
    if (maxBytes > this.#bytes.length) this.#bytes = grownBytes(this.#bytes, maxBytes)
    if (this.#count === this.#ends.length) this.#ends = grownEnds(this.#ends)
    this.#end += this.#bytes.write(text, this.#end)
    this.#ends[this.#count] = this.#end
    this.#count += 1
    return true
  }

  /** The text with this number, counted from 0; undefined if there is none. */
  at(index: number): string | undefined {
    if (!(index >= 0 && index < this.#count)) return undefined
    return this.#bytes.toString('utf8', index === 0 ? 0 : this.#ends[index - 1], this.#ends[index])
  }
}

/** Reads the shared strings of a workbook. Refuses more than 128 MiB of text, and a text that no cell can hold. */
export async function readSharedStrings(archive: Archive, part: string): Promise<SharedStrings> {
  const { name } = archive
  const strings = new SharedStrings()
  const text = new RichText()
  const add = () => {
    const string = text.take()
    if (string === null)
      throw unreadable(
        `${name} is a workbook with a text of more than ${maxCellCharacters} characters`,
        'no cell of Excel holds one; check what writes it',
      )
    if (strings.add(string)) return
    throw unreadable(
      `${name} is a workbook with more than ${maxTextBytes / 1024 / 1024} MiB of different texts`,
      'have it saved as CSV, or with fewer columns',
    )
  }
  const handler = {
    open: (tag: string, _attributes: object, depth: number) => text.open(tag, depth - 2),
    close(tag: string, depth: number) {
      text.close(tag, depth - 2)
      if (depth === 2 && tag === 'si') add()
    },
    text: (piece: string) => text.add(piece),
  }
  for await (const _ of readXml(archive.read(part), { name, part, handler }));
  return strings
}

function grownBytes(bytes: Buffer, needed: number): Buffer {
  const grown = Buffer.alloc(Math.max(needed, bytes.length * 2))
  bytes.copy(grown)
  return grown
}

function grownEnds(ends: Uint32Array): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(ends.length * 2)
  grown.set(ends)
  return grown
}
