import { normaliseHeader } from '../mapping/headers.ts'
import type { Mapping } from '../mapping/mapping.ts'
import type { MappableRow } from '../mapping/rows.ts'
import { isOwnField } from '../record.ts'
import { indexesOf, type LintScope } from './watch.ts'

const maxLines = 5

const number = String.raw`[-+]?(?:\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+|\d+)(?:[.,]\d+)?`
const amount = new RegExp(String.raw`^\(?${number}\)? ?[%€$£]?$`, 'u')
const totals = [
  '(?:grand|sub|overall|report|page)?[ -]?(?:totals?|sums?|counts?)',
  'headcount|zwischensumme|summe|gesamt(?:summe|zahl|anzahl)?|insgesamt|anzahl',
  'total g[eé]n[eé]ral|totaux|somme|totale|totaal|suma|soma|summa|yhteensä|合計|总计',
].join('|')
const countedNouns = 'rows?|records?|lines?|people|persons?|employees?|workers?|zeilen|datensätze|personen|mitarbeiter'
/** The whole label of a row of totals: a word, perhaps what is counted, perhaps the number. */
const totalsLabel = new RegExp(
  String.raw`^(?<word>${totals})(?: (?:of )?(?:${countedNouns}))?(?:(?<sign> ?[:=(] ?| )(?<sum>${number})\)?| ?:)?$`,
  'iu',
)
/** Words for a total that are also names of people or things. */
const isAlsoName = /^(?:sums?|counts?|suma|soma|summa|somme)$/i
/** Maximum number of lines above the totals that are not people: an introduction, the header, blank lines, other totals. */
const maxOtherLines = 20
// A date may be written without separators, so such a number in a column of dates belongs to a person.
const likeDate = /^\d{6,}$/
const enclosed = /^(?:\(.*\)|\[.*\]|<.*>|\{.*\})$/s

/** Fields that only rows of people fill. */
const personFields = [
  ...(['email', 'secondaryEmail', 'firstName', 'lastName', 'jobTitle', 'managerName'] as const),
  ...(['startedAt', 'separatedAt', 'status', 'action'] as const),
]

/** Finds rows that are not about a person: totals and repeated headers. */
type NotPeople = {
  /** Whether a row is not about a person. Needs every row, in the order of the export. */
  readonly isNotAPerson: (row: MappableRow) => boolean
  /** Whether a row names the columns again, in another order than the header: the header does not fit the rows below it. */
  readonly isReorderedHeader: (row: MappableRow) => boolean
  /** Whether the last row, although it is about a person, looks like totals. */
  readonly isLikeTotals: () => boolean
  /** Counts people up to this line whose rows are not passed in. */
  readonly addPeopleUntil: (lastLine: number) => void
  /** What was found and which setting helps; complete after the last row. Quotes only the word for a total. */
  readonly findings: () => string[]
}

type NotPeopleScope = Pick<LintScope, 'headers' | 'columns'> & { readonly mapping: Mapping }

/**
 * A row is a person unless nothing in it can be one. A row of totals has a label in one cell, and blanks or numbers in all others. A key
 * of its own makes it a person, unless that key is the number of the rows above it. A second header repeats the words of the columns.
 */
export function watchNotPeople(scope: NotPeopleScope): NotPeople {
  const layout = layoutOf(scope)
  const sums: Lines = { lines: [], count: 0, amongPeople: false }
  const likeSums: Lines = { lines: [], count: 0, amongPeople: false }
  const headings: Lines = { lines: [], count: 0, amongPeople: false }
  let label: TotalsLabel = { word: '', isFirstCell: false }
  let hasPeople = false
  let isLikeTotals = false

  return {
    isNotAPerson(row) {
      const { line } = row.origin
      isLikeTotals = false
      if (isHeading(row, layout, hasPeople)) {
        add(headings, line, hasPeople)
        return true
      }
      const total = totalIn(row, layout)
      if (total === null || total.hasKey) {
        hasPeople = true
        sums.amongPeople ||= sums.count > 0
        if (total !== null) {
          isLikeTotals = true
          label = total
          add(likeSums, line)
        }
        return false
      }
      label = total
      add(sums, line)
      return true
    },
    isReorderedHeader: (row) => isReorderedHeader(row, layout),
    isLikeTotals: () => isLikeTotals,
    addPeopleUntil(lastLine) {
      hasPeople = true
      sums.amongPeople ||= (sums.lines[0] ?? Number.POSITIVE_INFINITY) < lastLine
    },
    findings: () => [
      ...(headings.count > 0 ? [headingText(headings)] : []),
      ...(sums.count > 0 ? [totalsText(sums, label)] : []),
      ...(likeSums.count > 0 ? [likeTotalsText(likeSums, label)] : []),
    ],
  }
}

/** The columns of an export by their indexes, and the words that headers may have for them. */
type Layout = ReturnType<typeof layoutOf>

function layoutOf({ headers, columns, mapping }: NotPeopleScope) {
  const indexesFor = (header: string | undefined) => (header === undefined ? [] : indexesOf(header, headers))
  const key = indexesFor(columns.identityId)
  // A name without letters or digits is no word: it would equal a cell that holds only a dash.
  const words = new Set([...headers, ...namesIn(mapping)].map(normaliseHeader).filter((word) => word !== ''))
  const keyWords = new Set(
    [...key.map((index) => headers[index] ?? ''), ...namesOf(mapping.fields.identityId)].map(normaliseHeader),
  )
  return {
    headers,
    key,
    dates: [...indexesFor(columns.startedAt), ...indexesFor(columns.separatedAt)],
    hasPersonField: personFields.some((name) => columns[name] !== undefined),
    hasOwn: Object.keys(columns).some(isOwnField),
    mapped: [...new Set(Object.values(columns).flatMap(indexesFor))],
    words,
    wordsHoldDigits: [...words].some(holdsDigit),
    keyWords,
    keyWordsHoldDigits: [...keyWords].some(holdsDigit),
    ownWords: wordsOfColumns(mapping, { headers, columns, indexesFor }),
  }
}

/** The word for a total in a row of totals, and whether it is in the first cell. */
type TotalsLabel = { readonly word: string; readonly isFirstCell: boolean }

function totalIn({ values: all, fault, origin }: MappableRow, layout: Layout) {
  const { headers, key, dates, hasPersonField, hasOwn } = layout
  // The results of expressions follow the cells of the header.
  const values = fault?.column === null ? all : all.slice(0, headers.length)
  const at = values.findIndex((cell) => isFilled(cell) && !isAmount(cell))
  const { word, sign, sum } = totalsLabel.exec(values[at]?.trim() ?? '')?.groups ?? {}
  if (word === undefined) return null
  // If only a key is mapped, the word for a total may be the key of a person.
  const isSure = hasPersonField || (hasOwn && !isAlsoName.test(word))
  if (!isSure && (sum === undefined || !/[:=(]/.test(sign ?? ''))) return null
  if (!values.every((cell, index) => index === at || !isFilled(cell) || isAmount(cell))) return null
  if (dates.some((index) => likeDate.test(values[index]?.trim() ?? ''))) return null
  const keyCells = key.map((index) => values[index]).filter(isFilled)
  const isNumbered = keyCells.length > 0 && keyCells.every((cell) => isCountOfRows(cell, origin.line))
  const hasKey = key.length === 0 || (!key.includes(at) && keyCells.length > 0 && !isNumbered)
  return { word, isFirstCell: at === 0, hasKey }
}

function isHeading({ values }: MappableRow, layout: Layout, hasPeople: boolean): boolean {
  const { headers, key, words, mapped } = layout
  const [first = 0] = key
  const cell = values[first] ?? ''
  // Nearly every key holds a digit, and this runs for every row.
  if (holdsDigit(cell) && !layout.keyWordsHoldDigits) return false
  if (!hasPeople && isEnclosed(values)) return true
  if (key.length === 0) return values.length > 1 && values.every((text, index) => isSameHeader(text, headers[index]))
  if (!key.every((index) => layout.keyWords.has(normaliseHeader(values[index] ?? '')))) return false
  const filled = mapped.filter((index) => isFilled(values[index]))
  const known = filled.filter((index) => words.has(normaliseHeader(values[index] ?? '')))
  return known.length * 2 >= filled.length && (known.length > 1 || headers.length === 1)
}

function isReorderedHeader({ values: all }: MappableRow, { headers, key, words, ownWords, wordsHoldDigits }: Layout) {
  const values = all.slice(0, headers.length)
  const cell = values[key[0] ?? 0] ?? ''
  // As above: this runs for every row.
  if (holdsDigit(cell) && !wordsHoldDigits) return false
  if (!words.has(normaliseHeader(cell))) return false
  const filled = [...values.keys()].filter((index) => isFilled(values[index]))
  const known = filled.filter((index) => words.has(normaliseHeader(values[index] ?? '')))
  if (known.length < 2 || known.length * 2 < filled.length) return false
  return known.some((index) => !ownWords[index]?.has(normaliseHeader(values[index] ?? '')))
}

function isSameHeader(text: string | undefined, header: string | undefined): boolean {
  return isFilled(text) && normaliseHeader(text ?? '') === normaliseHeader(header ?? '')
}

type Lines = { readonly lines: number[]; count: number; amongPeople: boolean }

function add(rows: Lines, line: number, isAmongPeople = false): void {
  rows.count += 1
  rows.amongPeople ||= isAmongPeople
  if (rows.lines.length < maxLines) rows.lines.push(line)
}

function headingText(rows: Lines): string {
  const help = rows.amongPeople
    ? 'have the report name its columns once'
    : `if every export has ${rows.count === 1 ? 'it' : 'them'}, write linesAfterHeader: ${rows.count}`
  return `${description(rows, 'a second header', 'further headers')}; ${help}`
}

function totalsText(rows: Lines, { word, isFirstCell }: TotalsLabel): string {
  const help =
    rows.amongPeople || !isFirstCell
      ? 'have the report leave totals out'
      : `write footer: { startsWith: ${word} }, and an export without it counts as cut off`
  return `${description(rows, `a row of totals ("${word}")`, `rows of totals ("${word}")`)}; ${help}`
}

function likeTotalsText({ lines: [line], count }: Lines, { word }: TotalsLabel): string {
  const rows = count === 1 ? `line ${line} reads` : `${count} rows, such as line ${line}, read`
  return `${rows} like totals ("${word}"), but with a key, so as a person; if it is none, leave it out with footer`
}

function description({ lines, count }: Lines, one: string, several: string): string {
  if (count === 1) return `line ${lines[0]} is ${one} and no person, so it was left out`
  const more = count > lines.length ? ` and ${count - lines.length} more` : ''
  return `${count} rows are ${several} and no people, so they were left out (lines ${lines.join(', ')}${more})`
}

function isFilled(cell: string | undefined): boolean {
  return cell !== undefined && cell.trim() !== ''
}

function isAmount(cell: string | undefined): boolean {
  return amount.test(cell?.trim() ?? '')
}

/** Whether a cell holds the number of the rows above this line. A key that counts people upwards is never that number: the header counts, too. */
function isCountOfRows(cell: string | undefined, line: number): boolean {
  const count = Number(
    cell
      ?.trim()
      .replace(/[.,]00?$/, '')
      .replaceAll(/[.,'’ \u00a0\u202f]/g, ''),
  )
  const most = line - 2
  return count > 0 && count <= most && count >= most - maxOtherLines
}

function isEnclosed(values: MappableRow['values']): boolean {
  const filled = values.filter(isFilled)
  return filled.length > 1 && filled.every((cell) => enclosed.test(cell?.trim() ?? ''))
}

function holdsDigit(text: string): boolean {
  return /\d/.test(text)
}

type ColumnNames = {
  readonly column?: string | readonly string[]
  readonly firstOf?: readonly (string | readonly string[])[] | undefined
}

function namesOf({ column = [], firstOf = [] }: ColumnNames): string[] {
  return [column, ...firstOf].flat()
}

/** The names under which a mapping looks for its columns. */
function namesIn(mapping: Mapping): string[] {
  return rulesIn(mapping).flatMap(([, rule]) => namesOf(rule))
}

function rulesIn({ fields, status, action }: Mapping): [keyof LintScope['columns'], ColumnNames][] {
  const rules = Object.entries({ ...fields, status, action }) as [keyof LintScope['columns'], ColumnNames | undefined][]
  return rules.flatMap(([name, rule]) => (rule === undefined ? [] : [[name, rule]]))
}

/** For each column, the words that a header may have for it: its own, and the names of the rules that read it. */
function wordsOfColumns(
  mapping: Mapping,
  {
    headers,
    columns,
    indexesFor,
  }: Pick<LintScope, 'headers' | 'columns'> & {
    readonly indexesFor: (header: string | undefined) => readonly number[]
  },
): readonly ReadonlySet<string>[] {
  const words = headers.map((header) => new Set([normaliseHeader(header)]))
  for (const [name, rule] of rulesIn(mapping)) {
    for (const index of indexesFor(columns[name]))
      for (const word of namesOf(rule)) words[index]?.add(normaliseHeader(word))
  }
  return words
}
