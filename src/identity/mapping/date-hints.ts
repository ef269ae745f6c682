import type { Cause } from '../causes.ts'
import type { DateFormatOptions } from './date-formats.ts'
import { dateOverlapProblem } from './date-overlap.ts'
import { dateReader } from './dates.ts'
import { isPlaceholderDate } from './placeholder-dates.ts'
import { analyseDate, type WrittenForm } from './written-dates.ts'

/** How the dates of a column are declared, and which settings the column has. */
export type DeclaredDates = DateFormatOptions & {
  readonly formats: readonly string[]
  /** Whether the column can have blankWhen and several formats. A column that orders rows has neither. */
  readonly isField: boolean
}

/** How to make a cell readable that is not a date as declared, or why it cannot be. */
type DateHint =
  | { readonly kind: 'blank' }
  /** One of these forms. `added`: in addition to the declared formats, otherwise instead of them. */
  | { readonly kind: 'form'; readonly forms: readonly WrittenForm[]; readonly added: boolean }
  | { readonly kind: 'none'; readonly reason: string; readonly cause: Cause }

type ExplainedCell = {
  readonly hint: DateHint
  /** Whether the text may be shown. A text that is no date could be personal data in the wrong column. */
  readonly isShowable: boolean
}

/** Words that systems write instead of a date. */
const wordsForNone: ReadonlySet<string> = new Set(
  [
    '-',
    '--',
    '---',
    '.',
    '/',
    '?',
    '0',
    '#n/a',
    'n/a',
    'na',
    'n.a.',
    'null',
    '(null)',
    '\\n',
    'nil',
    'none',
    'nan',
    'nat',
  ].concat([
    'undefined',
    'open',
    'never',
    'present',
    'current',
    'unlimited',
    'permanent',
    'ongoing',
    'offen',
    'unbefristet',
    'keine',
  ]),
)
const excelNumber = /^[2-7]\d{4}([.,]\d+)?$/
const unixTime = /^1\d{9}(\d{3})?$/
/** Two-digit years first, and the day between year and month: suggested only if no other form fits. */
const rareOrder = /^(yy(?!y)|yyyy[^yM]?d)/
const elsewhere = 'have it corrected in the source'

/** Explains cells of a date column that are not dates as declared, or that mean "no date". */
export function dateExplainer(declared: DeclaredDates): (text: string) => ExplainedCell {
  const hintOf = formHints(declared)
  return (text) => {
    if (isPlaceholderDate(text) || wordsForNone.has(text.toLowerCase()))
      return { hint: declared.isField ? { kind: 'blank' } : noDay, isShowable: true }
    const written = analyseDate(text)
    if (written === null) return { hint: unreadable(text, declared), isShowable: false }
    const read = written.forms.filter((form) => dayOf(text, form) !== null)
    if (read.length === 0) {
      const reason = `${written.fault}; ${elsewhere}`
      return { hint: { kind: 'none', reason, cause: 'impossibleDate' }, isShowable: true }
    }
    return { hint: hintOf(text, read), isShowable: true }
  }
}

/** The hint as the end of a sentence about the cell. */
export function hintText(hint: DateHint, { formats }: DeclaredDates): string {
  switch (hint.kind) {
    case 'blank':
      return 'list it under blankWhen'
    case 'none':
      return hint.reason
    case 'form': {
      const [first] = hint.forms
      const named = hint.forms.map(({ format }) => (hint.added ? `[${[...formats, format].join(', ')}]` : format))
      const beside = [
        ...(first?.pivot === undefined ? [] : [` and pivot: ${first.pivot}`]),
        ...(first?.language === undefined ? [] : [` and language: ${first.language}`]),
      ]
      const choice = named.length > 1 ? ', whichever the source means' : ''
      return `write format: ${named.join(' or ')}${beside.join('')}${choice}`
    }
    default:
      return hint satisfies never
  }
}

/** Suggests the forms that read a text, as few as the declared formats allow. */
function formHints({ formats, isField, ...formatOptions }: DeclaredDates) {
  const fitting = new Map<string, boolean>()
  /** Whether a format can be added to the declared ones. */
  const fits = ({ format, language, pivot = formatOptions.pivot }: WrittenForm): boolean => {
    if (language !== undefined && language !== (formatOptions.language ?? 'en')) return false
    const known = fitting.get(format) ?? dateOverlapProblem([...formats, format], { ...formatOptions, pivot }) === null
    fitting.set(format, known)
    return known
  }
  return (text: string, read: readonly WrittenForm[]): DateHint => {
    const wider = read.find(({ format }) => formats.some((one) => withoutPadding(one) === withoutPadding(format)))
    if (wider !== undefined) return { kind: 'form', forms: [wider], added: false }
    const usual = read.filter(({ format }) => !rareOrder.test(format))
    const forms = [...Map.groupBy(usual.length > 0 ? usual : read, (form) => dayOf(text, form)).values()].flatMap(
      ([first]) => first ?? [],
    )
    return { kind: 'form', forms, added: isField && forms.every(fits) }
  }
}

const noDay: DateHint = {
  kind: 'none',
  reason: 'rows are put in order by the day from which they apply, and this is none',
  cause: 'unknownOrder',
}

function unreadable(text: string, { isField }: DeclaredDates): DateHint {
  const none = (reason: string, cause: Cause): DateHint => ({ kind: 'none', reason, cause })
  if (excelNumber.test(text))
    return none('it may be the number by which Excel stores a date; have the column exported as dates', 'dateNumber')
  if (unixTime.test(text))
    return none('it may count seconds since 1970; write an expression with $fromMillis and format: iso', 'dateNumber')
  return none(isField ? `${elsewhere}, or list it under blankWhen if it stands for no date` : elsewhere, 'noDate')
}

/** The cause of a fault with this hint. */
export function causeOf(hint: DateHint): Cause {
  switch (hint.kind) {
    case 'blank':
      return 'placeholderDate'
    case 'form':
      return 'otherDateFormat'
    case 'none':
      return hint.cause
    default:
      return hint satisfies never
  }
}

function dayOf(text: string, { format, ...formatOptions }: WrittenForm): string | null {
  return dateReader([format], formatOptions)(text, 'UTC')
}

/** The format without leading zeros, so that formats with the same order are equal. */
function withoutPadding(format: string): string {
  return format.replace(/MM?M?M?|dd|HH|hh/g, (token) => (token.length > 2 ? token : token.slice(0, 1)))
}
