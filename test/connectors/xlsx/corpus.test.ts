import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeXlsx } from 'hucre/xlsx'
import { describe, expect, test } from 'vitest'
import writeExcelFile from 'write-excel-file/node'
import { readCsv, refusalOf } from '../../helpers/sources/csv.ts'
import { xlsx } from '../../helpers/sources/workbooks.ts'

const samples = join(import.meta.dirname, '../../samples/workbooks')

/** The rows of every workbook here, as a CSV would have them. */
const csv = [
  'Employee ID,First Name,Last Name,Start Date,Termination Date,Badge Issued,Shift,Manager,Salary,Card,Department,Note',
  '00123,Ana María,Müller,2019-03-01,,2026-01-05T17:30:00,09:00:00,TRUE,1234.5,123456789012345,Sales,"first line\nsecond line"',
  '00007,Ben,"O\'Neill, Jr.",2021-12-31,2026-10-31,2026-01-05,18:00:00,FALSE,0.1,100000000000000,2," padded ""quoted"" "',
  '99999,山田,太郎,1999-02-28,,,,TRUE,-12.25,411111111111111,,',
  '',
].join('\n')

const notStored = 'the cell holds a formula without its result: have the workbook opened, calculated and saved by Excel'
const expected = await readCsv(csv)

describe('a workbook has the rows of its CSV if it was written by', () => {
  test.for([
    'libreoffice.xlsx',
    'libreoffice-1904.xlsx',
    'openpyxl.xlsx',
    'openpyxl-1904.xlsx',
    'xlsxwriter.xlsx',
    'xlsxwriter-1904-inline.xlsx',
  ])('%s', async (name) => {
    const read = await readCsv(await readFile(join(samples, name)), { ...xlsx, headerLine: 3 })
    // XlsxWriter calculates no formula, and says so. Here it was given the right result.
    const isUncalculated = name.startsWith('xlsxwriter')
    const [first = [], ...others] = expected.rows
    const rows = isUncalculated ? [first.with(10, ''), ...others] : expected.rows

    expect([read.headers, ...read.rows]).toEqual([expected.headers, ...rows])
    expect(read.lines).toEqual([4, 5, 7])
    expect(read.faults).toEqual(isUncalculated ? [{ line: 4, column: 10, reason: notStored }] : [])
  })

  test.for([
    ['openpyxl-formulas.xlsx', [[2, 2]]],
    ['xlsxwriter-formulas.xlsx', [[1, 1], [1, 2]]], // biome-ignore format: pairs
  ] as const)('%s, whose formulas were not calculated', async ([name, cells]) => {
    const read = await readCsv(await readFile(join(samples, name)), xlsx)

    expect(read.headers).toEqual(['Employee ID', 'Status', 'Termination Date'])
    expect(read.faults).toEqual(cells.map(([row, column]) => ({ line: row + 1, column, reason: notStored })))
  })

  const day = (text: string) => new Date(`${text}Z`)
  const values = [
    [
      123,
      'Ana María',
      'Müller',
      day('2019-03-01'),
      null,
      day('2026-01-05T17:30:00'),
      0.375,
      true,
      1234.5,
      123456789012345,
      'Sales',
      'first line\nsecond line',
    ],
    [
      7,
      'Ben',
      "O'Neill, Jr.",
      day('2021-12-31'),
      day('2026-10-31'),
      day('2026-01-05T00:00:00'),
      0.75,
      false,
      0.1,
      1e14,
      2,
      ' padded "quoted" ',
    ],
    [99999, '山田', '太郎', day('1999-02-28'), null, null, null, true, -12.25, 411111111111111, null, null],
  ]
  const formats: Readonly<Record<number, string>> = {
    ...{ 0: '00000', 3: 'dd/mm/yyyy', 4: 'yyyy-mm-dd', 5: 'd. mmmm yyyy hh:mm', 6: 'hh:mm', 8: '#,##0.00', 9: '0' },
  }

  test('hucre', async () => {
    const columns = expected.headers.map((_, index) => ({ ...(formats[index] && { numFmt: formats[index] }) }))
    const bytes = await writeXlsx({ sheets: [{ name: 'People', columns, rows: [[...expected.headers], ...values] }] })

    const read = await readCsv(bytes, xlsx)

    expect([read.headers, ...read.rows]).toEqual([expected.headers, ...expected.rows])
  })

  test('write-excel-file', async () => {
    const cells = values.map((row) =>
      row.map((value, index) => (value === null ? null : { value, ...(formats[index] && { format: formats[index] }) })),
    )
    const header = expected.headers.map((value) => ({ value }))
    const bytes = await writeExcelFile([header, ...cells], { sheet: 'People' }).toBuffer()

    const read = await readCsv(bytes, xlsx)

    expect([read.headers, ...read.rows]).toEqual([expected.headers, ...expected.rows])
  })
})

describe('what is no workbook of this kind is refused by what it is', () => {
  test.for([
    ['libreoffice.xls', 'people.csv is a workbook of the old kind (.xls): have it saved as .xlsx'],
    ['libreoffice.ods', 'people.csv is a sheet of OpenDocument (.ods): have it saved as .xlsx'],
    [
      'xlsx-populate-password.xlsx',
      'people.csv is a workbook with a password: have it saved without one, or encrypted with OpenPGP',
    ],
  ] as const)('%s', async ([name, message]) => {
    expect(await refusalOf(await readFile(join(samples, name)), xlsx)).toBe(message)
  })
})
