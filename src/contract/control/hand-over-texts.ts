import type { HandOver, HandOverGroup } from './hand-over.ts'

/** Maximum length of a cell in a title, in UTF-16 units. */
const maxQuoted = 40

/** What is to correct in a group, such as `705 cells "0000-00-00" in Termination Date`. Without values no cell is quoted. */
export function groupTitle({ column, count, cells = [] }: Pick<HandOverGroup, 'column' | 'count' | 'cells'>): string {
  const many = count.toLocaleString('en')
  if (column === null) return count === 1 ? '1 row' : `${many} rows`
  const noun = count === 1 ? '1 cell' : `${many} cells`
  const [only] = cells
  const isOnly = only !== undefined && only.count === count
  const quoted = !isOnly ? '' : only.cell.trim() === '' ? ' that are empty' : ` "${shortened(only.cell)}"`
  return `${noun}${quoted} in ${column}`
}

function shortened(cell: string): string {
  return cell.length > maxQuoted ? `${cell.slice(0, maxQuoted)}…` : cell
}

/** The summary of the list, as a sentence without its full stop. */
export function handOverSummary({ count, people, departures }: Omit<HandOver, 'groups'>): string {
  if (count === 0) return 'HR has nothing to correct'
  const noun = count === 1 ? '1 cell or row' : `${count.toLocaleString('en')} cells or rows`
  const ofPeople = people === 1 ? '1 person' : `${people.toLocaleString('en')} people`
  return `HR has to correct ${noun} of ${ofPeople}${departures === 0 ? '' : `; ${departuresText(departures)}`}`
}

/** What is wrong in a group, and what follows from it, as a sentence without its full stop. */
export function groupProblem({ connection, problem, departures }: HandOverGroup): string {
  return `${connection}: ${problem}${departures === 0 ? '' : '; people who have left still count as employed'}`
}

/** How many entries may be departures that cannot be read, such as `7 may hide departures`. */
export function departuresText(departures: number): string {
  return departures === 1 ? '1 may hide a departure' : `${departures.toLocaleString('en')} may hide departures`
}
