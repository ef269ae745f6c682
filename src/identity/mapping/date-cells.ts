import { datesAs } from '../causes.ts'
import { utcMidnight } from '../employment.ts'
import { blankReader, type CellFault, type CellReader, type OnBlank } from './cells.ts'
import type { DateFormatOptions } from './date-formats.ts'
import { causeOf, type DeclaredDates, dateExplainer, hintText } from './date-hints.ts'
import { dateReader, momentReader } from './dates.ts'
import { isPlaceholderDate, mayBePlaceholder } from './placeholder-dates.ts'
import { isTimeZone } from './zones.ts'

// Stored faults are recognised by these texts. With another text they would count as new, and many new faults hold a plan.
const quotedDate = /^(\d{1,2}[ ./-]\d{1,2}[ ./-](\d{2}|\d{4})|\d{4}[ ./-]\d{1,2}[ ./-]\d{1,2})$/
const quotedTime = /^[T ]\d{1,2}:\d{2}(:\d{2}(\.\d{1,9})?)?( ?[AP]M)?(Z|[+-]\d{2}:?\d{2})?$/i
const wholeNumber = /^\d{1,30}$/
const widestNumber = 30
const rememberedFaults = 20_000

type DateOptions = DateFormatOptions & {
  readonly onBlank: OnBlank
  readonly format: string | readonly string[]
  readonly offsetDays: number
}

/** Reads a calendar date as the platform's UTC midnight. */
export function startReader(options: DateOptions): CellReader<string> {
  const read = plainDateReader(options, options.offsetDays)
  return (cell, timeZone) => {
    const value = read(cell, timeZone)
    return typeof value === 'string' ? utcMidnight(value) : value
  }
}

/** Reads the last day of employment as `YYYY-MM-DD`, also if the source names the first day gone. */
export function leavingReader(options: DateOptions & LeavingMeans): CellReader<string> {
  return plainDateReader(options, leavingShift(options))
}

type LeavingMeans = { readonly means: 'lastDayWorked' | 'firstDayGone'; readonly offsetDays: number }

/** Whether the source names the first day gone, by `means` or by `offsetDays`. */
export function namesFirstDayGone(options: LeavingMeans): boolean {
  return leavingShift(options) === -1
}

function leavingShift({ means, offsetDays }: LeavingMeans): number {
  return offsetDays - (means === 'firstDayGone' ? 1 : 0)
}

/** Reads the rank of a row: a text that sorts like its moment or its whole number. */
export function rankReader({
  format,
  ...formatOptions
}: DateFormatOptions & { readonly format?: string }): CellReader<string> {
  const read = format === undefined ? paddedNumber : momentReader(format, formatOptions)
  const faultOf = format === undefined ? noNumber : dateFaults({ formats: [format], ...formatOptions, isField: false })
  return (cell) => {
    const text = cell.trim()
    if (text === '')
      return { reason: 'the cell is blank, so it is unknown which row is the latest', cause: 'unknownOrder' }
    return read(text) ?? faultOf(text)
  }
}

const noTimeZone: CellFault = {
  reason: 'the cell does not hold a time zone such as Europe/Berlin',
  cause: 'noTimeZone',
}

/** Reads the IANA time zone of a row; undefined for a blank. */
export function timeZoneReader(): CellReader<string> {
  return (cell) => {
    const name = cell.trim()
    if (name === '') return undefined
    return isTimeZone(name) ? name : noTimeZone
  }
}

function plainDateReader({ onBlank, format, ...formatOptions }: DateOptions, addDays: number): CellReader<string> {
  const formats = [format].flat()
  const ofBlank = blankReader(onBlank)
  const read = dateReader(formats, { ...formatOptions, addDays })
  const faultOf = dateFaults({ formats, ...formatOptions, isField: true })
  return (cell, timeZone) => {
    const text = cell.trim()
    if (text === '') return ofBlank()
    const date = read(text, timeZone)
    // A placeholder fits the format. Read as a date, it would separate people who stay.
    const isDate = date !== null && !(mayBePlaceholder(date) && isPlaceholderDate(text))
    return isDate ? date : faultOf(text)
  }
}

function paddedNumber(text: string): string | null {
  return wholeNumber.test(text) ? text.padStart(widestNumber, '0') : null
}

function noNumber(): CellFault {
  return { reason: 'the cell holds no whole number', cause: 'noWholeNumber' }
}

/** Explains cells that are not dates as declared. A column repeats few such texts, so results are cached. */
function dateFaults(declared: DeclaredDates): (text: string) => CellFault {
  const explain = dateExplainer(declared)
  const known = new Map<string, CellFault>()
  const expected = datesAs(declared.formats)
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const { hint, isShowable } = explain(text)
    const cell = isShowable ? `"${text}"` : 'what the cell holds'
    const problem = hint.kind === 'blank' ? 'stands for no date' : `is not a date (${declared.formats.join(' or ')})`
    const reason = `${cell} ${problem}: ${hintText(hint, declared)}`
    const fault = { reason, knownAs: knownText(text, declared), cause: causeOf(hint), expected }
    if (known.size >= rememberedFaults) known.clear()
    known.set(text, fault)
    return fault
  }
}

function knownText(text: string, { formats }: DeclaredDates): string {
  const [date = '', time = ''] = text.split(/(?=[T ]\d{1,2}:)/, 2)
  const isQuoted = quotedDate.test(date) && (time === '' || quotedTime.test(time))
  return `${isQuoted ? `"${date}${time}"` : 'what the cell holds'} is not a date (${formats.join(' or ')})`
}
