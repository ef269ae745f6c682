import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Entries, ExportIndex } from './export-index.ts'
import type { Numbers } from './growing.ts'
import { EntriesBuilder } from './index-parts.ts'
import type { RangeMaker } from './range-maker.ts'

/** In the order of entries: a record without an entry. */
export const noEntry = -1

/** Maximum number of records that are copied before other work gets a turn. */
const maxRecordsAtOnce = 50_000

/** The entries of the next index. */
type KeptEntries = {
  /** The entry of each record of the export. Entries of the last index come first; fresh entries are numbered on from its size. */
  readonly order: Numbers
  readonly last: ExportIndex | null
  readonly fresh: Entries
  readonly ranges: RangeMaker
  /** How many of the first entries keep the digest of their e-mail address. */
  readonly addressesKept: number
}

/**
 * Copies the entries, and the ranges without a gap, into the parts of the next index. Calls `storeParts` with the parts that are full and
 * awaits it. Returns the number of entries.
 */
export async function copyEntries(
  kept: KeptEntries,
  storeParts: (full: readonly Buffer[]) => Promise<void>,
): Promise<number> {
  const built = new EntriesBuilder({ addressesKept: kept.addressesKept })
  const copier = new EntriesCopier(kept, built)
  let pausedAt = 0
  for (const range of kept.ranges.ranges()) {
    copier.copyUntil(range.first)
    const before = built.size
    copier.copyUntil(range.first + range.records)
    if (built.size - before === range.records) built.addRange({ ...range, first: before })
    if (copier.slot - pausedAt < maxRecordsAtOnce) continue
    pausedAt = copier.slot
    await nextTurn()
    await storeParts(built.takeParts())
  }
  copier.copyUntil(kept.order.length)
  await storeParts(built.end())
  return built.size
}

/** Copies entries in the order of their records. Entries that stand side by side are copied together. */
class EntriesCopier {
  readonly #order: Numbers
  readonly #last: ExportIndex | null
  readonly #lastSize: number
  readonly #fresh: Entries
  readonly #built: EntriesBuilder
  /** The entries that are to be copied together: the first of them, and how many. */
  #first = 0
  #count = 0
  /** The record that comes next. */
  slot = 0

  constructor({ order, last, fresh }: KeptEntries, built: EntriesBuilder) {
    this.#order = order
    this.#last = last
    this.#lastSize = last?.size ?? 0
    this.#fresh = fresh
    this.#built = built
  }

  /** Copies the entries of the records before this one. */
  copyUntil(slot: number): void {
    for (; this.slot < slot; this.slot += 1) {
      const entry = this.#order.get(this.slot)
      if (entry === noEntry) continue
      // The last index ends at its size, where the fresh entries begin.
      const isNext = this.#count > 0 && entry === this.#first + this.#count && entry !== this.#lastSize
      if (isNext) {
        this.#count += 1
        continue
      }
      this.#copy()
      this.#first = entry
      this.#count = 1
    }
    this.#copy()
  }

  #copy(): void {
    if (this.#count === 0) return
    if (this.#last !== null && this.#first < this.#lastSize) {
      this.#built.add(this.#last.entries, this.#first, this.#count)
    } else {
      this.#built.add(this.#fresh, this.#first - this.#lastSize, this.#count)
    }
    this.#count = 0
  }
}
