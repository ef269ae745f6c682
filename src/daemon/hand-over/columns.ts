import type { HandOver, HandOverGroup, HandOverRow } from '../../contract/control/hand-over.ts'
import { blocksText } from '../../contract/control/hand-over-texts.ts'

/** A row of the list with its group. */
type Entry = { readonly group: HandOverGroup; readonly row: HandOverRow }

type EntryColumn = {
  readonly name: string
  /** Width in a workbook, in characters. */
  readonly width: number
  readonly of: (entry: Entry) => string | number | null
  /** Only in a list with personal values. */
  readonly isPersonal?: true
}

const allColumns: readonly EntryColumn[] = [
  { name: 'Person', width: 24, of: ({ row }) => row.name ?? null, isPersonal: true },
  { name: 'Key', width: 14, of: ({ row }) => row.identityId },
  { name: 'File', width: 22, of: ({ row }) => row.source },
  { name: 'Line', width: 8, of: ({ row }) => row.line },
  { name: 'Rows', width: 8, of: ({ row }) => row.rows },
  { name: 'Column', width: 20, of: ({ group }) => group.column },
  { name: 'Cell', width: 24, of: ({ row }) => row.cell ?? null, isPersonal: true },
  { name: 'What is wrong', width: 44, of: ({ row }) => row.problem },
  { name: 'What to write instead', width: 60, of: ({ group }) => group.remedy },
  { name: 'Since (UTC)', width: 12, of: ({ row }) => row.firstAt.slice(0, 10) },
  { name: 'Blocks', width: 44, of: ({ row, group }) => blocksText(row, group.kind) },
  { name: 'Connection', width: 16, of: ({ group }) => group.connection },
]

/** The columns of a list: those with personal values only if the list has them. */
export function columnsOf(list: HandOver): readonly EntryColumn[] {
  return hasValues(list) ? allColumns : allColumns.filter(({ isPersonal }) => !isPersonal)
}

/** Whether the list shows names and cells. */
export function hasValues({ groups }: HandOver): boolean {
  return groups.some(({ cells }) => cells !== undefined)
}

/** All rows, group by group. */
export function entriesOf({ groups }: HandOver): Entry[] {
  return groups.flatMap((group) => group.rows.map((row) => ({ group, row })))
}
