import type { Sighting } from '../record.ts'
import { column, countRows, type Found, fewestTelling, indexesOf, type LintScope, type Watch } from './watch.ts'

const twoDigitYear = /^\d{1,2}([ ./-])\d{1,2}\1\d{2}$/
const yearLast = /^(?<first>\d{1,2})(?<sign>[ ./-])(?<second>\d{1,2})\k<sign>\d{4}$/
const yearFirst = /^\d{4}(?<sign>[ ./-])(?<first>\d{1,2})\k<sign>(?<second>\d{1,2})$/
const lastMonth = 12

// Fewer cells than this are typing errors, which their own rejects tell about.
const fewestCells = 2
const shareOfCells = 0.2

type DateField = {
  readonly name: 'startedAt' | 'separatedAt'
  readonly header: string
  readonly indexes: readonly number[]
  /** The date of the field as `YYYY-MM-DD`, where the row states one. */
  readonly read: (sighting: Sighting) => string | null
}

/** Finds date columns in which every date is the same. */
export function watchSameDates(scope: LintScope): Watch[] {
  return dateFields(scope).map(({ name, header, read }) => {
    let only: string | null = null
    let several = false
    let dates = 0
    return {
      see(sighting) {
        const date = read(sighting)
        if (date === null) return false
        dates += 1
        only ??= date
        several = only !== date
        return several
      },
      spares: ({ fills }) => !fills(name),
      found() {
        if (several || dates < fewestTelling) return null
        return {
          message: `all ${dates} dates of ${column(header)} are ${only}; check that it is the column it seems to be`,
        }
      },
    }
  })
}

/** Finds years of two digits where the declared format has four. */
export function watchTwoDigitYears(scope: LintScope): Watch[] {
  return dateFields(scope).map((field) => {
    const cells = new RejectedCells(field, (text) => twoDigitYear.test(text))
    return {
      seeReject: cells.see,
      found: () =>
        cells.found(
          ({ count, example, line }) =>
            `${countRows(count)}: ${column(field.header)} writes years with two digits, such as "${example}" in line ${line}; ` +
            'have the report write four, or declare yy and a pivot',
        ),
    }
  })
}

/** Finds columns whose dates are mostly written in another way than declared. */
export function watchDateFormats(scope: LintScope): Watch[] {
  return dateFields(scope).map((field) => {
    const cells = new RejectedCells(field, (text) => yearLast.test(text) || yearFirst.test(text), isTelling)
    let people = 0
    let readable = 0
    return {
      see(sighting) {
        if (field.read(sighting) !== null) readable += 1
        people += 1
        return people >= scope.telling
      },
      spares: () => true,
      spareOne({ traits }) {
        if (traits.fills(field.name)) readable += 1
        people += 1
        return people >= scope.telling
      },
      seeReject(reject, row) {
        if (people < scope.telling) cells.see(reject, row)
      },
      found() {
        if (cells.count < fewestCells || cells.count < shareOfCells * (cells.count + readable)) return null
        return cells.found(
          ({ count, example, line }) =>
            `${countRows(count)}: ${column(field.header)} writes dates in another way than the declared format, such as "${example}" in line ${line}; ${helpFor(example)}`,
        )
      },
    }
  })
}

function dateFields({ columns, headers }: LintScope): DateField[] {
  const readers = {
    startedAt: ({ fields }: Sighting) => fields.startedAt?.slice(0, 10) ?? null,
    separatedAt: ({ leavingDate }: Sighting) => leavingDate ?? null,
  }
  return (['startedAt', 'separatedAt'] as const).flatMap((name) => {
    const header = columns[name]
    return header === undefined ? [] : [{ name, header, indexes: indexesOf(header, headers), read: readers[name] }]
  })
}

/** Counts the cells of a column that rejected their rows and are written in a certain way; shows the first that tells most. */
class RejectedCells {
  count = 0
  readonly #field: DateField
  readonly #matches: (text: string) => boolean
  readonly #tells: (text: string) => boolean
  #shown: { readonly example: string; readonly line: number; readonly telling: boolean } | null = null

  constructor(field: DateField, matches: (text: string) => boolean, tells: (text: string) => boolean = () => true) {
    this.#field = field
    this.#matches = matches
    this.#tells = tells
  }

  readonly see: NonNullable<Watch['seeReject']> = (reject, { values }) => {
    if (reject.column !== this.#field.header) return
    const cells = this.#field.indexes.map((index) => values[index]?.trim() ?? '')
    const example = cells.find((cell) => cell !== '') ?? ''
    if (!this.#matches(example)) return
    this.count += 1
    if (this.#shown?.telling) return
    const telling = this.#tells(example)
    if (this.#shown === null || telling) this.#shown = { example, line: reject.line, telling }
  }

  found(
    message: (cells: { readonly count: number; readonly example: string; readonly line: number }) => string,
  ): Found | null {
    if (this.#shown === null) return null
    const { example, line } = this.#shown
    return { message: message({ count: this.count, example, line }), line }
  }
}

/** Names the format where the example can be read in one way only. */
function helpFor(example: string): string {
  const { yearIsLast, sign, dayFirst } = readingOf(example)
  if (!isTelling(example)) return 'declare the format that they are in'
  const dayAndMonth = (dayFirst ? ['dd', 'MM'] : ['MM', 'dd']).join(sign)
  return `write format: ${yearIsLast ? `${dayAndMonth}${sign}yyyy` : `yyyy${sign}${dayAndMonth}`}`
}

/** Whether a date shows by itself which of its numbers is the day. */
function isTelling(text: string): boolean {
  const { dayFirst, dayLast } = readingOf(text)
  return dayFirst !== dayLast
}

function readingOf(text: string) {
  const last = yearLast.exec(text)?.groups
  const { first = '', second = '', sign = '' } = last ?? yearFirst.exec(text)?.groups ?? {}
  return {
    yearIsLast: last !== undefined,
    sign,
    dayFirst: Number(first) > lastMonth,
    dayLast: Number(second) > lastMonth,
  }
}
