import { languages, monthNames } from './month-names.ts'

/** Years that mean "no date": the first and the last that date types of databases can hold. */
const placeholderYears: ReadonlySet<string> = new Set(['0000', '0001', '9999'])

/**
 * Days that systems store for "no date". They are found in any order of day and month. Typing errors are not among them: a leaving date in
 * 2205 is a mistake and does not mean that somebody stays.
 */
const placeholderDays = [
  '1111-11-11', // typed by hand
  '1601-01-01', // Windows and Active Directory
  '1700-01-01', // Infor Lawson
  '1753-01-01', // SQL Server, Dynamics NAV
  '1800-01-01', // SAP, the lowest date
  '1899-12-30', // Access, OLE Automation
  '1899-12-31', // Excel, and 1900-01-01 of a time zone east of UTC
  '1900-01-00', // Excel's number 0, as 1/0/1900
  '1900-01-01', // SQL Server, Dynamics AX
  '1901-01-01', // PeopleSoft
  '1904-01-01', // Excel of the Mac
  '1969-12-31', // the Unix epoch in time zones west of UTC
  '1970-01-01', // the Unix epoch
  '2079-06-06', // SQL Server's smalldatetime
  '2099-12-31',
  '2100-01-01',
  '2100-12-31',
  '2154-12-31', // Dynamics 365
  '2199-12-31',
  '2200-01-01',
  '2999-01-01',
  '2999-12-31',
  '3000-01-01',
  '3000-12-31',
  '4712-12-31', // Oracle
]
const placeholderKeys: ReadonlySet<string> = new Set(
  placeholderDays.map((day) => {
    const [year = '', month = '', date = ''] = day.split('-')
    return dayKey(year, [month, date])
  }),
)

const timeAfterDay =
  /(T\d{2}(\d{2}(\d{2}([.,]\d+)?)?)?|,?[T ]\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?)( ?[ap]\.?m\.?)?( ?(Z|UTC|[+-]\d{2}(:?\d{2})?))?(\[[\w/+-]+\])?$/i
const threeParts = /^([\p{L}\d]+)[ ./,-]{1,2}([\p{L}\d]+)[ ./,-]{1,2}([\p{L}\d]+)$/u
const onlyDigits = [/^(\d{4})(\d{2})(\d{2})$/, /^(\d{2})(\d{2})(\d{4})$/, /^(\d{2})(\d{2})(\d{2})$/]
const zeros = /^0+$/
const nines = /^99+$/
const months: ReadonlyMap<string, string> = new Map(
  languages.flatMap((language) =>
    (['short', 'long'] as const).flatMap((length) =>
      monthNames(length, language).flatMap((spellings, index) =>
        spellings.map((name): [string, string] => [name.toLowerCase(), String(index + 1)]),
      ),
    ),
  ),
)

/**
 * Whether a cell of a start or leaving date is a placeholder for "none", such as 0000-00-00, 31.12.9999 or 1900-01-01, in any order of
 * day and month, with names of months, and with a time after it.
 */
export function isPlaceholderDate(cell: string): boolean {
  const day = cell.trim().normalize('NFC').replace(timeAfterDay, '')
  return [threeParts, ...onlyDigits].some((pattern) => isPlaceholderDay(pattern.exec(day)?.slice(1) ?? []))
}

/** Whether a day is so far away that its cell may be a placeholder. This saves the full check for most days. */
export function mayBePlaceholder(day: string): boolean {
  return day < '1972' || day >= '2078'
}

/** The different placeholders among the cells of a column, for `blankWhen`. */
export function placeholdersIn(cells: Iterable<string>): readonly string[] {
  return [...new Set(Iterator.from(cells).map((cell) => cell.trim()))].filter(isPlaceholderDate)
}

function isPlaceholderDay(parts: readonly string[]): boolean {
  if (parts.length > 0 && [zeros, nines].some((digits) => parts.every((part) => digits.test(part)))) return true
  const numbers = parts.map((part) => months.get(part.toLowerCase()) ?? part)
  const [year, ...otherYears] = numbers.filter((number) => /^\d{4}$/.test(number))
  const dayAndMonth = numbers.filter((number) => /^[0-3]?\d$/.test(number))
  if (year === undefined || otherYears.length > 0 || dayAndMonth.length !== 2) return false
  return placeholderYears.has(year) || placeholderKeys.has(dayKey(year, dayAndMonth))
}

function dayKey(year: string, dayAndMonth: readonly string[]): string {
  const numbers = dayAndMonth.map(Number).toSorted((a, b) => a - b)
  return [year, ...numbers].join('-')
}
