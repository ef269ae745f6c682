import { describe, expect, test } from 'vitest'
import { readCsv, refusalOf } from '../../helpers/sources/csv.ts'

const table = 'id,name\n1,Ana\n2,Ben\n'
const rows = [
  ['1', 'Ana'],
  ['2', 'Ben'],
]

describe('what stands above the header', () => {
  test.for([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('is left out, and lines stay right behind it (%s)', async ([, end = '']) => {
    const text = ['Report of "today, by somebody', '', 'id,name', '1,Ana', '2,Ben', ''].join(end)

    const read = await readCsv(text, { headerLine: 3 })

    expect(read.headers).toEqual(['id', 'name'])
    expect(read.rows).toEqual(rows)
    expect(read.lines).toEqual([4, 5])
  })

  test('may hold bytes that mean nothing', async () => {
    const { rows: read } = await readCsv(Buffer.concat([Buffer.of(0xff, 0, 10), Buffer.from(table)]), { headerLine: 2 })

    expect(read).toEqual(rows)
  })

  test('may be an empty line, also as the first line of the table', async () => {
    const { headers, lines } = await readCsv(`\r\n\r\r\n${table}`, { headerLine: 3 })

    expect(headers).toEqual(['id', 'name'])
    expect(lines).toEqual([5, 6])
  })

  test.for<[string, string, string]>([
    ['fewer lines than headerLine says', table, 'people.csv holds nothing from line 9 on: check headerLine'],
    [
      'more than 1 MiB above the header',
      'x'.repeat(1_100_000),
      'people.csv: more than 1 MiB is above line 9, the header: check headerLine and encoding',
    ],
  ])('%s: refused', async ([, text, message]) => {
    expect(await refusalOf(text, { headerLine: 9 })).toBe(message)
  })
})

describe('a second header', () => {
  const text = 'USERID,NAME\n"Person\nid",Name\n1,Ana\n2,Ben\n'

  test('is left out where the first one names the columns', async () => {
    const read = await readCsv(text, { linesAfterHeader: 1 })

    expect(read.headers).toEqual(['USERID', 'NAME'])
    expect(read.rows).toEqual(rows)
    expect(read.lines).toEqual([4, 5])
  })

  test('names the columns where the first one is left out', async () => {
    const read = await readCsv(text, { headerLine: 2 })

    expect(read.headers).toEqual(['Person\nid', 'Name'])
    expect(read.lines).toEqual([4, 5])
  })

  test('that is blank is one all the same, so that no person is taken for it', async () => {
    const { rows: read } = await readCsv('id,name\n\n1,Ana\n2,Ben\n', { linesAfterHeader: 1 })

    expect(read).toEqual(rows)
  })

  test('with a misplaced quote is left out, too', async () => {
    const { faults, lines } = await readCsv('id,name\nx "y",z\n1,Ana\n', { linesAfterHeader: 1 })

    expect(faults).toEqual([])
    expect(lines).toEqual([3])
  })
})

describe('a footer', () => {
  test.for<[string, string, object, string[]]>([
    ['of one row', `${table}Total,2\n`, { rows: 1 }, ['people.csv: left out as its footer: line 4']],
    [
      'with blank lines',
      `${table}\nTotal\n\nby HR\n\n`,
      { rows: 2 },
      ['people.csv: left out as its footer: lines 5 to 7'],
    ],
    ['with a misplaced quote', `${table}Total "all"\n`, { rows: 1 }, ['people.csv: left out as its footer: line 4']],
    [
      'known by its text',
      `${table}Total: 2,\n`,
      { startsWith: 'Total' },
      ['people.csv: left out as its footer: line 4'],
    ],
    [
      'known by its texts',
      `${table}Total,2\nPrinted by HR\n`,
      { startsWith: ['Printed', 'Total'] },
      ['people.csv: left out as its footer: lines 4 to 5'],
    ],
    [
      'known by its text before a misplaced quote',
      `${table}Total "all"\n`,
      { startsWith: 'Total' },
      ['people.csv: left out as its footer: line 4'],
    ],
  ])('is left out: %s', async ([, text, footer, warnings]) => {
    const read = await readCsv(text, { footer })

    expect(read.rows).toEqual(rows)
    expect(read.faults).toEqual([])
    expect(read.warnings).toEqual(warnings)
  })

  test('is left out behind more rows than are held back', async () => {
    const many = Array.from({ length: 50_000 }, (_, index) => `${index},x\n`).join('')

    const read = await readCsv(`id,name\n${many}Total,\n`, { footer: { startsWith: 'Total' } })

    expect(read.rows).toHaveLength(50_000)
    expect(read.lines.at(-1)).toBe(50_001)
  })

  test.for<[string, string, object, string]>([
    [
      'is missing',
      table,
      { startsWith: 'Total' },
      'people.csv: no row at its end begins as footer.startsWith says: the export was cut off, or ends without a footer: then take footer out',
    ],
    [
      'stands above further rows',
      'id,name\nTotal,2\n1,Ana\n',
      { startsWith: 'Total' },
      'people.csv:2: this row begins as footer.startsWith says, but rows follow it: name a text that no other row begins with',
    ],
    [
      'is longer than the export',
      table,
      { rows: 3 },
      'people.csv has 2 rows below its header, and its footer alone has 3: the export was cut off, or footer.rows is not right',
    ],
    [
      'does not end',
      `id\n${'Total\n'.repeat(1001)}`,
      { startsWith: 'Total' },
      'people.csv:2: this row begins as footer.startsWith says, but rows follow it: name a text that no other row begins with',
    ],
  ])('that %s is refused', async ([, text, footer, message]) => {
    expect(await refusalOf(text, { footer })).toBe(message)
  })
})

describe('a trailer', () => {
  const trailer = { startsWith: 'TRL', rowsAt: 2 }

  test.for<[string, string]>([
    ['as it is', 'TRL,2\n'],
    ['with leading zeros and more cells', 'TRL20261120, 000002 ,x\n'],
    ['behind blank lines', '\n\nTRL,2\n'],
  ])('that counts right is left out: %s', async ([, last]) => {
    const read = await readCsv(table + last, { trailer })

    expect(read.rows).toEqual(rows)
    expect(read.faults).toEqual([])
    expect(read.warnings).toEqual([])
  })

  test('counts the rows that are faulty, and neither blank ones nor the footer before it', async () => {
    const text = `${table}\n3,x "y"\n4\nTotal,4\nTRL,4\n`

    const read = await readCsv(text, { trailer, footer: { startsWith: 'Total' } })

    expect(read.faults.map(({ line }) => line)).toEqual([5, 6])
  })

  test.for<[string, string, string]>([
    [
      'is missing',
      table,
      'people.csv: its last row does not begin as trailer.startsWith says: the export was cut off, or ends without a trailer',
    ],
    [
      'stands alone below nothing',
      '',
      'people.csv: its last row does not begin as trailer.startsWith says: the export was cut off, or ends without a trailer',
    ],
    [
      'counts more rows',
      `${table}TRL,3\n`,
      'people.csv:4: the trailer counts 3 rows, the export has 2: the export was cut off, or is the work of two that wrote at once',
    ],
    [
      'counts fewer rows',
      `${table}TRL,1\n`,
      'people.csv:4: the trailer counts 1 row, the export has 2: the export was cut off, or is the work of two that wrote at once',
    ],
    [
      'counts in words',
      `${table}TRL,two\n`,
      'people.csv:4: cell 2 of the trailer is no number of rows: check trailer.rowsAt',
    ],
    [
      'lacks the cell',
      `${table}TRL\n`,
      'people.csv:4: cell 2 of the trailer is no number of rows: check trailer.rowsAt',
    ],
    [
      'has a misplaced quote',
      `${table}TRL "x",2\n`,
      'people.csv:4: cell 2 of the trailer is no number of rows: check trailer.rowsAt',
    ],
  ])('that %s is refused', async ([, text, message]) => {
    expect(await refusalOf(text || 'id,name\n', { trailer })).toBe(message)
  })
})

describe('the last line', () => {
  const unterminated =
    'people.csv: its last line has no line end: the export was cut off, or its writer leaves out the last line end: then write lastLine: any'

  test.for([
    ['a row', 'id,name\n1,Ana'],
    ['a row whose last cell is enclosed', 'id,name\n1,"Ana"'],
    ['a row that ends in an enclosed line end', 'id,name\n1,"Ana\n"'],
    ['a header', 'id,name'],
    ['a blank', 'id,name\n1,Ana\n '],
  ])('without a line end means that the export was cut off (%s)', async ([, text = '']) => {
    expect(await refusalOf(text)).toBe(unterminated)
  })

  test('may do without, where its writer leaves line ends out there', async () => {
    const read = await readCsv('id,name\n1,"Ana\n"', { lastLine: 'any' })

    expect(read.rows).toEqual([['1', 'Ana\n']])
    expect(read.lines).toEqual([2])
  })

  test.for(['utf-8', 'utf-16le', 'utf-16be'] as const)(
    'is missed wherever an export with a trailer is cut off (%s)',
    async (encoding) => {
      const utf16 = Buffer.from('id,name\r\n1,"Ana\r\nŽofia 🦊"\r\n2,Ben\r\nTRL,2\r\n', 'utf16le')
      const bytes = {
        'utf-8': Buffer.from(utf16.toString('utf16le')),
        'utf-16le': utf16,
        'utf-16be': Buffer.from(utf16).swap16(),
      }
      const whole = bytes[encoding]
      const cuts = Array.from({ length: whole.length - 3 }, (_, index) => whole.subarray(0, index + 1))

      const refusals = await Promise.all(
        cuts.map((cut) => refusalOf(cut, { encoding, trailer: { startsWith: 'TRL', rowsAt: 2 } })),
      )

      expect(refusals.every((refusal) => refusal.startsWith('people.csv'))).toBe(true)
      expect((await readCsv(whole, { encoding, trailer: { startsWith: 'TRL', rowsAt: 2 } })).rows).toHaveLength(2)
    },
  )
})
