import { type DeclaredDates, dateExplainer, hintText } from '../mapping/date-hints.ts'
import { isPlaceholderDate } from '../mapping/placeholder-dates.ts'
import type { Observation } from '../record.ts'
import { type Check, column, countRows, type Finding, indexesOf, type LintScope, minSampleSize } from './watch.ts'

const twoDigitYear = /^\d{1,2}([ ./-])\d{1,2}\1\d{2}$/
const yearLast = /^\d{1,2}([ ./-])\d{1,2}\1\d{4}$/
const yearFirst = /^\d{4}([ ./-])\d{1,2}\1\d{1,2}$/
const maxNamedPlaceholders = 5

// Fewer cells than this are typing errors, which their own rejects report.
const minCells = 2
const minShareOfCells = 0.2

type DateField = {
  readonly name: 'startedAt' | 'separatedAt'
  readonly header: string
  readonly indexes: readonly number[]
  readonly declared: DeclaredDates
  /** The date of the field as `YYYY-MM-DD`; null if the row states none. */
  readonly read: (observation: Observation) => string | null
}

/** Finds date columns in which every date is the same. */
export function watchSameDates(scope: LintScope): Check[] {
  return dateFields(scope).map(({ name, header, read }) => {
    let only: string | null = null
    let several = false
    let dates = 0
    return {
      addRow(observation) {
        const date = read(observation)
        if (date === null) return false
        dates += 1
        only ??= date
        several = only !== date
        return several
      },
      traits: { areEnough: ({ fills }) => !fills(name) },
      finding() {
        if (several || dates < minSampleSize) return null
        return {
          message: `all ${dates} dates of ${column(header)} are ${only}; check that this is the right column`,
        }
      },
    }
  })
}

/** Finds years of two digits if the declared format has four. */
export function watchTwoDigitYears(scope: LintScope): Check[] {
  return dateFields(scope).map((field) => {
    const cells = new RejectedCells(field, (text) => twoDigitYear.test(text) && !isPlaceholderDate(text))
    return {
      addReject: cells.add,
      finding: () =>
        cells.finding(
          ({ count, line }) =>
            `${countRows(count)}: ${column(field.header)} writes years with two digits, such as in line ${line}; ` +
            'have the report write four, or declare yy and a pivot',
        ),
    }
  })
}

/** Finds columns with placeholders for "no date" that the mapping does not list as blank. */
export function watchPlaceholderDates(scope: LintScope): Check[] {
  return dateFields(scope).map((field) => {
    const placeholders = new Set<string>()
    const cells = new RejectedCells(field, (text) => {
      const isOne = isPlaceholderDate(text)
      if (isOne && placeholders.size < maxNamedPlaceholders) placeholders.add(text)
      return isOne
    })
    return {
      addReject: cells.add,
      finding: () =>
        cells.finding(
          ({ count, example, line }) =>
            `${countRows(count)}: ${column(field.header)} holds dates that stand for none, such as "${example}" in line ${line}; ` +
            `write blankWhen: ['${[...placeholders].join("', '")}']`,
        ),
    }
  })
}

/** Finds columns most of whose dates are not in the declared format. */
export function watchDateFormats(scope: LintScope): Check[] {
  return dateFields(scope).map((field) => {
    const explain = dateExplainer(field.declared)
    const isDate = (text: string) => (yearLast.test(text) || yearFirst.test(text)) && !isPlaceholderDate(text)
    const isClear = (text: string) => {
      const { hint } = explain(text)
      return hint.kind === 'form' && hint.forms.length === 1
    }
    const helpFor = (example: string) => {
      const { hint } = explain(example)
      if (!isClear(example) && hint.kind === 'form') return 'declare the format that they are in'
      return hintText(hint.kind === 'form' ? { ...hint, added: false } : hint, field.declared)
    }
    const cells = new RejectedCells(field, isDate, isClear)
    let people = 0
    let readable = 0
    return {
      addRow(observation) {
        if (field.read(observation) !== null) readable += 1
        people += 1
        return people >= scope.sampleSize
      },
      traits: {
        areEnough: () => true,
        addInOrder({ traits }) {
          if (traits.fills(field.name)) readable += 1
          people += 1
          return people >= scope.sampleSize
        },
      },
      addReject(reject, row) {
        if (people < scope.sampleSize) cells.add(reject, row)
      },
      finding() {
        if (cells.count < minCells || cells.count < minShareOfCells * (cells.count + readable)) return null
        return cells.finding(
          ({ count, example, line }) =>
            `${countRows(count)}: ${column(field.header)} has dates that are not in the declared format, such as in line ${line}; ${helpFor(example)}`,
        )
      },
    }
  })
}

function dateFields({ columns, headers, dateRules }: LintScope): DateField[] {
  const readers = {
    startedAt: ({ fields }: Observation) => fields.startedAt?.slice(0, 10) ?? null,
    separatedAt: ({ leavingDate }: Observation) => leavingDate ?? null,
  }
  return (['startedAt', 'separatedAt'] as const).flatMap((name) => {
    const header = columns[name]
    if (header === undefined) return []
    const { format = 'yyyy-MM-dd', pivot, language } = dateRules?.[name] ?? {}
    const declared = { formats: [format].flat(), pivot, language, isField: true }
    return [{ name, header, indexes: indexesOf(header, headers), declared, read: readers[name] }]
  })
}

/**
 * Counts the rejected cells of a column that match a pattern, and remembers the clearest one as an example. Warnings are stored with the
 * run for ever, so no message may contain personal data.
 */
class RejectedCells {
  count = 0
  readonly #field: DateField
  readonly #matches: (text: string) => boolean
  readonly #isClear: (text: string) => boolean
  #shown: { readonly example: string; readonly line: number; readonly isClear: boolean } | null = null

  constructor(field: DateField, matches: (text: string) => boolean, isClear: (text: string) => boolean = () => true) {
    this.#field = field
    this.#matches = matches
    this.#isClear = isClear
  }

  readonly add: NonNullable<Check['addReject']> = (reject, { values }) => {
    if (reject.column !== this.#field.header) return
    const cells = this.#field.indexes.map((index) => values[index]?.trim() ?? '')
    const example = cells.find((cell) => cell !== '') ?? ''
    if (!this.#matches(example)) return
    this.count += 1
    if (this.#shown?.isClear) return
    const isClear = this.#isClear(example)
    if (this.#shown === null || isClear) this.#shown = { example, line: reject.line, isClear }
  }

  finding(
    message: (cells: { readonly count: number; readonly example: string; readonly line: number }) => string,
  ): Finding | null {
    if (this.#shown === null) return null
    const { example, line } = this.#shown
    return { message: message({ count: this.count, example, line }), line }
  }
}
