import type { RawRecord, SourceRow } from '../../../connectors/connector.ts'
import type { PlanContext } from '../../../identity/decide/decide.ts'
import type { Decided } from '../../../identity/decide/decisions.ts'
import { isUnchanging } from '../../../identity/decide/unchanging.ts'
import { compareKeys } from '../../../identity/digest.ts'
import type { RowTraits } from '../../../identity/lint/traits.ts'
import type { Observation } from '../../../identity/record.ts'
import type { ReadableRows } from '../map/map-rows.ts'
import { copyEntries, noEntry } from './copy-entries.ts'
import { type ExportIndex, Kinds, keyAt, type UnchangedRange } from './export-index.ts'
import { FreshEntries } from './fresh-entries.ts'
import { Numbers } from './growing.ts'
import { indexSealer, type SealedIndex } from './index-parts.ts'
import { RangeMaker } from './range-maker.ts'
import type { DigestOf } from './record-digest.ts'

/** Keeps more e-mail addresses than the checks need, because some of their records change each night. */
const addressesFactor = 1.25

type NextIndexInput = {
  /** The index of the last export; null if there is none to compare with. */
  readonly last: ExportIndex | null
  readonly key: Buffer
  readonly digestOf: DigestOf
  readonly context: PlanContext
  readonly mapping: Pick<ReadableRows, 'traitsOf' | 'addressOf'>
  /** How many people of an export the checks look at. */
  readonly sampleSize: number
}

/** A record whose row is parsed. */
type ParsedRecord = {
  readonly digest: string
  /** Its entry in the last index; -1 for none. */
  readonly lastEntry: number
  /** Its number among all records of the export. */
  readonly slot: number
  traits?: RowTraits | null
  /** The e-mail address. */
  address?: string | null
}

/** Stores a part of an index. */
export type StorePart = (part: number, data: Buffer) => Promise<void>

/**
 * Collects the index for the next export while this one is read and decided about: an entry for each record that needs no further decision,
 * and the people who need another decision whatever the next export states.
 */
export class NextIndex {
  readonly #last: ExportIndex | null
  readonly #lastSize: number
  readonly #key: Buffer
  readonly #context: PlanContext
  readonly #mapping: NextIndexInput['mapping']
  readonly #addressesKept: number
  readonly #kinds: Kinds
  /** The entry of each record. Entries of the last index come first; fresh entries are numbered on from its size. */
  readonly #order = new Numbers()
  readonly #fresh = new FreshEntries()
  readonly #ranges: RangeMaker
  /** The people who need another decision. */
  readonly #open = new Set<string>()
  readonly #withdrawn = new Set<string>()
  /** The parsed records by line: those of the slice that is read, and those of the previous slice, whose people are decided about. */
  #reading = new Map<number, ParsedRecord>()
  #deciding = this.#reading
  #isGivenUp = false

  constructor({ last, key, digestOf, context, mapping, sampleSize }: NextIndexInput) {
    this.#last = last
    this.#lastSize = last?.size ?? 0
    this.#key = key
    this.#context = context
    this.#mapping = mapping
    this.#addressesKept = Math.ceil(addressesFactor * sampleSize)
    this.#kinds = new Kinds(last?.head.kinds)
    this.#ranges = new RangeMaker(digestOf)
  }

  /** Keeps the entries of a range of unchanged records. */
  addRange(range: UnchangedRange): void {
    this.#ranges.pass(range, this.#order.length)
    for (let entry = range.first; entry < range.first + range.records; entry += 1) this.#order.push(entry)
  }

  /** Keeps the entry of an unchanged record. */
  addUnchanged(record: RawRecord, digest: string, entry: number): void {
    this.#ranges.add(record, this.#order.length, digest)
    this.#order.push(entry)
  }

  /** Adds a record whose row is parsed. It gets an entry later, if nothing more follows from the decision about its person. */
  addParsed(record: RawRecord, digest: string, lastEntry: number): void {
    const slot = this.#order.length
    this.#ranges.add(record, slot, digest)
    this.#reading.set(record.line, { digest, lastEntry, slot })
    this.#order.push(noEntry)
  }

  /** The entry in the last index of the record that is parsed in this line; -1 for none. */
  lastEntryAt(line: number): number {
    return this.#reading.get(line)?.lastEntry ?? -1
  }

  /** Records what the checks need to know of a usable row. */
  addRow(row: SourceRow, observation: Observation): void {
    const record = this.#reading.get(row.origin.line)
    if (record === undefined) return
    record.traits = this.#mapping.traitsOf(row, observation)
    if (record.slot < this.#addressesKept) record.address = this.#mapping.addressOf(observation)
  }

  /** Ends a slice. Its people are decided about before the next slice ends. */
  endSlice(): void {
    this.#deciding = this.#reading
    this.#reading = new Map()
  }

  /** Drops the entries of people whose decision was discarded, because a later row of the export replaces or contradicts theirs. */
  withdraw(identityIds: readonly string[]): void {
    for (const identityId of identityIds) this.#withdrawn.add(identityId)
  }

  /** Keeps the entry of a person if nothing more follows from the same row; otherwise the person needs another decision. */
  addDecision(decided: Decided): void {
    const { identityId, input } = decided
    const isKept = isUnchanging(decided, this.#context) && (typeof input === 'string' || this.#keepEntry(input))
    if (isKept) this.#open.delete(identityId)
    else this.#open.add(identityId)
  }

  /** Gives up the index, because records cannot be told apart. */
  giveUp(): void {
    this.#isGivenUp = true
    this.#reading.clear()
  }

  /**
   * Makes the index and gives its parts to `storePart`, each while the next one is made. Returns 'same' if the last index still holds, and null
   * if none can be made.
   */
  async make(rules: string, storePart: StorePart): Promise<SealedIndex | 'same' | null> {
    if (this.#isGivenUp) return null
    this.#dropWithdrawn()
    const open = [...this.#open].sort(compareKeys)
    if (this.#last !== null && this.#isSameAs(this.#last, open)) return 'same'
    const sealer = indexSealer(this.#key)
    let parts = 0
    let keeping = Promise.resolve()
    const entries = await this.#copyEntries(async (full) => {
      for (const data of full) {
        sealer.add(data)
        await keeping
        keeping = storePart(parts, data)
        // The error is thrown where the promise is awaited.
        keeping.catch(() => {})
        parts += 1
      }
    })
    await keeping
    return sealer.seal({ rules, day: this.#context.today, entries, kinds: this.#kinds.traits, open })
  }

  /** Keeps an entry of a parsed row. Returns false if the row has to be parsed again next time. */
  #keepEntry(observation: Observation): boolean {
    const record = this.#deciding.get(observation.origin.line)
    if (record?.traits === undefined || record.traits === null) return false
    const kind = this.#kinds.of(record.traits)
    if (kind === null) return false
    const { digest, lastEntry, slot, address = null } = record
    const { identityId } = observation
    const isLast =
      lastEntry >= 0 &&
      this.#last?.kindOf(lastEntry) === kind &&
      this.#last.keyOf(lastEntry) === identityId &&
      (address === null || this.#last.addressOf(lastEntry) === address)
    const entry = isLast ? lastEntry : this.#lastSize + this.#fresh.add({ digest, kind, identityId, address })
    this.#order.set(slot, entry)
    return true
  }

  #dropWithdrawn(): void {
    if (this.#withdrawn.size === 0) return
    const lastEntries = new Set([...this.#withdrawn].map((identityId) => this.#last?.findKey(identityId) ?? -1))
    const fresh = this.#fresh.all()
    for (let slot = 0; slot < this.#order.length; slot += 1) {
      const entry = this.#order.get(slot)
      if (entry === noEntry) continue
      const isFresh = entry >= this.#lastSize
      const isDropped = isFresh ? this.#withdrawn.has(keyAt(fresh, entry - this.#lastSize)) : lastEntries.has(entry)
      if (isDropped) this.#order.set(slot, noEntry)
    }
  }

  /** Whether the index would hold what the last one holds. */
  #isSameAs({ head, size }: ExportIndex, open: readonly string[]): boolean {
    if (open.length !== head.open.length || open.some((identityId, at) => identityId !== head.open[at])) return false
    let expected = 0
    for (const entry of this.#order.all) {
      if (entry === noEntry) continue
      if (entry !== expected) return false
      expected += 1
    }
    return expected === size
  }

  async #copyEntries(storeParts: (full: readonly Buffer[]) => Promise<void>): Promise<number> {
    const kept = {
      order: this.#order,
      last: this.#last,
      fresh: this.#fresh.all(),
      ranges: this.#ranges,
      addressesKept: this.#addressesKept,
    }
    return await copyEntries(kept, storeParts)
  }
}
