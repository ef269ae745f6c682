import { readTraits } from '../../../identity/lint/traits.ts'
import type { ReadableRows } from '../map/map-rows.ts'
import type { ExportIndex } from './export-index.ts'

/** The kinds of rows of the last index, and which of them the checks let a reading skip. */
export class LastKinds {
  readonly #last: ExportIndex | null
  readonly #traits: readonly number[]
  readonly #hasLeft: readonly boolean[]
  /** Whether records of a kind may be skipped: all of them, or those whose address is known. */
  readonly #all: Uint8Array
  readonly #withAddress: Uint8Array
  /** How many records of each kind were skipped in the slice. */
  readonly #counts: Uint32Array
  readonly #sampleSize: number
  /** The different addresses of skipped records, until there are enough of them. */
  readonly #addresses = new Set<string>()

  constructor(last: ExportIndex | null, sampleSize: number) {
    this.#last = last
    this.#traits = last?.head.kinds ?? []
    this.#hasLeft = this.#traits.map((traits) => readTraits(traits).isLeaver)
    this.#all = new Uint8Array(this.#traits.length)
    this.#withAddress = new Uint8Array(this.#traits.length)
    this.#counts = new Uint32Array(this.#traits.length)
    this.#sampleSize = sampleSize
  }

  maySkip(entry: number): boolean {
    const kind = this.#kindOf(entry)
    if (this.#all[kind] === 1) return true
    return this.#withAddress[kind] === 1 && (this.#hasEnoughAddresses() || this.#addressOf(entry) !== null)
  }

  /** Counts a record that is skipped. */
  count(entry: number): void {
    const address = this.#hasEnoughAddresses() ? null : this.#addressOf(entry)
    if (address !== null) this.#addresses.add(address)
    const kind = this.#kindOf(entry)
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
  }

  /** How many records with the same traits were skipped since the last call. */
  takeCounts(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>()
    for (const [kind, traits] of this.#traits.entries()) {
      const count = this.#counts[kind] ?? 0
      if (count > 0) counts.set(traits, count)
    }
    this.#counts.fill(0)
    return counts
  }

  /** Marks further kinds that the checks no longer need. */
  update({ canSkip }: Pick<ReadableRows, 'canSkip'>): void {
    for (const [kind, traits] of this.#traits.entries()) {
      if (!this.#all[kind] && canSkip(traits, false)) this.#all[kind] = 1
      if (!this.#withAddress[kind] && canSkip(traits, true)) this.#withAddress[kind] = 1
    }
  }

  traitsOf(entry: number): number {
    return this.#traits[this.#kindOf(entry)] ?? 0
  }

  /** Whether the person of the entry has left. */
  hasLeft(entry: number): boolean {
    return this.#hasLeft[this.#kindOf(entry)] ?? false
  }

  #kindOf(entry: number): number {
    return this.#last?.kindOf(entry) ?? 0
  }

  #addressOf(entry: number): string | null {
    return this.#last?.addressOf(entry) ?? null
  }

  #hasEnoughAddresses(): boolean {
    return this.#addresses.size >= this.#sampleSize
  }
}
