import { foldValue } from '../../identity/mapping/fold-value.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import { isPlaceholderDate } from '../../identity/mapping/placeholder-dates.ts'
import { cellsOf, countValues, doubledNames, share } from './cells.ts'
import { dateEvidence } from './dates.ts'
import type { Answers, Question } from './proposal.ts'
import type { Table } from './table.ts'
import type { Thesaurus } from './thesaurus.ts'

const maxStatuses = 20

type LeaverColumns = { readonly questions: readonly Question[]; readonly notes: readonly string[] }
type LeaverSearch = {
  /** A certain preset leaves a status out on purpose. */
  readonly isCertain: boolean
  /** `dates`: a row has a leaving date. */
  readonly has: { readonly leavingDate: boolean; readonly dates: boolean; readonly status: boolean }
  readonly unread: readonly string[]
  readonly thesaurus: Thesaurus
  readonly answers: Answers
}

/**
 * Whether the export says who has left, and which of the columns that are not read could say it. A column of leaving dates without a date
 * says nothing.
 */
export function leaverColumns(
  table: Table,
  { has, isCertain, unread, thesaurus, answers }: LeaverSearch,
): LeaverColumns {
  const doubled = doubledNames(table)
  const candidates = unread.filter((header) => !doubled.has(normaliseHeader(header)))
  const dates = has.leavingDate ? [] : candidates.filter((header) => isDateLike(table, header, thesaurus))
  const statuses = has.status
    ? []
    : candidates.filter((header) => !dates.includes(header) && isStatusLike(table, header, thesaurus))
  const isDecided = answers.fields?.separatedAt === null || answers.fields?.status === null
  if (!has.leavingDate && !has.status) {
    if (dates.length + statuses.length > 0 && !isDecided)
      return { questions: [{ about: 'leavers', dates, statuses }], notes: [] }
    return { questions: [], notes: [noLeavers] }
  }
  const conclusive =
    has.dates || has.status || isDecided
      ? []
      : statuses.filter((header) => canIdentifyLeavers(table, header, thesaurus))
  if (conclusive.length > 0) return { questions: [{ about: 'leavers', dates: [], statuses: conclusive }], notes: [] }
  if (isDecided) return { questions: [], notes: [] }
  const notes = [
    ...(dates.length === 0 ? [] : [unreadDates(dates)]),
    ...(statuses.length === 0 || isCertain ? [] : [unreadStatuses(statuses)]),
  ]
  return { questions: [], notes }
}

const noLeavers =
  'No column shows who has left. Only people missing from the export are treated as leavers, with the day of the export as their last day.'

function unreadDates(headers: readonly string[]): string {
  const named = headers.map((header) => `"${header}"`).join(' and ')
  return `No leaving date is read. If ${named} ${headers.length === 1 ? 'is' : 'or one of them is'} the last day of employment, say so: else the day of the export counts as the last one.`
}

function unreadStatuses(headers: readonly string[]): string {
  const named = headers.map((header) => `"${header}"`).join(' or ')
  return `No status is read. If ${named} says who has left, say so: else people without a leaving date count as employed.`
}

function isDateLike(table: Table, header: string, thesaurus: Thesaurus): boolean {
  if (thesaurus.isCalled(header, 'otherDate') || thesaurus.isCalled(header, 'effectiveDate')) return false
  const cells = cellsOf(table, header)
  const real = cells.filter((cell) => !isPlaceholderDate(cell))
  if (real.length === 0) return cells.length > 0
  const { kind } = dateEvidence(real, { format: 'yyyy-MM-dd' })
  return kind === 'one' || kind === 'several'
}

/** Whether a status of the column means, in some system at least, that somebody has left; a flag does with one of two values. */
function canIdentifyLeavers(table: Table, header: string, thesaurus: Thesaurus): boolean {
  const values = cellsOf(table, header).map(foldValue)
  if (thesaurus.isCalled(header, 'employedFlag') && new Set(values).size > 1) return true
  return values.some((value) => thesaurus.ambiguous.has(value) || thesaurus.statuses.get(value) === 'left')
}

/** A column that is called a status, or answers yes or no to being employed, or mostly holds words for a status. */
function isStatusLike(table: Table, header: string, thesaurus: Thesaurus): boolean {
  const cells = cellsOf(table, header)
  const values = countValues(cells)
  if (values.length === 0 || values.length > maxStatuses) return false
  if (thesaurus.fieldOf(header) === 'status' || thesaurus.isCalled(header, 'employedFlag')) return true
  return (
    share(cells, (cell) => thesaurus.statuses.has(foldValue(cell)) || thesaurus.ambiguous.has(foldValue(cell))) > 0.5
  )
}
