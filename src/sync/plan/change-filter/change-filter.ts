import type { RecordFilter, SourceRow } from '../../../connectors/connector.ts'
import type { PlanContext } from '../../../identity/decide/decide.ts'
import type { Decider } from '../../../identity/decide/decider.ts'
import type { Decided } from '../../../identity/decide/decisions.ts'
import type { UnchangedPeople } from '../../../identity/decide/row-book.ts'
import type { Observation } from '../../../identity/record.ts'
import type { ReadableRows } from '../map/map-rows.ts'
import type { ExportIndex } from './export-index.ts'
import type { SealedIndex } from './index-parts.ts'
import { type KeepPart, NextIndex } from './next-index.ts'
import { digestsWith } from './record-digest.ts'
import { UnchangedRecords } from './unchanged-records.ts'

type ChangeFilterInput = {
  /** The index of the last export; null if there is none to compare with. */
  readonly last: ExportIndex | null
  /** People about whom something happened since the last export. */
  readonly unsettled: readonly string[]
  readonly key: Buffer
  readonly context: PlanContext
  readonly mapping: ReadableRows
  /** How many people tell checks enough about how the export is made. */
  readonly telling: number
}

/** Leaves unchanged records out of the reading of an export, and makes the index that the next export is compared with. */
export type ChangeFilter = {
  /** Which records the source leaves out. */
  readonly records: RecordFilter
  /** The people whose records were left out. */
  readonly unchangedPeople: UnchangedPeople
  /** Called before a row is mapped: tells the decider and the checks about the records that were left out before it. */
  readonly beforeRow: (line: number, decider: Decider) => void
  /** Takes the key of a row. Throws `IndexDoubt` if a record with the same key was left out. */
  readonly checkKey: (identityId: string, line: number) => void
  /** Takes a row that can be used. */
  readonly noteRow: (row: SourceRow, observation: Observation) => void
  /** Called after the rows of a slice. Returns how many records were left out of it. */
  readonly endSlice: (decider: Decider) => number
  /** Takes people whose rows turned out not to apply. */
  readonly withdraw: (identityIds: readonly string[]) => void
  readonly addDecision: (decided: Decided) => void
  /** The people without a usable row who have to be decided about, in the order of their keys; null: everybody. */
  readonly unseen: (decider: Decider) => string[] | null
  /** Makes the index for the next export. Returns 'same' if the last one still holds, and null if none can be made. */
  readonly makeIndex: (rules: string, keep: KeepPart) => Promise<SealedIndex | 'same' | null>
}

/** Puts together what leaves records out and what collects the next index. */
export function createChangeFilter(input: ChangeFilterInput): ChangeFilter {
  const digestOf = digestsWith(input.key)
  const next = new NextIndex({ ...input, digestOf })
  const unchanged = new UnchangedRecords({ ...input, digestOf, next })
  return {
    records: unchanged.filter,
    unchangedPeople: unchanged.people,
    beforeRow: (line, decider) => unchanged.reportUntil(line, decider),
    checkKey: (identityId, line) => unchanged.checkKey(identityId, line),
    noteRow: (row, observation) => next.noteRow(row, observation),
    endSlice(decider) {
      const leftOut = unchanged.endSlice(decider)
      next.endSlice()
      return leftOut
    },
    withdraw: (identityIds) => next.withdraw(identityIds),
    addDecision: (decided) => next.addDecision(decided),
    unseen: (decider) => unchanged.unseen(decider),
    makeIndex: (rules, keep) => next.make(rules, keep),
  }
}
