import type { RawRecord } from '../../../connectors/connector.ts'
import { digestBytes, type UnchangedRange } from './export-index.ts'
import { Bytes, Numbers } from './growing.ts'
import type { DigestOf } from './record-digest.ts'

type RangeSize = { readonly slot: number; readonly records: number; readonly bytes: number }

/** One of how many records ends a range. Its digest decides which, so a changed record moves only the ends beside it. */
const recordsPerEnd = 8
/** Maximum number of records of a range; one byte stores it. */
const maxRecords = 64

/** Makes ranges of consecutive records, so that the next reading can recognise them together. Records are numbered by slot, in their order. */
export class RangeMaker {
  readonly #digestOf: DigestOf
  readonly #firsts = new Numbers()
  readonly #counts = new Numbers()
  readonly #bytes = new Numbers()
  readonly #digests = new Bytes()
  /** The consecutive records so far that are in no range yet. */
  #open: { readonly text: Buffer; readonly slot: number; readonly start: number; end: number; records: number } | null =
    null

  constructor(digestOf: DigestOf) {
    this.#digestOf = digestOf
  }

  /** Adds the next record, which has this digest. */
  add({ text, start, next, lines }: RawRecord, slot: number, digest: string): void {
    const open = this.#open
    if (open !== null && (open.text !== text || open.end !== start || lines > 1)) this.close()
    if (lines > 1) return
    const own = this.#open ?? { text, slot, start, end: next, records: 0 }
    own.end = next
    own.records += 1
    this.#open = own
    if (digest.charCodeAt(digestBytes - 1) % recordsPerEnd === 0 || own.records === maxRecords) this.close()
  }

  /** Adds a range of the last index unchanged. */
  pass({ records, bytes, digest }: UnchangedRange, slot: number): void {
    this.close()
    this.#add({ slot, records, bytes })
    this.#digests.add(digest)
  }

  /** Ends the current range. A single record is known by its own digest and needs no range. */
  close(): void {
    if (this.#open === null) return
    const { text, slot, start, end, records } = this.#open
    this.#open = null
    if (records === 1) return
    this.#add({ slot, records, bytes: end - start })
    this.#digests.addText(this.#digestOf(text, start, end).slice(0, digestBytes), 'latin1')
  }

  /** The ranges in their order. `first` is the slot of their first record. */
  *ranges(): Generator<UnchangedRange> {
    this.close()
    const digests = this.#digests.all
    for (let at = 0; at < this.#firsts.length; at += 1) {
      const digest = digests.subarray(at * digestBytes, (at + 1) * digestBytes)
      yield { first: this.#firsts.get(at), records: this.#counts.get(at), bytes: this.#bytes.get(at), digest }
    }
  }

  #add({ slot, records, bytes }: RangeSize): void {
    this.#firsts.push(slot)
    this.#counts.push(records)
    this.#bytes.push(bytes)
  }
}
