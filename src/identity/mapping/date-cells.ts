import { utcMidnight } from '../employment.ts'
import { blankReader, type CellFault, type CellReader, type OnBlank } from './cells.ts'
import type { DateWords } from './date-formats.ts'
import { dateReader, momentReader } from './dates.ts'
import { isTimeZone } from './zones.ts'

// What may be quoted from a column of dates. Anything else could be a name or a number of the person in the wrong column.
const looksLikeDate = /^(\d{1,2}[ ./-]\d{1,2}[ ./-](\d{2}|\d{4})|\d{4}[ ./-]\d{1,2}[ ./-]\d{1,2})$/
const looksLikeTime = /^[T ]\d{1,2}:\d{2}(:\d{2}(\.\d{1,9})?)?( ?[AP]M)?(Z|[+-]\d{2}:?\d{2})?$/i
const wholeNumber = /^\d{1,30}$/
const widestNumber = 30

type DateOptions = DateWords & {
  readonly onBlank: OnBlank
  readonly format: string | readonly string[]
  readonly offsetDays: number
}

/** Reads a calendar date as the platform's UTC midnight. */
export function startReader(options: DateOptions): CellReader<string> {
  const read = plainDateReader(options, options.offsetDays)
  return (cell, timeZone) => {
    const told = read(cell, timeZone)
    return typeof told === 'string' ? utcMidnight(told) : told
  }
}

/** Reads the last day of employment as `YYYY-MM-DD`, whichever of the two days around it the source names. */
export function leavingReader(options: DateOptions & LeavingMeans): CellReader<string> {
  return plainDateReader(options, leavingShift(options))
}

type LeavingMeans = { readonly means: 'lastDayWorked' | 'firstDayGone'; readonly offsetDays: number }

/** Whether the source names the first day on which the person no longer works, in whatever way its settings say so. */
export function namesFirstDayGone(options: LeavingMeans): boolean {
  return leavingShift(options) === -1
}

function leavingShift({ means, offsetDays }: LeavingMeans): number {
  return offsetDays - (means === 'firstDayGone' ? 1 : 0)
}

/** Reads what puts several rows of a person in order: texts that compare as the moments or the whole numbers that they stand for. */
export function rankReader({
  format,
  ...words
}: DateWords & { readonly format?: string | undefined }): CellReader<string> {
  const read = format === undefined ? paddedNumber : momentReader(format, words)
  return (cell) => {
    const text = cell.trim()
    if (text === '') return { reason: 'the cell is blank, so it is unknown which row is the latest' }
    return read(text) ?? (format === undefined ? { reason: 'the cell holds no whole number' } : noDate(text, [format]))
  }
}

/** Reads the IANA time zone of a row; a blank says nothing. */
export function timeZoneReader(): CellReader<string> {
  return (cell) => {
    const name = cell.trim()
    if (name === '') return undefined
    return isTimeZone(name) ? name : { reason: 'the cell does not hold a time zone such as Europe/Berlin' }
  }
}

function plainDateReader({ onBlank, format, ...words }: DateOptions, addDays: number): CellReader<string> {
  const formats = [format].flat()
  const ofBlank = blankReader(onBlank)
  const read = dateReader(formats, { ...words, addDays })
  return (cell, timeZone) => {
    const text = cell.trim()
    return text === '' ? ofBlank() : (read(text, timeZone) ?? noDate(text, formats))
  }
}

function paddedNumber(text: string): string | null {
  return wholeNumber.test(text) ? text.padStart(widestNumber, '0') : null
}

function noDate(text: string, formats: readonly string[]): CellFault {
  const [date = '', time = ''] = text.split(/(?=[T ]\d{1,2}:)/, 2)
  const isDate = looksLikeDate.test(date) && (time === '' || looksLikeTime.test(time))
  const what = isDate ? `"${date}${time}"` : 'what the cell holds'
  return { reason: `${what} is not a date (${formats.join(' or ')})` }
}
