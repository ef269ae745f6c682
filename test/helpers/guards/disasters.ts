import { gzipSync } from 'node:zlib'
import iconv from 'iconv-lite'
import { type Column, columns, csv, line, type Row } from './company.ts'

/** An export that is wrong in one way, as it is made of a right one. */
export type Disaster = {
  readonly name: string
  readonly file: string
  readonly content: (rows: readonly Row[]) => string | Uint8Array
  /** Days before tonight that the export says it was taken. */
  readonly daysOld?: number
}

type Edit = (row: Row, at: number) => Row

const dates = ['Start Date', 'Leaving Date'] as const satisfies readonly Column[]
const texts = ['First Name', 'Last Name', 'Job Title', 'Work Email'] as const satisfies readonly Column[]
const data = columns.slice(1)

function each(edit: Edit): Disaster['content'] {
  return (rows) => csv(rows.map(edit))
}

function only(keeps: (row: Row, at: number) => boolean): Disaster['content'] {
  return (rows) => csv(rows.filter(keeps))
}

function named(name: string, content: Disaster['content'], rest: Partial<Disaster> = {}): Disaster {
  return { name, file: `people-${name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.csv`, content, ...rest }
}

/** Cells that lie one place too far left or right from a column on, in some of the rows. The line keeps its number of cells. */
function shifted(from: number, by: -1 | 1, isAffected: (at: number) => boolean): Disaster['content'] {
  return (rows) => {
    const lines = rows.map((row, at) => {
      const cells = columns.map((column) => row[column])
      if (!isAffected(at)) return line(cells)
      const shiftedCells = by === 1 ? cells.toSpliced(from, 0, '').slice(0, -1) : [...cells.toSpliced(from, 1), '']
      return line(shiftedCells)
    })
    return [line(columns), ...lines, ''].join('\n')
  }
}

function onDate(column: (typeof dates)[number], move: (date: Temporal.PlainDate, at: number) => string): Edit {
  return (row, at) => {
    const [month = '', day = '', year = ''] = row[column].split('/')
    if (year === '') return row
    return { ...row, [column]: move(Temporal.PlainDate.from(`${year}-${month}-${day}`), at) }
  }
}

function written({ year, month, day }: Temporal.PlainDate): string {
  return `${String(month).padStart(2, '0')}/${String(day).padStart(2, '0')}/${year}`
}

const always = () => true
const shiftedParts = [
  ['every row', always],
  ['every second row', (at: number) => at % 2 === 0],
  ['the last quarter', (at: number) => at >= 300],
] as const

const cellShifts = columns
  .slice(0, -1)
  .flatMap((column, from) =>
    shiftedParts.flatMap(([part, isAffected]) => [
      named(`cells one to the right from ${column}, ${part}`, shifted(from, 1, isAffected)),
      named(`cells one to the left from ${column}, ${part}`, shifted(from, -1, isAffected)),
    ]),
  )

const dateSlips = dates.flatMap((column) => [
  named(`${column} a day earlier`, each(onDate(column, (date) => written(date.subtract({ days: 1 }))))),
  named(`${column} a day later`, each(onDate(column, (date) => written(date.add({ days: 1 }))))),
  named(`${column} a month later`, each(onDate(column, (date) => written(date.add({ months: 1 }))))),
  named(`${column} a century ago`, each(onDate(column, (date) => written(date.subtract({ years: 100 }))))),
  named(
    `${column} with day and month swapped`,
    each(
      onDate(
        column,
        ({ year, month, day }) => `${String(day).padStart(2, '0')}/${String(month).padStart(2, '0')}/${year}`,
      ),
    ),
  ),
  named(
    `${column} with day and month swapped where that is a date`,
    each(
      onDate(column, (date) =>
        date.day <= 12 ? written(date.with({ month: date.day, day: date.month })) : written(date),
      ),
    ),
  ),
  named(`${column} as 1970`, each(onDate(column, () => '01/01/1970'))),
  named(`${column} in ISO form`, each(onDate(column, (date) => date.toString()))),
  named(
    `${column} as days of a spreadsheet`,
    each(onDate(column, (date) => String(date.since('1899-12-30', { largestUnit: 'days' }).days))),
  ),
  named(
    `${column} with years of two digits`,
    each(onDate(column, (date) => `${written(date).slice(0, 6)}${String(date.year).slice(2)}`)),
  ),
])

const columnFaults = data.flatMap((column) => [
  named(
    `${column} blank`,
    each((row) => ({ ...row, [column]: '' })),
  ),
  named(
    `${column} blank in every second row`,
    each((row, at) => (at % 2 === 0 ? { ...row, [column]: '' } : row)),
  ),
  named(`${column} of the next person`, (rows) =>
    csv(rows.map((row, at) => ({ ...row, [column]: rows[(at + 1) % rows.length]?.[column] ?? '' }))),
  ),
  named(`${column} sorted by itself`, (rows) => {
    const sorted = rows.map((row) => row[column]).toSorted()
    return csv(rows.map((row, at) => ({ ...row, [column]: sorted[at] ?? '' })))
  }),
  named(`${column} the same for all`, (rows) =>
    csv(rows.map((row) => ({ ...row, [column]: rows[0]?.[column] ?? '' }))),
  ),
  named(`${column} gone`, (rows) => {
    const rest = columns.filter((one) => one !== column)
    return `${[rest, ...rows.map((row) => rest.map((one) => row[one]))].map(line).join('\n')}\n`
  }),
  named(
    `${column} as N/A`,
    each((row) => ({ ...row, [column]: 'N/A' })),
  ),
])

const reEncoded = [
  ...texts.map((column) =>
    named(
      `${column} in upper case`,
      each((row) => ({ ...row, [column]: row[column].toUpperCase() })),
    ),
  ),
  ...texts.map((column) =>
    named(
      `${column} decoded by another encoding`,
      each((row) => ({ ...row, [column]: iconv.decode(Buffer.from(row[column]), 'windows-1252') })),
    ),
  ),
  named('all texts decoded by another encoding', (rows) => iconv.decode(Buffer.from(csv(rows)), 'windows-1252')),
  named('written in windows-1252', (rows) => iconv.encode(csv(rows), 'windows-1252')),
  named('written in UTF-16', (rows) => iconv.encode(csv(rows), 'utf-16le', { addBOM: true })),
  named('without any letter beyond ASCII', (rows) => csv(rows).replaceAll(/\P{ASCII}/gu, '?')),
  named('with semicolons', (rows) => csv(rows).replaceAll(',', ';')),
  named('packed', (rows) => gzipSync(csv(rows))),
]

const keys = [
  named(
    'keys without leading zeros',
    each((row) => ({ ...row, 'Worker ID': row['Worker ID'].replace(/^W0+/, 'W') })),
  ),
  named(
    'keys without their letter',
    each((row) => ({ ...row, 'Worker ID': row['Worker ID'].slice(1) })),
  ),
  named(
    'keys in lower case',
    each((row) => ({ ...row, 'Worker ID': row['Worker ID'].toLowerCase() })),
  ),
  named(
    'keys of a new system',
    each((row, at) => ({ ...row, 'Worker ID': `N-${9000 + at}` })),
  ),
  named('keys of the next person', (rows) =>
    csv(rows.map((row, at) => ({ ...row, 'Worker ID': rows[(at + 1) % rows.length]?.['Worker ID'] ?? '' }))),
  ),
  named(
    '18 keys of 400 issued again',
    each((row, at) => (at % 22 === 3 ? { ...row, 'Worker ID': `X${at}` } : row)),
  ),
  named('two keys exchanged', (rows) =>
    csv(
      rows.map((row, at) => {
        const other = at < 2 ? rows[1 - at] : undefined
        return other ? { ...row, 'Worker ID': other['Worker ID'] } : row
      }),
    ),
  ),
  named(
    'keys as a spreadsheet rounds them',
    each((row, at) => ({ ...row, 'Worker ID': `${(at / 1000).toFixed(1)}E+09` })),
  ),
  named(
    'the same key for all',
    each((row) => ({ ...row, 'Worker ID': 'W00001' })),
  ),
  named(
    'keys blank in every second row',
    each((row, at) => (at % 2 === 0 ? { ...row, 'Worker ID': '' } : row)),
  ),
]

const statuses = [
  named(
    'everybody left',
    each((row) => ({ ...row, Status: 'Inactive' })),
  ),
  named(
    'nobody left',
    each((row) => ({ ...row, Status: 'Active', 'Leaving Date': '' })),
  ),
  named(
    'statuses inverted',
    each((row) => ({ ...row, Status: row.Status === 'Active' ? 'Inactive' : 'Active' })),
  ),
  named(
    'statuses in another language',
    each((row) => ({ ...row, Status: row.Status === 'Active' ? 'Aktiv' : 'Inaktiv' })),
  ),
  named(
    'everybody on leave',
    each((row) => ({ ...row, Status: 'On Leave' })),
  ),
  named(
    'everybody a contractor',
    each((row) => ({ ...row, Type: 'Contractor' })),
  ),
  named(
    'nobody a contractor',
    each((row) => ({ ...row, Type: 'Employee' })),
  ),
  named(
    'contractors and employees exchanged',
    each((row) => ({ ...row, Type: row.Type === 'Employee' ? 'Contractor' : 'Employee' })),
  ),
  named(
    'everybody leaves tonight',
    each((row) => ({ ...row, 'Leaving Date': '11/19/2026' })),
  ),
  named(
    'everybody hired tonight',
    each((row) => ({ ...row, 'Start Date': '11/19/2026' })),
  ),
]

const atEnd = (share: number) => (rows: readonly Row[]) => {
  const text = csv(rows)
  return text.slice(0, Math.floor(text.length * share))
}

const partial = [
  named('empty', () => ''),
  named('only the header', () => csv([])),
  named('no header', (rows) => csv(rows, null)),
  ...[0.25, 0.5, 0.75, 0.98].map((share) => named(`cut in a row at ${share * 100} %`, atEnd(share))),
  ...[0.25, 0.5, 0.75, 0.95].map((share) =>
    named(`cut between rows at ${share * 100} %`, (rows: readonly Row[]) => csv(rows.slice(0, rows.length * share))),
  ),
  named(
    'the first half missing',
    only((_, at) => at >= 200),
  ),
  named(
    'the middle missing',
    only((_, at) => at < 150 || at >= 250),
  ),
  named(
    'every second row missing',
    only((_, at) => at % 2 === 0),
  ),
  named(
    'every tenth row missing',
    only((_, at) => at % 10 !== 4),
  ),
  named(
    'only contractors',
    only(({ Type }) => Type === 'Contractor'),
  ),
  named(
    'no contractors',
    only(({ Type }) => Type === 'Employee'),
  ),
  named(
    'only those who left',
    only(({ Status }) => Status === 'Inactive'),
  ),
  named(
    'only one title',
    only((row) => row['Job Title'] === 'Driver'),
  ),
  named(
    'the last row missing',
    only((_, at) => at !== 398),
  ),
  named(
    'no manager with fewer than two reports',
    only((row) => Number(row['Worker ID'].slice(1)) <= 40),
  ),
]

const repeated = [
  named('everybody twice', (rows) => csv([...rows, ...rows])),
  named('the first half twice', (rows) => csv([...rows, ...rows.slice(0, 200)])),
  named(
    'with the export of another day behind it',
    (rows) => csv(rows) + csv(rows.map((row) => ({ ...row, Status: 'Inactive' }))),
  ),
  named('pages with a header each', (rows) => csv(rows.slice(0, 200)) + csv(rows.slice(200))),
]

const stale = [
  named('of three weeks ago', (rows) => csv(rows.slice(0, 380)), { daysOld: 21 }),
  named(
    'of three weeks ago under a new date',
    only((_, at) => at < 380),
  ),
]

const foreign = [
  named('another company', (rows) =>
    csv(rows.map((row, at) => ({ ...row, 'Worker ID': `T${at}`, 'Work Email': `t${at}@other.example` }))),
  ),
  named('the test system', (rows) =>
    csv(
      rows.map((row, at) => ({
        ...row,
        'First Name': 'Test',
        'Last Name': `User ${at}`,
        'Work Email': `test${at}@acme.example`,
      })),
    ),
  ),
  named(
    'an error page',
    () => '<!doctype html>\n<html><head><title>503</title></head>\n<body>Service unavailable</body></html>\n',
  ),
  named('JSON', (rows) => JSON.stringify(rows)),
  named('zeros', () => new Uint8Array(40_000)),
  named(
    'e-mails of another domain',
    each((row) => ({ ...row, 'Work Email': row['Work Email'].replace('acme', 'acme-group') })),
  ),
  named(
    'a total below the people',
    (rows) => `${csv(rows)}${line(['Total', '400', '', '', '', '', '', '', '', ''])}\n`,
  ),
  named('a title above the header', (rows) => `Headcount report,,,,,,,,,\n${csv(rows)}`),
]

export const disasters: readonly Disaster[] = [
  ...cellShifts,
  ...dateSlips,
  ...columnFaults,
  ...reEncoded,
  ...keys,
  ...statuses,
  ...partial,
  ...repeated,
  ...stale,
  ...foreign,
]
