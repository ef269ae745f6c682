import type { FilterableRows, Reading, RecordFilter, SourceRow } from '../../connectors/connector.ts'
import type { Intake } from '../../store/statement/intake.ts'
import type { RowSlice } from './change-filter/change-filter.ts'
import type { EachKey } from './change-filter/export-index.ts'
import type { MappedRows } from './map/map-rows.ts'

/** How a plan treats the rows of an export. */
type TreatmentCounts = Pick<Intake, 'treatedRows' | 'treatments'>

/**
 * Counts what an export holds, independently of the plan: its rows where the connector delivers them, and its keys before anything else is
 * read of a row. Rows that the change filter skips are counted where the connector skips them, and their keys come from the index.
 */
export class IntakeCounter {
  #rows = 0
  #keyless = 0
  readonly #keys = new Set<string>()

  /** The reading, with its rows counted as they pass. */
  countRows(reading: Reading): Reading {
    const { filterable } = reading
    return {
      ...reading,
      rows: this.#counted(reading.rows),
      ...(filterable && { filterable: this.#countedFilterable(filterable) }),
    }
  }

  /** The slices, with the keys of their rows collected as they pass. */
  async *readKeys(slices: AsyncIterable<RowSlice>, mapping: MappedRows): AsyncGenerator<RowSlice> {
    for await (const slice of slices) {
      if (mapping.ok) for (const row of slice.rows) this.#addKey(mapping.keyOf(row))
      yield slice
    }
  }

  /**
   * What was counted, once all rows were read, with how the plan treats the rows. `skippedKeys`: the keys of the rows that were skipped.
   */
  result(treated: TreatmentCounts, skippedKeys: EachKey = () => {}): Intake {
    const digest = new KeyDigest()
    skippedKeys((keys, start, end) => digest.add(keys, start, end))
    for (const key of this.#keys) digest.addText(key)
    const counts = { rows: this.#rows, keyless: this.#keyless, keys: digest.keys, digest: digest.text() }
    return new CountedIntake({ ...counts, ...treated }, () => [...textsOf(skippedKeys), ...this.#keys])
  }

  #addKey(key: string | null): void {
    if (key === null) this.#keyless += 1
    else this.#keys.add(key)
  }

  async *#counted(slices: AsyncIterable<readonly SourceRow[]>): AsyncGenerator<readonly SourceRow[]> {
    for await (const slice of slices) {
      this.#rows += slice.length
      yield slice
    }
  }

  #countedFilterable({ dialect, rows }: FilterableRows): FilterableRows {
    return { dialect, rows: (filter) => this.#counted(rows(this.#countedFilter(filter))) }
  }

  #countedFilter(filter: RecordFilter): RecordFilter {
    return {
      ...filter,
      skipRange: (text, start, line) => {
        const range = filter.skipRange(text, start, line)
        this.#rows += range?.records ?? 0
        return range
      },
      shouldSkip: (record) => {
        const isSkipped = filter.shouldSkip(record)
        this.#rows += isSkipped ? 1 : 0
        return isSkipped
      },
    }
  }
}

/** The keys are listed only if they are not those of the last export. */
class CountedIntake implements Intake {
  readonly rows: number
  readonly keyless: number
  readonly keys: number
  readonly digest: string
  readonly treatedRows: Intake['treatedRows']
  readonly treatments: Intake['treatments']
  readonly #listKeys: () => readonly string[]

  constructor(counted: Omit<Intake, 'listKeys'>, listKeys: () => readonly string[]) {
    this.rows = counted.rows
    this.keyless = counted.keyless
    this.keys = counted.keys
    this.digest = counted.digest
    this.treatedRows = counted.treatedRows
    this.treatments = counted.treatments
    this.#listKeys = listKeys
  }

  listKeys(): readonly string[] {
    return this.#listKeys()
  }
}

function textsOf(eachKey: EachKey): string[] {
  const texts: string[] = []
  eachKey((keys, start, end) => texts.push(keys.toString('utf8', start, end)))
  return texts
}

/**
 * A digest of a set of keys that does not depend on their order: sums of two hashes of each key. It tells cheaply whether the keys are those
 * of the last export. It is no proof against an attacker: the statement holds the SHA-256 of the sorted keys.
 */
class KeyDigest {
  keys = 0
  #first = 0
  #second = 0
  #text = Buffer.allocUnsafe(1024)

  addText(key: string): void {
    const maxBytes = 3 * key.length
    if (maxBytes > this.#text.length) this.#text = Buffer.allocUnsafe(maxBytes)
    this.add(this.#text, 0, this.#text.write(key, 'utf8'))
  }

  // Two mixing hashes of 32 bits, which share nothing but their input.
  add(bytes: Buffer, start: number, end: number): void {
    let first = 0xdeadbeef ^ (end - start)
    let second = 0x41c6ce57 ^ (end - start)
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] ?? 0
      first = Math.imul(first ^ byte, 2654435761)
      second = Math.imul(second ^ byte, 1597334677)
    }
    first = Math.imul(first ^ (first >>> 16), 2246822507) ^ Math.imul(second ^ (second >>> 13), 3266489909)
    second = Math.imul(second ^ (second >>> 16), 2246822507) ^ Math.imul(first ^ (first >>> 13), 3266489909)
    this.keys += 1
    this.#first = (this.#first + first) | 0
    this.#second = (this.#second + second) | 0
  }

  text(): string {
    return [this.keys, this.#first >>> 0, this.#second >>> 0].map((number) => number.toString(16)).join('-')
  }
}
