import { dateText, isoDateText } from './dates.ts'
import { decodeEscapes } from './escapes.ts'
import { formatDigits } from './number-formats.ts'
import { plainNumber } from './numbers.ts'
import type { Workbook } from './package.ts'
import type { SharedStrings } from './shared-strings.ts'
import type { Styles } from './styles.ts'

/** A cell as the sheet stores it. */
export type StoredCell = {
  /** The attribute `t`; `n` if it is missing. */
  type: string
  /** The number of its style; -1 if it has none. */
  style: number
  /** The content of `v`, or of an inline string without its escapes. */
  text: string
  /** The element that holds it: a value or an inline string; null: there is none. */
  valueIn: 'v' | 'is' | null
  /** Whether there is a value that is not blank beside its inline string. */
  hasValueBeside: boolean
  hasFormula: boolean
  /** The cells that its formula fills besides this one, such as `B2:B9`; null: none. */
  range: string | null
}

/** A cell without anything. */
export const blankCell: Readonly<StoredCell> = {
  type: 'n',
  style: -1,
  text: '',
  valueIn: null,
  hasValueBeside: false,
  hasFormula: false,
  range: null,
}

/** What the cells of a workbook refer to. */
export type CellContext = Pick<Workbook, 'isFrom1904' | 'isUncalculated'> & {
  readonly strings: SharedStrings
  readonly styles: Styles
}

/** The text of a cell, or why the cell cannot be used. null: the workbook is damaged. */
type CellContent = string | { readonly reason: string } | null

/** The content of a formula without its result. */
export const notCalculated = {
  reason: 'the cell holds a formula without its result: have the workbook opened, calculated and saved by Excel',
} as const

const blankBesideValue = {
  reason:
    'the cell holds a blank text and a value beside it, and only one can be true: have the workbook saved by Excel',
} as const

/** The text of a stored cell: blank if it has only a style. Formulas are read by their stored result. */
export function cellContent(cell: StoredCell, context: CellContext): CellContent {
  const { type, text, hasFormula } = cell
  const hasValue = cell.valueIn !== null
  if (hasFormula && context.isUncalculated) return notCalculated
  // Some writers put an empty value beside a formula that they did not calculate. Only a text may be empty.
  if (hasFormula && text === '' && !(hasValue && type === 'str')) return notCalculated
  if (!hasValue) return ''
  switch (type) {
    case 's':
      // Some companies' own programs write an empty reference for a missing text. Excel shows a blank cell.
      if (text === '') return ''
      return /^\d{1,9}$/.test(text) ? textContent(context.strings.at(Number(text)) ?? null) : null
    case 'str':
      return textContent(decodeEscapes(text))
    case 'inlineStr':
      return text.trim() === '' && cell.hasValueBeside ? blankBesideValue : textContent(text)
    case 'n':
      return text === '' ? '' : numberContent(text, cell.style, context)
    case 'b':
      return booleanContent(text)
    case 'e':
      return { reason: `the cell holds the error ${/^#[A-Z0-9/?!_]{1,20}$/.test(text) ? text : 'of a formula'}` }
    case 'd':
      return contentOf(isoDateText(text))
    default:
      return { reason: 'the cell has a type that the XLSX format does not define' }
  }
}

function booleanContent(text: string): CellContent {
  if (text === '1' || text === 'true') return 'TRUE'
  return text === '0' || text === 'false' ? 'FALSE' : { reason: 'the cell is neither true nor false' }
}

function numberContent(stored: string, style: number, { styles, isFrom1904 }: CellContext): CellContent {
  const plain = plainNumber(stored)
  if (plain === null) return { reason: 'the cell has the type number, but its content is not a number' }
  const format = styles[style]
  switch (format?.kind) {
    case undefined:
    case 'plain':
      return plain
    case 'digits': {
      const isFormatted = /^\d+$/.test(plain) && !(format.hasOwnZero && plain === '0')
      return isFormatted ? formatDigits(plain, format.pieces) : plain
    }
    case 'date':
    case 'dateTime':
    case 'time':
      return contentOf(dateText({ value: Number(stored), isFrom1904 }, format.kind))
    default:
      return format satisfies never
  }
}

function contentOf(date: { readonly text: string } | { readonly reason: string }): CellContent {
  return 'text' in date ? date.text : date
}

function textContent(text: string | null): CellContent {
  if (text === null) return null
  if (text.includes('\uFFFD'))
    return { reason: 'the cell holds U+FFFD, which stands for a character that was lost before the export was written' }
  if (text.includes('\0') || !text.isWellFormed())
    return { reason: 'the cell holds text with a NUL character or half a character' }
  return text
}
