import type { FilterableRows, SourceRow } from '../../../connectors/connector.ts'
import type { PlanContext } from '../../../identity/decide/decide.ts'
import type { UnchangedPeople } from '../../../identity/decide/row-book.ts'
import { isReject } from '../../../identity/mapping/rows.ts'
import type { MappedRow, ReadableRows } from '../map/map-rows.ts'
import type { EachKey, ExportIndex } from './export-index.ts'
import { NextIndex } from './next-index.ts'
import { digestsWith } from './record-digest.ts'
import { UnchangedRecords, type UnchangedRows } from './unchanged-records.ts'

/** A slice of an export: the rows to parse, and the rows between them that are unchanged since the last export. */
export type RowSlice = { readonly rows: readonly SourceRow[]; readonly unchanged: UnchangedRows }

/** Keeps unchanged records of an export from being parsed, and collects the index for the next export. */
export type ChangeFilter = {
  /** The slices of the export. Throws `UnsafeFilterError` if unchanged records cannot be told apart for certain. */
  readonly slices: () => AsyncIterable<RowSlice>
  /** Takes each row that was parsed. Throws `UnsafeFilterError` if an unchanged record has the same key. */
  readonly addRow: (row: SourceRow, mapped: MappedRow) => void
  /** The people of the unchanged records. */
  readonly unchangedPeople: UnchangedPeople
  /** Passes the key of each record that was skipped, as HR writes it. */
  readonly skippedKeys: EachKey
  /** The known people without an unchanged record who may need a decision; null: everybody in the roster. */
  readonly openPeople: () => readonly string[] | null
  /** The index for the next export, which needs to know every decision of the plan. */
  readonly nextIndex: Pick<NextIndex, 'addDecision' | 'withdraw' | 'make'>
}

type ChangeFilterInput = {
  readonly filterable: FilterableRows
  /** The index of the last export; null if there is none to compare with. */
  readonly last: ExportIndex | null
  /** People whose facts have changed since the last export. */
  readonly changedPeople: readonly string[]
  readonly key: Buffer
  readonly context: PlanContext
  readonly mapping: ReadableRows
  /** How many people the checks look at. */
  readonly sampleSize: number
}

/** Creates the filter of one reading. */
export function createChangeFilter(input: ChangeFilterInput): ChangeFilter {
  const digestOf = digestsWith(input.key)
  const nextIndex = new NextIndex({ ...input, digestOf })
  const records = new UnchangedRecords({ ...input, digestOf, nextIndex })
  return {
    async *slices() {
      for await (const rows of input.filterable.rows(records.filter)) {
        yield { rows, unchanged: records.rows }
        // The rows of the slice are collected, and its people are decided about before the next slice ends.
        records.endSlice()
        nextIndex.endSlice()
      }
    },
    addRow(row, mapped) {
      if (mapped === null) return
      if (mapped.identityId !== null) records.checkKey(mapped.identityId, row.origin.line)
      const isUsable = !('noPerson' in mapped) && !('outOfScope' in mapped) && !isReject(mapped)
      if (isUsable) nextIndex.addRow(row, mapped)
    },
    unchangedPeople: records.people,
    skippedKeys: (take) => records.skippedKeys(take),
    openPeople: () => records.openPeople(),
    nextIndex,
  }
}

/** The slices of a source whose rows are all parsed. */
export async function* wholeSlices(slices: AsyncIterable<readonly SourceRow[]>): AsyncGenerator<RowSlice> {
  for await (const rows of slices) yield { rows, unchanged: noRows }
}

const noRows: UnchangedRows = {
  length: 0,
  lineAt: () => 0,
  personAt: () => 0,
  hasLeftAt: () => false,
  traitsAt: () => 0,
  addressAt: () => null,
  countByTraits: () => new Map(),
}
