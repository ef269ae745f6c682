import { eventBlocks, type HandOver, type HandOverGroup, type HandOverRow, handOverBlocks } from './hand-over.ts'

/** Maximum length of a cell in a title, in UTF-16 units. */
const maxQuoted = 40

/** What has a fault in a group, one and several of them: events have fields instead of cells. */
const nouns = {
  export: { cell: ['cell', 'cells'], row: ['row', 'rows'], any: ['cell or row', 'cells or rows'] },
  event: { cell: ['field', 'fields'], row: ['event', 'events'], any: ['field or event', 'fields or events'] },
} as const
const ofBoth = ['cell, row or event', 'cells, rows or events'] as const

type TitleInput = Pick<HandOverGroup, 'kind' | 'column' | 'count' | 'cells'>

/** What is to correct in a group, such as `705 cells "0000-00-00" in Termination Date`. Without values no cell is quoted. */
export function groupTitle({ kind, column, count, cells = [] }: TitleInput): string {
  if (column === null) return counted(count, nouns[kind].row)
  const [only] = cells
  const isOnly = only !== undefined && only.count === count
  const quoted = !isOnly ? '' : only.cell.trim() === '' ? ' that are empty' : ` "${shortenCell(only.cell)}"`
  return `${counted(count, nouns[kind].cell)}${quoted} in ${column}`
}

function counted(count: number, [one, several]: readonly [string, string]): string {
  return count === 1 ? `1 ${one}` : `${count.toLocaleString('en')} ${several}`
}

/** Where a row is, such as `people.csv, line 12` or `event 17, item 1`. */
export function placeText({ source, line }: Pick<HandOverRow, 'source' | 'line'>, kind: HandOverGroup['kind']): string {
  return kind === 'event' ? `${source ?? 'an event'}, item ${line}` : `${source ?? 'the export'}, line ${line}`
}

/** What a row blocks. */
export function blocksText({ blocks }: Pick<HandOverRow, 'blocks'>, kind: HandOverGroup['kind']): string {
  return (kind === 'event' ? eventBlocks : handOverBlocks)[blocks]
}

function shortenCell(cell: string): string {
  return cell.length > maxQuoted ? `${cell.slice(0, maxQuoted)}…` : cell
}

/** The summary of the list, as a sentence without its full stop. */
export function handOverSummary({ count, people, departures, groups }: HandOver): string {
  if (count === 0) return 'HR has nothing to correct'
  const [kind, ...others] = new Set(groups.map((group) => group.kind))
  const noun = counted(count, others.length > 0 || kind === undefined ? ofBoth : nouns[kind].any)
  const ofPeople = people === 0 ? '' : ` of ${counted(people, ['person', 'people'])}`
  return `HR has to correct ${noun}${ofPeople}${departures === 0 ? '' : `; ${departuresText(departures)}`}`
}

/** What is wrong in a group, and what follows from it, as a sentence without its full stop. */
export function groupProblem({ connection, problem, departures }: HandOverGroup): string {
  return `${connection}: ${problem}${departures === 0 ? '' : '; people who have left still count as employed'}`
}

/** How many entries may be departures that cannot be read, such as `7 may hide departures`. */
export function departuresText(departures: number): string {
  return departures === 1 ? '1 may hide a departure' : `${departures.toLocaleString('en')} may hide departures`
}
