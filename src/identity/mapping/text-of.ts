import { foldValue } from './fold-value.ts'
import type { ColumnFinder, MatchedColumn } from './headers.ts'
import { type TemplatePart, templateParts } from './template.ts'
import type { TextRule } from './text-rules.ts'

/** The cells of a row in the order of the header; undefined if the row lacks the column. */
export type RowValues = readonly (string | undefined)[]

/** How the text of a field is made from the rows of one source. */
export type BoundText = {
  /** The columns that it is made of. */
  readonly indexes: readonly number[]
  /** The name of the text in messages. */
  readonly header: string
  /** Makes the text; undefined if the row states too little for it. null: the cell of the only column is the text. */
  readonly textOf: ((values: RowValues) => string | undefined) | null
}

/** The source to which a rule is bound. */
type BindContext = {
  readonly find: ColumnFinder
  readonly sparse: boolean
  /** A column that a sparse source lacks is blank. */
  readonly missingIsBlank: boolean
  /** The index of the result of the field's expression in a row. */
  readonly derivedIndex: number
  /** Whether the field is the key of a person: without any of its parts there is no key. */
  readonly isKey: boolean
}

/** A bound text; `unmapped` if the source may lack it; or one sentence for each missing column. */
type Binding = BoundText | 'unmapped' | { readonly missing: readonly string[] }

/** Binds the rule of one field to the columns of a source. */
export function bindText(name: string, rule: TextRule, context: BindContext): Binding {
  const isBlank = blankTest(rule.blankWhen)
  if (rule.expression !== undefined) return derivedText(name, isBlank, context)
  if (rule.template !== undefined) {
    const parts = templateParts(rule.template)
    const entries = parts.flatMap((part) => ('column' in part ? [[part.column]] : []))
    const { existing, missing } = lookUp(name, entries, { rule, context })
    if (missing.length > 0) return { missing }
    const isEnough = context.missingIsBlank && !context.isKey ? existing.length > 0 : existing.length === entries.length
    return isEnough ? templateText(parts, existing, { isBlank, context }) : 'unmapped'
  }
  const entries = (rule.firstOf ?? [rule.column ?? []]).map((names) => [names].flat())
  const { existing, missing } = lookUp(name, entries, { rule, context })
  if (missing.length > 0) return { missing }
  if (context.isKey && existing.length < entries.length) return 'unmapped'
  const [first, ...others] = existing
  if (first === undefined) return 'unmapped'
  // In a sparse source, a column that no row has is not stated, but it is not missing either.
  const isSilent = context.sparse && !context.missingIsBlank && existing.length < entries.length
  if (others.length === 0 && rule.blankWhen === undefined && !isSilent) {
    return { indexes: [first.index], header: first.header, textOf: null }
  }
  return firstOfText(existing, { isBlank, isKey: context.isKey, isSilent })
}

type ExistingColumn = Extract<MatchedColumn, { kind: 'one' }>
type BlankTest = (text: string) => boolean

function blankTest(words: readonly string[] = []): BlankTest {
  const blank = new Set(words.map(foldValue))
  if (blank.size === 0) return (text) => text.trim() === ''
  return (text) => text.trim() === '' || blank.has(foldValue(text))
}

/** The existing columns in order, and a sentence for each missing column that is required. */
function lookUp(
  name: string,
  entries: readonly (readonly string[])[],
  { rule, context }: { readonly rule: TextRule; readonly context: BindContext },
): { readonly existing: readonly ExistingColumn[]; readonly missing: readonly string[] } {
  const mayLack = context.sparse || rule.optional === true
  const existing: ExistingColumn[] = []
  const missing: string[] = []
  for (const names of entries) {
    const column = context.find(names)
    if (column.kind === 'one') existing.push(column)
    else if (column.kind === 'several' || !mayLack) missing.push(whyMissing(name, names, column))
  }
  return { existing, missing }
}

function derivedText(name: string, isBlank: BlankTest, { derivedIndex }: BindContext): BoundText {
  const textOf = (values: RowValues) => {
    if (derivedIndex >= values.length) throw new Error('the row was not read through withExpressions')
    const text = values[derivedIndex]
    return text !== undefined && isBlank(text) ? '' : text
  }
  return { indexes: [derivedIndex], header: `the expression of ${name}`, textOf }
}

/** `isSilent`: a column of a sparse source is missing, so that no row states it. */
type FirstOfOptions = { readonly isBlank: BlankTest; readonly isKey: boolean; readonly isSilent: boolean }

/** The first cell that is not blank. The text is blank only if the row states every cell. */
function firstOfText(existing: readonly ExistingColumn[], { isBlank, isKey, isSilent }: FirstOfOptions): BoundText {
  const indexes = existing.map(({ index }) => index)
  const textOf = (values: RowValues) => {
    let blank: string | undefined = isSilent ? undefined : ''
    for (const index of indexes) {
      const text = values[index]
      if (text !== undefined && !isBlank(text)) return text
      if (text === undefined && isKey) return undefined
      if (text === undefined) blank = undefined
    }
    return blank
  }
  return { indexes, header: headersOf(existing), textOf }
}

/** The cells between the literals of a template. A blank cell also removes the gap beside it. If all are blank, so is the text. */
function templateText(
  parts: readonly TemplatePart[],
  existing: readonly ExistingColumn[],
  { isBlank, context: { find, isKey } }: { readonly isBlank: BlankTest; readonly context: BindContext },
): BoundText {
  const indexes = existing.map(({ index }) => index)
  const columns = parts.flatMap((part) => ('column' in part ? [find([part.column])] : []))
  const textOf = (values: RowValues) => {
    const cells = columns.map((column) => (column.kind === 'one' ? values[column.index] : ''))
    if (cells.includes(undefined)) return undefined
    const texts = cells.map((cell = '') => (isBlank(cell) ? '' : cell.trim()))
    if (isKey ? texts.includes('') : texts.every((text) => text === '')) return ''
    return fillTemplate(parts, texts)
  }
  return { indexes, header: headersOf(existing), textOf }
}

function fillTemplate(parts: readonly TemplatePart[], texts: readonly string[]): string {
  const rest = texts.values()
  let text = ''
  let afterBlank = false
  for (const part of parts) {
    const piece = 'literal' in part ? part.literal : (rest.next().value ?? '')
    const gapBefore = text === '' || /\s$/.test(text)
    text += afterBlank && gapBefore ? piece.trimStart() : piece
    afterBlank = 'column' in part ? piece === '' : afterBlank && piece.trim() === ''
  }
  return text.trim()
}

function headersOf(existing: readonly ExistingColumn[]): string {
  return existing.map(({ header }) => header).join(', ')
}

function whyMissing(name: string, names: readonly string[], column: Exclude<MatchedColumn, { kind: 'one' }>): string {
  if (column.kind === 'several') {
    return `${quoteNames(column.headers)} (${name}) read the same in the header; rename or drop one of the columns`
  }
  const absent =
    names.length === 1
      ? `column ${quoteNames(names)} (${name}) is not in the header`
      : `none of the columns ${quoteNames(names)} (${name}) is in the header`
  return column.similar === null ? absent : `${absent}; did you mean "${column.similar}"?`
}

function quoteNames(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
