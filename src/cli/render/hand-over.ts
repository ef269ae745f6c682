import type { HandOver, HandOverGroup } from '../../contract/control/hand-over.ts'
import { departuresText, groupTitle, handOverSummary, placeText } from '../../contract/control/hand-over-texts.ts'
import { escapeText, formatDate, number, type Paint, pluralize } from './text.ts'

/** Maximum number of rows named of each group; the files and the document hold all of them. */
export const maxRowsShown = 5

/** What HR has to correct: for each column and cause what to write instead, and the first rows. */
export function renderHandOver(list: HandOver, paint: Paint): string {
  const groups = list.groups.map((group) => groupText(group, paint))
  const files = list.count === 0 ? [] : ['--out FILE.xlsx, .csv or .html writes every row to a file for HR']
  return [`${handOverSummary(list)}.`, ...groups, ...files].join('\n\n')
}

function groupText(group: HandOverGroup, paint: Paint): string {
  const { connection, problem, remedy, departures, rows, entries } = group
  const waiting = departures === 0 ? '' : paint('red', ` · ${departuresText(departures)}`)
  const shown = rows.slice(0, maxRowsShown)
  return [
    `${paint('bold', escapeText(groupTitle(group)))} (${escapeText(connection)})${waiting}`,
    `  ${escapeText(problem)}`,
    `  ${paint('green', escapeText(remedy))}`,
    ...shown.map((row) => `    ${rowText(row, group)}`),
    ...(entries > shown.length ? [`    … and ${number(entries - shown.length)} more`] : []),
  ].join('\n')
}

function rowText(row: HandOverGroup['rows'][number], { kind, problem }: HandOverGroup): string {
  const { source, line, identityId, name, cell, blocks, firstAt } = row
  const isEvent = kind === 'event' || source === null
  const parts = [
    isEvent ? escapeText(placeText(row, kind)) : `${escapeText(source)}:${line}`,
    identityId === null ? 'key not readable' : escapeText(identityId),
    ...(name ? [escapeText(name)] : []),
    ...(cell ? [`"${escapeText(cell)}"`] : []),
    `since ${formatDate(firstAt)}`,
    ...(blocks === 'departure' ? ['may hide a departure'] : []),
    ...(row.problem === problem ? [] : [escapeText(row.problem)]),
  ]
  return parts.join('  ')
}

type WrittenFile = { readonly file: string; readonly count: number; readonly values: boolean }

/** The message that the list was written. */
export function renderHandOverFile({ file, count, values }: WrittenFile): string {
  const missing = values ? '' : '; it has no names and no cells: --show-values adds them'
  return `what HR has to correct, ${pluralize(count, 'cell or row', 'cells or rows')}, is in ${escapeText(file)}${missing}`
}
