import { describe, expect, test } from 'vitest'
import { columnLetters, parseAddress } from '../../../src/connectors/xlsx/cell-address.ts'
import { formatDigits, parseNumberFormat } from '../../../src/connectors/xlsx/number-formats.ts'
import { plainNumber } from '../../../src/connectors/xlsx/numbers.ts'
import { readCsv } from '../../helpers/sources/csv.ts'
import { rowOf, textCell, workbookOf, workbookParts, xlsx } from '../../helpers/sources/workbooks.ts'

/** The cells of a row below a header, with the number formats of the styles 1, 2, and so on. */
async function readCells(
  cells: string,
  { formats = [] as string[], strings = [] as string[], isFrom1904 = false } = {},
) {
  const sheet = `${rowOf(1, ...'abcdefgh')}<row r="2">${cells}</row>`
  const { rows, faults } = await readCsv(await workbookOf({ sheet, formats, strings, isFrom1904 }), xlsx)
  return { values: rows[0]?.slice(0, rows[0].findLastIndex((cell) => cell !== '') + 1), faults }
}

const number = (value: string, style = 0) => `<c s="${style}"><v>${value}</v></c>`

describe('a number keeps its digits', () => {
  test.for([
    ['123', '123'],
    ['00123', '00123'],
    ['-0', '0'],
    ['12345678901234567890', '12345678901234567890'],
    ['1E+15', '1000000000000000'],
    ['1.2345678901234567E+19', '12345678901234567000'],
    ['1.5e3', '1500'],
    ['2.5E-7', '0.00000025'],
    ['0.10000000000000001', '0.1'],
    ['1234.5678901234567', '1234.56789012346'],
    ['-12.250', '-12.25'],
    ['1234.0', '1234'],
    ['.5', '0.5'],
    ['5.', '5'],
  ] as const)('%s is %s', ([stored, text]) => {
    expect(plainNumber(stored)).toBe(text)
  })

  test.for(['', '.', '-', '1,5', '0x1F', 'NaN', 'INF', '1E', '1E+9999', ' 1', '1_000'])('"%s" is none', (stored) => {
    expect(plainNumber(stored)).toBeNull()
  })
})

describe('a number format', () => {
  test.for([
    ['00000', '123', '00123'],
    ['00000', '1234567', '1234567'],
    ['"EMP-"00000', '42', 'EMP-00042'],
    ['\\E\\M000', '7', 'EM007'],
    ['000-00-0000', '12345678', '012-34-5678'],
    ['(000) 000-0000', '5551234567', '(555) 123-4567'],
    ['0#', '5', '05'],
    ['[Red]0000;[Blue]-0000', '12', '0012'],
    ['_(000_)', '1', '001'],
    ['[$P-409]000', '1', 'P001'],
    ['# 000', '12345', '12345'],
    ['000 000', '12345', '012 345'],
  ] as const)('%s shows %s as %s', ([code, digits, text]) => {
    const format = parseNumberFormat(code)

    expect(format.kind === 'digits' ? formatDigits(digits, format.pieces) : format.kind).toBe(text)
  })

  test.for([
    'General',
    'Standard',
    '0',
    '#',
    '0.00',
    '#,##0',
    '#\\ ##0',
    '0" Years"',
    'General;0000',
    '0%',
    '0.00E+00',
    '# ?/?',
    '@',
    '[h]:mm:ss',
    '[<100]000;0000',
    '"text only"',
    '',
  ])('%s leaves a number as it is', (code) => {
    expect(parseNumberFormat(code)).toEqual({ kind: 'plain' })
  })

  test.for([
    ['yyyy-mm-dd', 'date'],
    ['DD.MM.YYYY', 'date'],
    ['[$-407]d. mmmm yyyy;@', 'date'],
    ['mmm\\-yy', 'date'],
    ['yyyy"年"m"月"d"日"', 'date'],
    ['dd/mm/yyyy hh:mm', 'dateTime'],
    ['yyyy-mm-dd"T"hh:mm:ss', 'dateTime'],
    ['m/d/yy h:mm AM/PM', 'dateTime'],
    ['h:mm', 'time'],
    ['mm:ss.0', 'time'],
    ['h AM/PM', 'time'],
    ['[=0]"";yyyy-mm-dd', 'date'],
  ] as const)('%s shows a %s', ([code, kind]) => {
    expect(parseNumberFormat(code)).toEqual({ kind })
  })

  test('of a workbook is that of the style of the cell', async () => {
    const formats = ['00000', 'dd.mm.yyyy', '00000;-00000;"none"']
    const cells =
      number('123', 1) + number('45991', 2) + number('123') + number('1.5', 1) + number('-7', 1) + number('0', 3)

    expect((await readCells(cells, { formats })).values).toEqual(['00123', '2025-11-30', '123', '1.5', '-7', '0'])
  })

  test('that is built in may be a date', async () => {
    const styles =
      '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="20"/></cellXfs></styleSheet>'
    const sheet = `${rowOf(1, 'a', 'b', 'c')}<row r="2">${number('45991', 1)}${number('45991.5', 2)}${number('0.75', 3)}</row>`

    const { rows } = await readCsv(await workbookOf({ sheet, parts: { 'xl/styles.xml': styles } }), xlsx)

    expect(rows).toEqual([['2025-11-30', '2025-11-30T12:00:00', '18:00:00']])
  })
})

describe('a date', () => {
  const formats = ['yyyy-mm-dd', 'yyyy-mm-dd hh:mm', 'hh:mm']

  test.for<[string, boolean, string]>([
    ['1', false, '1900-01-01'],
    ['59', false, '1900-02-28'],
    ['61', false, '1900-03-01'],
    ['0', false, '1900-01-00'],
    ['45991', false, '2025-11-30'],
    ['45991.99', false, '2025-11-30'],
    ['2958465', false, '9999-12-31'],
    ['0', true, '1904-01-01'],
    ['44529', true, '2025-11-30'],
    ['2957003', true, '9999-12-31'],
  ])('%s counted from 1904: %s is %s', async ([serial, isFrom1904, text]) => {
    expect((await readCells(number(serial, 1), { formats, isFrom1904 })).values).toEqual([text])
  })

  test('has a time if its format shows one, and it is not midnight', async () => {
    const cells = number('45991.729166666664', 2) + number('45991', 2) + number('45991.9999999', 2) + number('0.375', 3)

    expect((await readCells(cells, { formats })).values).toEqual([
      '2025-11-30T17:30:00',
      '2025-11-30',
      '2025-12-01',
      '09:00:00',
    ])
  })

  test('beyond all numbers is no time', async () => {
    expect((await readCells(number('1e999', 3), { formats })).faults).toMatchObject([
      { reason: 'the cell holds a date after the year 9999' },
    ])
  })

  test('may be written as text in ISO 8601', async () => {
    const cells = ['2025-11-30', '2025-11-30T00:00:00.000Z', '2025-11-30T17:30:00'].map(
      (v) => `<c t="d"><v>${v}</v></c>`,
    )

    expect((await readCells(cells.join(''))).values).toEqual(['2025-11-30', '2025-11-30', '2025-11-30T17:30:00'])
  })

  test.for<[string, string]>([
    ['-1', 'the cell holds a negative date, which Excel cannot show'],
    ['60', 'the cell holds 29 February 1900, which did not exist'],
    ['2958466', 'the cell holds a date after the year 9999'],
  ])('%s is a broken cell', async ([serial, reason]) => {
    const { values, faults } = await readCells(number('5') + number(serial, 1), { formats })

    expect(values).toEqual(['5'])
    expect(faults).toEqual([{ line: 2, column: 1, reason }])
  })
})

describe('a text', () => {
  test('that refers to no shared string is blank, as programs of companies write one', async () => {
    const cells = '<c t="s"><v>0</v></c><c t="s"><v/></c><c t="s"><v></v></c><c t="s"><v>1</v></c>'

    const read = await readCells(cells, { strings: ['<t>one</t>', '<t>two</t>'] })

    expect(read).toEqual({ values: ['one', '', '', 'two'], faults: [] })
  })

  test('that is inline is read where a value stands beside it, before or after', async () => {
    const cells =
      '<c t="inlineStr"><v>1.0</v><is><t>1.</t></is></c><c t="inlineStr"><is><t>01</t></is><v>1</v></c><c><v>3</v></c>'

    expect(await readCells(cells)).toEqual({ values: ['1.', '01', '3'], faults: [] })
  })

  test.for(['<is/><v>2026-10-31</v>', '<is><t> </t></is><v>1</v>', '<v>2026-10-31</v><is/>', '<v>1</v><is><t/></is>'])(
    'that is blank does not hide the value beside it: %s',
    async (content) => {
      const { faults } = await readCells(`<c t="inlineStr">${content}</c><c><v>3</v></c>`)

      expect(faults).toEqual([{ line: 2, column: 0, reason: expect.stringContaining('only one can be true') }])
    },
  )

  test('that is blank beside a blank value is blank', async () => {
    const cells = '<c t="inlineStr"><is/><v/></c><c t="inlineStr"><v> </v><is><t/></is></c><c><v>3</v></c>'

    expect(await readCells(cells)).toEqual({ values: ['', '', '3'], faults: [] })
  })

  test('is read from shared and inline strings, with all its runs and without its reading aid', async () => {
    const strings = [
      '<t>plain</t>',
      '<r><rPr><b/></rPr><t>Ana</t></r><r><t xml:space="preserve"> María</t></r>',
      '<t>山田</t><rPh sb="0" eb="2"><t>ヤマダ</t></rPh><phoneticPr fontId="1"/>',
      '<t/>',
    ]
    const inline = '<c t="inlineStr"><is><r><t>two </t></r><r><t>runs</t></r></is></c>'
    const cells = `<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="s"><v>3</v></c>${inline}`

    expect((await readCells(cells, { strings })).values).toEqual(['plain', 'Ana María', '山田', '', 'two runs'])
  })

  test('may hold escapes, entities, CDATA and line ends', async () => {
    const text = (content: string) => `<c t="inlineStr"><is><t>${content}</t></is></c>`
    const cells =
      text('a_x000D_b') + text('_x005F_x0041_') + text('&lt;&amp;&#246;') + text('<![CDATA[<b>]]>') + text('1\n2')

    expect((await readCells(cells)).values).toEqual(['a\rb', '_x0041_', '<&ö', '<b>', '1\n2'])
  })

  test.for([
    ['_x0000_', 'the cell holds text with a NUL character or half a character'],
    ['_xD83E_', 'the cell holds text with a NUL character or half a character'],
    ['\uFFFD', 'the cell holds U+FFFD, which stands for a character that was lost before the export was written'],
  ] as const)('with "%s" is a broken cell', async ([text, reason]) => {
    const { faults } = await readCells(`<c t="inlineStr"><is><t>${text}</t></is></c>`)

    expect(faults).toEqual([{ line: 2, column: 0, reason }])
  })

  test('of two halves of a character is whole', async () => {
    expect((await readCells('<c t="str"><v>_xD83E__xDD8A_</v></c>')).values).toEqual(['🦊'])
  })
})

describe('a formula', () => {
  const notStored =
    'the cell holds a formula without its result: have the workbook opened, calculated and saved by Excel'

  test('is read by its stored result', async () => {
    const cells =
      '<c t="str"><f>A1&amp;"x"</f><v>done</v></c><c><f>1+1</f><v>2</v></c><c t="str"><f>""</f><v></v></c><c t="b"><f>TRUE()</f><v>1</v></c>'

    expect((await readCells(cells)).values).toEqual(['done', '2', '', 'TRUE'])
  })

  test('without a stored result is a broken cell', async () => {
    const { faults } = await readCells(
      '<c><f>1+1</f></c><c><f>1+1</f><v/></c><c t="s"><f>A1</f><v></v></c><c t="b"><f>A1</f><v/></c>',
    )

    expect(faults).toEqual([0, 1, 2, 3].map((column) => ({ line: 2, column, reason: notStored })))
  })

  test('of a workbook that has to be calculated when it is opened is a broken cell', async () => {
    const sheet = `${rowOf(1, 'a', 'b', 'c')}<row r="2"><c><f>DATE(2026,10,31)</f><v>0</v></c><c t="str"><f>""</f><v></v></c><c><v>7</v></c></row>`
    const readWith = async (value: string) => {
      const { 'xl/workbook.xml': text = '' } = workbookParts({ sheet })
      const parts = { 'xl/workbook.xml': text.replace('</workbook>', `<calcPr fullCalcOnLoad="${value}"/></workbook>`) }
      return await readCsv(await workbookOf({ sheet, parts }), xlsx)
    }

    expect((await readWith('0')).rows).toEqual([['0', '', '7']])
    expect(await readWith('1')).toMatchObject({
      rows: [['', '', '7']],
      faults: [0, 1].map((column) => ({ line: 2, column, reason: notStored })),
    })
  })

  test.for([
    ['an array', '<c r="B2"><f t="array" ref="B2:C3">X2:Y3</f></c>'],
    ['a data table', '<c r="B2"><f t="dataTable" ref="B2:C3" r1="A1"/><v/></c>'],
  ] as const)('without a result breaks all cells of %s', async ([, first]) => {
    const rows = [
      rowOf(1, 'a', 'b', 'c', 'd'),
      `<row r="2">${textCell('A2', '1')}${first}${textCell('D2', 'x')}</row>`,
      `<row r="3">${textCell('A3', '2')}<c r="B3"><v>7</v></c></row>`,
      '<row r="4"><c r="A4"><v>3</v></c><c r="B4"><v>8</v></c></row>',
    ]

    expect(await readCsv(await workbookOf({ sheet: rows.join('') }), xlsx)).toMatchObject({
      rows: [
        ['1', '', '', 'x'],
        ['2', '', '', ''],
        ['3', '8', '', ''],
      ],
      faults: [2, 3].flatMap((line) => [1, 2].map((column) => ({ line, column, reason: notStored }))),
    })
  })

  test('of an array that states no range breaks its own cell alone', async () => {
    const rows = `${rowOf(1, 'a', 'b')}<row r="2"><c><f t="array">X2:X9</f></c><c><v>7</v></c></row>`

    expect(await readCsv(await workbookOf({ sheet: rows }), xlsx)).toMatchObject({
      rows: [['', '7']],
      faults: [{ line: 2, column: 0, reason: notStored }],
    })
  })

  test('of an array is read by its stored results, and each of a shared one by its own', async () => {
    const cells =
      '<c><f t="array" ref="A2:B2">X2:Y2</f><v>1</v></c><c><v>2</v></c><c><f t="shared" ref="C2:D2" si="0">X2</f></c><c><f t="shared" si="0"/><v>4</v></c>'

    expect(await readCells(cells)).toEqual({
      values: ['1', '2', '', '4'],
      faults: [{ line: 2, column: 2, reason: notStored }],
    })
  })

  test('with an error is a broken cell, beside others of its row', async () => {
    const { values, faults } = await readCells(
      '<c><v>7</v></c><c t="e"><f>1/0</f><v>#DIV/0!</v></c><c t="e"><v>#N/A</v></c><c t="e"><v>secret of somebody</v></c>',
    )

    expect(values).toEqual(['7'])
    expect(faults.map(({ column, reason }) => [column, reason])).toEqual([
      [1, 'the cell holds the error #DIV/0!'],
      [2, 'the cell holds the error #N/A'],
      [3, 'the cell holds the error of a formula'],
    ])
  })
})

test('booleans are words, and what is neither is a broken cell', async () => {
  const { values, faults } = await readCells(
    '<c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="b"><v>2</v></c><c t="x"><v>1</v></c>',
  )

  expect(values).toEqual(['TRUE', 'FALSE'])
  expect(faults.map(({ column, reason }) => [column, reason])).toEqual([
    [2, 'the cell is neither true nor false'],
    [3, 'the cell has a type that the XLSX format does not define'],
  ])
})

test('addresses are those of Excel', () => {
  const columns = [0, 25, 26, 701, 702, 16_383]

  expect(columns.map(columnLetters)).toEqual(['A', 'Z', 'AA', 'ZZ', 'AAA', 'XFD'])
  for (const column of columns) expect(parseAddress(`${columnLetters(column)}17`)).toEqual({ row: 17, column })
  for (const text of ['', 'A', '1', 'A0', 'A01', 'a1', 'XFE1', 'A1048577', 'AAAA1', 'A1B', '$A$1', 'A1:B2'])
    expect(parseAddress(text), text).toBeNull()
})
