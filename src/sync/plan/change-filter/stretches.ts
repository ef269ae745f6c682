import type { RawRecord } from '../../../connectors/connector.ts'
import { digestBytes, type UnchangedRange } from './export-index.ts'
import { Bytes, Numbers } from './growing.ts'
import type { DigestOf } from './record-digest.ts'

/** Of so many records one ends a stretch, by its digest: what HR changes moves no end but those beside it. */
const endsOneOf = 8
/** A byte tells how many records a stretch has. */
const recordsAtMost = 64

/**
 * Watches which records of an export stand in a row, and makes stretches of them, by which the next reading knows them together. Each record
 * has a slot, in their order.
 */
export class StretchMaker {
  readonly #digestOf: DigestOf
  readonly #firsts = new Numbers()
  readonly #counts = new Numbers()
  readonly #bytes = new Numbers()
  readonly #digests = new Bytes()
  /** The records in a row so far that no stretch holds. */
  #open: { readonly text: Buffer; readonly slot: number; readonly start: number; end: number; records: number } | null =
    null

  constructor(digestOf: DigestOf) {
    this.#digestOf = digestOf
  }

  /** Takes the next record, which has this digest. */
  add({ text, start, next, lines }: RawRecord, slot: number, digest: string): void {
    const open = this.#open
    if (open !== null && (open.text !== text || open.end !== start || lines > 1)) this.close()
    if (lines > 1) return
    const own = this.#open ?? { text, slot, start, end: next, records: 0 }
    own.end = next
    own.records += 1
    this.#open = own
    if (digest.charCodeAt(digestBytes - 1) % endsOneOf === 0 || own.records === recordsAtMost) this.close()
  }

  /** Takes a stretch as it was. */
  pass({ records, bytes, digest }: UnchangedRange, slot: number): void {
    this.close()
    this.#note({ slot, records, bytes })
    this.#digests.add(digest)
  }

  /** Ends the records in a row. One alone is known by its own digest. */
  close(): void {
    if (this.#open === null) return
    const { text, slot, start, end, records } = this.#open
    this.#open = null
    if (records === 1) return
    this.#note({ slot, records, bytes: end - start })
    this.#digests.addText(this.#digestOf(text, start, end).slice(0, digestBytes), 'latin1')
  }

  /** The stretches in their order. `first` is the slot of their first record. */
  *found(): Generator<UnchangedRange> {
    this.close()
    const digests = this.#digests.all
    for (let at = 0; at < this.#firsts.length; at += 1) {
      const digest = digests.subarray(at * digestBytes, (at + 1) * digestBytes)
      yield { first: this.#firsts.get(at), records: this.#counts.get(at), bytes: this.#bytes.get(at), digest }
    }
  }

  #note({ slot, records, bytes }: { slot: number; records: number; bytes: number }): void {
    this.#firsts.push(slot)
    this.#counts.push(records)
    this.#bytes.push(bytes)
  }
}
