import type { RawRecord, RecordFilter, RecordRange } from '../../../connectors/connector.ts'
import type { Decider } from '../../../identity/decide/decider.ts'
import type { UnchangedPeople } from '../../../identity/decide/row-book.ts'
import { compareKeys } from '../../../identity/digest.ts'
import { readTraits } from '../../../identity/lint/traits.ts'
import type { ReadableRows } from '../map/map-rows.ts'
import { type ExportIndex, isDigestAt } from './export-index.ts'
import { Numbers } from './growing.ts'
import type { NextIndex } from './next-index.ts'
import type { DigestOf } from './record-digest.ts'

/** Thrown when leaving unchanged records out is unsafe. The caller reads the whole source again. */
export class UnsafeFilterError extends Error {
  override readonly name = 'IndexDoubt'
  /** Whether records can be told apart, so that the reading can leave an index behind. */
  readonly canBuild: boolean

  constructor(message: string, canBuild: boolean) {
    super(message)
    this.canBuild = canBuild
  }
}

type UnchangedInput = {
  /** The index of the last export; null if there is none to compare with: no record is left out. */
  readonly last: ExportIndex | null
  /** People about whom something happened since the last export. */
  readonly unsettled: readonly string[]
  readonly digestOf: DigestOf
  readonly mapping: ReadableRows
  /** How many people tell checks enough about how the export is made. */
  readonly telling: number
  /** Takes each record of the export in order, whether it is left out or read. */
  readonly next: NextIndex
}

/** The states of an entry of the last index. An entry that this export did not show so far has the state 0. */
const leftOut = 1
const wasRead = 2

/** Leaves those records out of a reading from which, as the last index says, nothing follows. */
export class UnchangedRecords {
  readonly #last: ExportIndex | null
  readonly #unsettled: readonly string[]
  readonly #digestOf: DigestOf
  readonly #mapping: ReadableRows
  readonly #next: NextIndex
  readonly #stateOf: Uint8Array
  readonly #mustBeRead: Uint8Array
  readonly #kinds: LastKinds
  /** The records that were left out of the slice that is read: their entries and their lines. */
  readonly #entries = new Numbers()
  readonly #lines = new Numbers()
  /** How many of them were reported to the decider and the checks one by one. */
  #reported = 0
  /** How many records were left out of the whole export so far. */
  #total = 0
  #isGivenUp = false

  /** Which records the source leaves out. */
  readonly filter: RecordFilter = {
    skipRange: (text, start, line) => this.#leavesOutStretch(text, start, line),
    shouldSkip: (record) => this.#leavesOut(record),
    stop: () => this.#stop(),
    fail: () => this.#fail(),
  }

  /** The people whose records were left out. Each has the number of an entry. */
  readonly people: UnchangedPeople = {
    has: (identityId) => this.#total > 0 && this.#stateOf[this.#entryOf(identityId)] === leftOut,
    keyOf: (entry) => this.#last?.keyOf(entry) ?? '',
  }

  constructor({ last, unsettled, digestOf, mapping, telling, next }: UnchangedInput) {
    const size = last?.size ?? 0
    this.#last = last
    this.#unsettled = unsettled
    this.#digestOf = digestOf
    this.#mapping = mapping
    this.#next = next
    this.#stateOf = new Uint8Array(size)
    this.#mustBeRead = new Uint8Array(size)
    this.#kinds = new LastKinds(last, telling)
    for (const identityId of unsettled) {
      const entry = this.#entryOf(identityId)
      if (entry >= 0) this.#mustBeRead[entry] = 1
    }
  }

  /**
   * Takes the key of a row that was read. A record of this person that was left out would be a second row of theirs, and both have to be
   * compared: this throws.
   */
  checkKey(identityId: string, line: number): void {
    const lastEntry = this.#next.lastEntryAt(line)
    const isSamePerson = lastEntry >= 0 && this.#last?.keyOf(lastEntry) === identityId
    const entry = isSamePerson ? lastEntry : this.#entryOf(identityId)
    if (entry < 0) return
    if (this.#stateOf[entry] === leftOut) throw new UnsafeFilterError('a key stands in the export twice', true)
    this.#stateOf[entry] = wasRead
  }

  /** Tells the decider and the checks about the records that were left out up to this line. The decider takes only employed people. */
  reportUntil(line: number, decider: Decider): void {
    let wantsEach = this.#mapping.wantsEach()
    for (; this.#reported < this.#entries.length; this.#reported += 1) {
      const ownLine = this.#lines.get(this.#reported)
      if (ownLine > line) return
      const entry = this.#entries.get(this.#reported)
      if (!this.#kinds.hasLeft(entry)) decider.book.nameUnchanged(entry)
      if (!wantsEach) continue
      const address = this.#last?.addressOf(entry) ?? null
      this.#mapping.spareOne(this.#kinds.traitsOf(entry), { line: ownLine, address })
      wantsEach = this.#mapping.wantsEach()
    }
  }

  /** Counts what was left out of a slice, and finds out what the next slice may leave out. Returns how many records were left out. */
  endSlice(decider: Decider): number {
    const count = this.#entries.length
    if (count > 0) {
      this.reportUntil(Number.POSITIVE_INFINITY, decider)
      this.#mapping.spare(this.#kinds.takeCounts(), this.#lines.get(count - 1))
      decider.addUnchanged(count)
      this.#entries.clear()
      this.#lines.clear()
      this.#reported = 0
    }
    this.#kinds.ask(this.#mapping)
    return count
  }

  /** The people without a usable row who have to be decided about, in the order of their keys; null: everybody. */
  unseen(decider: Decider): string[] | null {
    if (this.#last === null) return null
    const keys = new Set([...this.#last.head.open, ...this.#unsettled, ...decider.book.unusableKeys()])
    for (let entry = 0; entry < this.#last.size; entry += 1) {
      if (this.#stateOf[entry] !== leftOut) keys.add(this.#last.keyOf(entry))
    }
    return decider.book.unobserved([...keys]).sort(compareKeys)
  }

  /** The entry of this person in the last index; -1 for none. */
  #entryOf(identityId: string): number {
    return this.#last?.findKey(identityId) ?? -1
  }

  #leavesOutStretch(text: Buffer, start: number, line: number): RecordRange | null {
    if (this.#isGivenUp || this.#last === null) return null
    const stretch = this.#last.expectedStretch()
    if (stretch === null || text.length - start < stretch.bytes) return null
    const { first, records, bytes, digest } = stretch
    for (let entry = first; entry < first + records; entry += 1) if (!this.#mayLeaveOut(entry)) return null
    if (!isDigestAt(digest, 0, this.#digestOf(text, start, start + bytes))) return null
    this.#last.passStretch(stretch)
    this.#next.addStretch(stretch)
    for (let at = 0; at < records; at += 1) this.#leaveOut(first + at, line + at)
    return stretch
  }

  #leavesOut(record: RawRecord): boolean {
    if (this.#isGivenUp) return false
    const { text, start, end, line } = record
    const digest = this.#digestOf(text, start, end)
    const entry = this.#last?.find(digest) ?? -1
    if (entry >= 0 && this.#mayLeaveOut(entry)) {
      this.#next.addUnchanged(record, digest, entry)
      this.#leaveOut(entry, line)
      return true
    }
    this.#next.addRead(record, digest, entry)
    return false
  }

  #stop(): void {
    if (this.#total > 0) this.#fail()
    this.#isGivenUp = true
    this.#next.giveUp()
  }

  #fail(): never {
    throw new UnsafeFilterError('the records of the export cannot be told apart for certain', false)
  }

  #mayLeaveOut(entry: number): boolean {
    return this.#stateOf[entry] === 0 && this.#mustBeRead[entry] === 0 && this.#kinds.mayLeaveOut(entry)
  }

  #leaveOut(entry: number, line: number): void {
    this.#stateOf[entry] = leftOut
    this.#kinds.count(entry)
    this.#entries.push(entry)
    this.#lines.push(line)
    this.#total += 1
  }
}

/** The kinds of rows of the last index, and which of them the checks let a reading leave out. */
class LastKinds {
  readonly #last: ExportIndex | null
  readonly #traits: readonly number[]
  readonly #hasLeft: readonly boolean[]
  /** Whether records of a kind may be left out: all of them, or those whose address is known. */
  readonly #all: Uint8Array
  readonly #withAddress: Uint8Array
  /** How many records of each kind were left out of the slice. */
  readonly #counts: Uint32Array
  readonly #telling: number
  /** The different addresses of records that were left out, until there are enough of them. */
  readonly #addresses = new Set<string>()

  constructor(last: ExportIndex | null, telling: number) {
    this.#last = last
    this.#traits = last?.head.kinds ?? []
    this.#hasLeft = this.#traits.map((traits) => readTraits(traits).left)
    this.#all = new Uint8Array(this.#traits.length)
    this.#withAddress = new Uint8Array(this.#traits.length)
    this.#counts = new Uint32Array(this.#traits.length)
    this.#telling = telling
  }

  mayLeaveOut(entry: number): boolean {
    const kind = this.#kindOf(entry)
    if (this.#all[kind] === 1) return true
    return this.#withAddress[kind] === 1 && (this.#hasEnoughAddresses() || this.#addressOf(entry) !== null)
  }

  /** Counts a record that is left out. */
  count(entry: number): void {
    const address = this.#hasEnoughAddresses() ? null : this.#addressOf(entry)
    if (address !== null) this.#addresses.add(address)
    const kind = this.#kindOf(entry)
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
  }

  /** How many records with the same traits were left out since the last call. */
  takeCounts(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>()
    for (const [kind, traits] of this.#traits.entries()) {
      const count = this.#counts[kind] ?? 0
      if (count > 0) counts.set(traits, count)
    }
    this.#counts.fill(0)
    return counts
  }

  /** Asks the checks which further kinds need not be read. */
  ask({ spares }: ReadableRows): void {
    for (const [kind, traits] of this.#traits.entries()) {
      if (!this.#all[kind] && spares(traits, false)) this.#all[kind] = 1
      if (!this.#withAddress[kind] && spares(traits, true)) this.#withAddress[kind] = 1
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
    return this.#addresses.size >= this.#telling
  }
}
