import type { RawRecord, RecordFilter, RecordRange } from '../../../connectors/connector.ts'
import type { UnchangedPeople } from '../../../identity/decide/row-book.ts'
import type { RowTraits } from '../../../identity/lint/traits.ts'
import type { ReadableRows } from '../map/map-rows.ts'
import { type EachKey, type ExportIndex, isDigestAt, keyStart } from './export-index.ts'
import { Numbers } from './growing.ts'
import { LastKinds } from './last-kinds.ts'
import type { NextIndex } from './next-index.ts'
import type { DigestOf } from './record-digest.ts'

/** The unchanged rows of a slice in the order of the export. Valid until the next slice is requested. */
export type UnchangedRows = {
  readonly length: number
  readonly lineAt: (at: number) => number
  /** The number of the person, by which `UnchangedPeople` knows them. */
  readonly personAt: (at: number) => number
  readonly hasLeftAt: (at: number) => boolean
  readonly traitsAt: (at: number) => RowTraits
  /** What the e-mail address is compared by; null if that is not known. */
  readonly addressAt: (at: number) => string | null
  readonly countByTraits: () => ReadonlyMap<RowTraits, number>
}

/** Thrown when skipping unchanged records is unsafe. The caller reads the whole source again. */
export class UnsafeFilterError extends Error {
  override readonly name = 'UnsafeFilterError'
  /** Whether the records can be told apart, so that reading them again can leave an index behind. */
  readonly canBuild: boolean

  constructor(message: string, canBuild: boolean) {
    super(message)
    this.canBuild = canBuild
  }
}

type UnchangedInput = {
  /** The index of the last export; null if there is none to compare with: every record is parsed. */
  readonly last: ExportIndex | null
  /** People whose facts have changed since the last export. Their records are parsed. */
  readonly changedPeople: readonly string[]
  readonly digestOf: DigestOf
  readonly mapping: Pick<ReadableRows, 'canSkip'>
  /** How many people the checks look at. */
  readonly sampleSize: number
  /** Takes each record of the export in order, whether it is skipped or parsed. */
  readonly nextIndex: NextIndex
}

/** The states of an entry of the last index. An entry that this export did not show so far has the state 0. */
const skipped = 1
const parsed = 2

/** Finds the records of a reading that are unchanged since the last export, so that they need not be parsed. */
export class UnchangedRecords {
  readonly #last: ExportIndex | null
  readonly #changedPeople: readonly string[]
  readonly #digestOf: DigestOf
  readonly #mapping: Pick<ReadableRows, 'canSkip'>
  readonly #nextIndex: NextIndex
  readonly #stateOf: Uint8Array
  readonly #mustBeParsed: Uint8Array
  readonly #kinds: LastKinds
  /** The unchanged records of the slice that is read: their entries and their lines. */
  readonly #entries = new Numbers()
  readonly #lines = new Numbers()
  /** How many records of the whole export were unchanged so far. */
  #total = 0
  #isStopped = false

  /** Tells the source which records to skip. */
  readonly filter: RecordFilter = {
    skipRange: (text, start, line) => this.#skipRange(text, start, line),
    shouldSkip: (record) => this.#skipRecord(record),
    stop: () => this.#stop(),
    fail: () => this.#fail(),
  }

  /** The people of the unchanged records. Each has the number of an entry. */
  readonly people: UnchangedPeople = {
    has: (identityId) => this.#total > 0 && this.#stateOf[this.#entryOf(identityId)] === skipped,
    keyOf: (entry) => this.#last?.keyOf(entry) ?? '',
  }

  constructor({ last, changedPeople, digestOf, mapping, sampleSize, nextIndex }: UnchangedInput) {
    const size = last?.size ?? 0
    this.#last = last
    this.#changedPeople = changedPeople
    this.#digestOf = digestOf
    this.#mapping = mapping
    this.#nextIndex = nextIndex
    this.#stateOf = new Uint8Array(size)
    this.#mustBeParsed = new Uint8Array(size)
    this.#kinds = new LastKinds(last, sampleSize)
    for (const identityId of changedPeople) {
      const entry = this.#entryOf(identityId)
      if (entry >= 0) this.#mustBeParsed[entry] = 1
    }
  }

  /** The unchanged rows of the slice that is read. */
  get rows(): UnchangedRows {
    const entryAt = (at: number) => this.#entries.get(at)
    return {
      length: this.#entries.length,
      lineAt: (at) => this.#lines.get(at),
      personAt: entryAt,
      hasLeftAt: (at) => this.#kinds.hasLeft(entryAt(at)),
      traitsAt: (at) => this.#kinds.traitsOf(entryAt(at)),
      addressAt: (at) => this.#last?.addressOf(entryAt(at)) ?? null,
      countByTraits: () => this.#kinds.takeCounts(),
    }
  }

  /** Ends a slice, and finds out which rows the checks let the next slice skip. */
  endSlice(): void {
    this.#entries.clear()
    this.#lines.clear()
    this.#kinds.update(this.#mapping)
  }

  /**
   * Takes the key of a row that was parsed. Throws if a record of this person was skipped: it would be a second row of theirs, and the two
   * have to be compared.
   */
  checkKey(identityId: string, line: number): void {
    const lastEntry = this.#nextIndex.lastEntryAt(line)
    const isSamePerson = lastEntry >= 0 && this.#last?.keyOf(lastEntry) === identityId
    const entry = isSamePerson ? lastEntry : this.#entryOf(identityId)
    if (entry < 0) return
    if (this.#stateOf[entry] === skipped) throw new UnsafeFilterError('a key stands in the export twice', true)
    this.#stateOf[entry] = parsed
  }

  /** The known people without an unchanged record who may need a decision; null: everybody. */
  openPeople(): readonly string[] | null {
    if (this.#last === null) return null
    const keys = new Set([...this.#last.head.open, ...this.#changedPeople])
    for (let entry = 0; entry < this.#last.size; entry += 1) {
      if (this.#stateOf[entry] !== skipped) keys.add(this.#last.keyOf(entry))
    }
    return [...keys]
  }

  /** Passes the key of each record that was skipped. */
  skippedKeys(take: Parameters<EachKey>[0]): void {
    if (this.#last === null) return
    const { entries, size } = this.#last
    for (let entry = 0; entry < size; entry += 1) {
      if (this.#stateOf[entry] === skipped) take(entries.keys, keyStart(entries, entry), entries.keyEnds[entry] ?? 0)
    }
  }

  /** The entry of this person in the last index; -1 for none. */
  #entryOf(identityId: string): number {
    return this.#last?.findKey(identityId) ?? -1
  }

  #skipRange(text: Buffer, start: number, line: number): RecordRange | null {
    if (this.#isStopped || this.#last === null) return null
    const range = this.#last.expectedRange()
    if (range === null || text.length - start < range.bytes) return null
    const { first, records, bytes, digest } = range
    for (let entry = first; entry < first + records; entry += 1) if (!this.#maySkip(entry)) return null
    if (!isDigestAt(digest, 0, this.#digestOf(text, start, start + bytes))) return null
    this.#last.passRange(range)
    this.#nextIndex.addRange(range)
    for (let at = 0; at < records; at += 1) this.#skip(first + at, line + at)
    return range
  }

  #skipRecord(record: RawRecord): boolean {
    if (this.#isStopped) return false
    const { text, start, end, line } = record
    const digest = this.#digestOf(text, start, end)
    const entry = this.#last?.find(digest) ?? -1
    if (entry >= 0 && this.#maySkip(entry)) {
      this.#nextIndex.addUnchanged(record, digest, entry)
      this.#skip(entry, line)
      return true
    }
    this.#nextIndex.addParsed(record, digest, entry)
    return false
  }

  #stop(): void {
    if (this.#total > 0) this.#fail()
    this.#isStopped = true
    this.#nextIndex.giveUp()
  }

  #fail(): never {
    throw new UnsafeFilterError('the records of the export cannot be told apart for certain', false)
  }

  #maySkip(entry: number): boolean {
    return this.#stateOf[entry] === 0 && this.#mustBeParsed[entry] === 0 && this.#kinds.maySkip(entry)
  }

  #skip(entry: number, line: number): void {
    this.#stateOf[entry] = skipped
    this.#kinds.count(entry)
    this.#entries.push(entry)
    this.#lines.push(line)
    this.#total += 1
  }
}
