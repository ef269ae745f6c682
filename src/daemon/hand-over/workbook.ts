import type { HandOver } from '../../contract/control/hand-over.ts'
import { groupTitle } from '../../contract/control/hand-over-texts.ts'
import { escapeText } from '../../text/escape.ts'
import { columnsOf, entriesOf } from './columns.ts'

type WorkbookCell = {
  readonly value: string | number
  readonly fontWeight?: 'bold'
  readonly wrap?: true
  readonly alignVertical?: 'top'
}

const summaryColumns = [
  'To correct',
  'What is wrong',
  'What to write instead',
  'Possible departures',
  'Since (UTC)',
  'Connection',
]
const summaryWidths = [44, 44, 60, 20, 12, 16]

/** The list as a workbook: a sheet with a line for each remedy, and one with all rows. Every text is a text cell, so none is a formula. */
export async function handOverWorkbook(list: HandOver): Promise<Buffer> {
  // Loaded when it is used: most processes never write a workbook.
  const { default: writeExcelFile } = await import('write-excel-file/node')
  const columns = columnsOf(list)
  const summary = list.groups.map((group) =>
    [
      groupTitle(group),
      group.problem,
      group.remedy,
      group.departures,
      group.firstAt.slice(0, 10),
      group.connection,
    ].map(cellOf),
  )
  const rows = entriesOf(list).map((entry) => columns.map(({ of }) => cellOf(of(entry))))
  return await writeExcelFile([
    {
      data: [header(summaryColumns), ...summary],
      sheet: 'Summary',
      columns: summaryWidths.map((width) => ({ width })),
      stickyRowsCount: 1,
    },
    {
      data: [header(columns.map(({ name }) => name)), ...rows],
      sheet: 'Rows',
      columns: columns.map(({ width }) => ({ width })),
      stickyRowsCount: 1,
    },
  ]).toBuffer()
}

function header(names: readonly string[]): WorkbookCell[] {
  return names.map((value) => ({ value, fontWeight: 'bold' }))
}

function cellOf(value: string | number | null): WorkbookCell {
  return { value: typeof value === 'number' ? value : escapeText(value ?? ''), wrap: true, alignVertical: 'top' }
}
