import fc from 'fast-check'
import iconv from 'iconv-lite'
import { describe, expect, test } from 'vitest'
import { readTable, UnclearSheet } from '../../../src/daemon/proposal/table.ts'
import { rowOf, workbookOf } from '../../helpers/sources/workbooks.ts'

function head(text: string | Buffer, { encoding = 'utf-8', isWhole = true } = {}) {
  const bytes = typeof text === 'string' ? iconv.encode(text, encoding) : text
  return { name: 'people.csv', bytes, isWhole, hasFinalLineEnd: true }
}

const signs = { ',': ',', ';': ';', tab: '\t', '|': '|' } as const
const names = ['Worker ID', 'First Name', 'Straße', 'Work Email', 'Hire Date', 'Status', 'Größe'] as const

const Form = fc.record({
  delimiter: fc.constantFrom(...(Object.keys(signs) as (keyof typeof signs)[])),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  encoding: fc.constantFrom('utf-8', 'windows-1252', 'utf-16le', 'utf-16be'),
  mark: fc.boolean(),
  quotesAll: fc.boolean(),
  titles: fc.constantFrom([], ['All workers'], ['All workers', '', 'As of today']),
  columns: fc.integer({ min: 2, max: names.length }),
  cells: fc.array(
    fc.constantFrom('Chloé', 'Chief of Staff, Operations', 'a;b', 'x|y', '', 'plain', 'ß "quoted"', '2,5'),
    { minLength: 12, maxLength: 60 },
  ),
})

test('the dialect of an export is recognised from its beginning', async () => {
  await fc.assert(
    fc.asyncProperty(Form, async ({ delimiter, lineEnd, encoding, mark, quotesAll, titles, columns, cells }) => {
      const sign = signs[delimiter]
      const written = (cell: string) =>
        quotesAll || cell.includes(sign) || cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell
      const header = names.slice(0, columns)
      const rows = Array.from({ length: 5 }, (_, row) => [
        `W${row}`,
        ...header.slice(1).map((_name, at) => cells[(row * 7 + at) % cells.length] ?? ''),
      ])
      const lines = [...titles, ...[header, ...rows].map((row) => row.map(written).join(sign))]
      // UTF-16 without a mark is recognised by its zero bytes; windows-1252 needs a letter that is not ASCII.
      const text = `${encoding === 'windows-1252' ? lines.join(lineEnd).replace('W0', 'Wé') : lines.join(lineEnd)}${lineEnd}`
      const bytes = iconv.encode(text, encoding, { addBOM: mark && encoding !== 'windows-1252' })

      const table = await readTable(head(bytes))

      expect(table).toMatchObject({ encoding, delimiter, headers: header, linesAfterHeader: 0 })
      expect(table.headerLine).toBe(titles.length + 1)
      expect(table.rows.length).toBe(5)
    }),
    { numRuns: 60, seed: 15 },
  )
})

test('a second header line is recognised, whatever its words are', async () => {
  const table = await readTable(
    head('STATUS,USERID,FIRSTNAME,HR\nSTATUS,USERID,First Name,Human Resource\nactive,1,Ana,NO_HR\n'),
  )

  expect(table).toMatchObject({ headerLine: 1, linesAfterHeader: 1, rows: [['active', '1', 'Ana', 'NO_HR']] })
})

test('in a part of a long export, the last line is used only if it is whole', async () => {
  const table = await readTable(head('Worker ID;Name\n1;Ana\n2;Bo', { isWhole: false }))

  expect(table.rows).toEqual([['1', 'Ana']])
})

test('rows of another width and a total are reported and not counted', async () => {
  const table = await readTable(head('Worker ID,Name\n1,Ana\n2,Bo\n3\n4,Cy\nTotal,4\n'))

  expect(table.rows.map(([key]) => key)).toEqual(['1', '2', '4', 'Total'])
  expect(table.notes).toEqual([
    'Line 4 has 1 cell, the header has 2.',
    'Line 6, the last one, reads like a total. Write footer, so that it is not taken for a person.',
  ])
})

test('a last line without a line end is noticed, so that the export is not refused later', async () => {
  const table = await readTable({ ...head('Worker ID,Name\n1,Ana'), hasFinalLineEnd: false })

  expect(table).toMatchObject({ lastLine: 'any', rows: [['1', 'Ana']] })
})

describe('text that is not UTF-8', () => {
  function list(words: string, encoding: string) {
    const rows = words.split(' ').map((word, row) => `${row};${word}\n`)
    return head(`Nr;Name\n${rows.join('')}`, { encoding })
  }

  test.each([
    ['windows-1252', 'Müller'],
    ['windows-1250', 'Łukasz'],
    ['windows-1251', 'Иванов'],
    ['windows-1257', 'Bērziņš'],
    ['shift_jis', '山田'],
  ])('that can only be %s is read as it, and that is said', async (encoding, name) => {
    const more =
      {
        'windows-1250': 'Kamiński Żak',
        'windows-1251': 'Петрова',
        'windows-1257': 'Kļaviņa Līga Jānis',
        shift_jis: 'すずき',
      }[encoding] ?? ''

    const table = await readTable(list(`${name} ${more}`.trim(), encoding))

    expect(table).toMatchObject({ encoding, rows: expect.arrayContaining([['0', name]]) })
    expect(table.notes).toEqual([
      `The text is not UTF-8, so it is read as ${encoding}. Check that names look right; otherwise say --encoding.`,
    ])
  })

  test('that has several readings is refused with sample letters, and no name', async () => {
    await expect(readTable(list('Erdős Szűcs Gergő', 'windows-1250'))).rejects.toThrow(
      'people.csv is not UTF-8, and can be read as windows-1252 (letters õû) or windows-1250 (letters őű) or windows-1257 (letters õū): look which letters are right, and say which one it is with --encoding',
    )
  })

  test('that has no sensible reading is refused', async () => {
    await expect(readTable(list('Иванов Петрова Сергей', 'koi8-r'))).rejects.toThrow(
      'people.csv is not UTF-8, and no encoding that is known here reads it well: have it exported as UTF-8, or say which one it is with --encoding',
    )
  })

  test('is read in the encoding that a person names', async () => {
    const table = await readTable(list('Erdős Szűcs', 'windows-1250'), { encoding: 'windows-1250' })

    expect(table.rows).toEqual([
      ['0', 'Erdős'],
      ['1', 'Szűcs'],
    ])
    await expect(readTable(list('Erdős', 'windows-1250'), { encoding: 'cp-none' })).rejects.toThrow(
      'cp-none: unknown encoding',
    )
  })

  test('is recognised from whole lines of a longer export', async () => {
    const { bytes } = list('山田 すずき 佐藤', 'shift_jis')

    const table = await readTable({ ...head(bytes.subarray(0, -2)), isWhole: false })

    expect(table).toMatchObject({
      encoding: 'shift_jis',
      rows: [
        ['0', '山田'],
        ['1', 'すずき'],
      ],
    })
  })
})

test('a repeated header row is reported and not counted', async () => {
  const table = await readTable(head('ID,Name,On\n1,Ana,2020-01-31\nOn,ID,Name\n2020-01-31,2,Bo\n'))

  expect(table.rows).toEqual([
    ['1', 'Ana', '2020-01-31'],
    ['2020-01-31', '2', 'Bo'],
  ])
  expect(table.notes).toEqual(['Line 3 names the columns again: have the parts exported one by one.'])
})

test('an export that cannot be read to its end is reported, and its first rows are not taken for all', async () => {
  const rows = Array.from(
    { length: 40_000 },
    (_, at) => `${at},${at === 20_000 ? '"' : ''}Ana Maria Okoro-van der Berg,2020-01-31`,
  )

  const table = await readTable(head(`ID,Name,On\n${rows.join('\n')}\n`))

  expect(table.isWhole).toBe(false)
  expect(table.rows.length).toBeLessThanOrEqual(20_000)
  expect(table.notes).toContainEqual(
    expect.stringMatching(/^Only the rows before it were looked at: people\.csv.*a quote/),
  )
})

describe('what is no table of people is refused in a sentence', () => {
  test.each([
    ['blanks', '  \n \n', 'people.csv holds nothing but blanks: check the export'],
    [
      'one column',
      'Name\nAna\nBo\n',
      'people.csv has one column only: no comma, semicolon, tab or pipe splits its lines consistently: a list of people needs a key and more; say --delimiter if another sign stands between the cells',
    ],
    [
      'no header',
      '1,Ana,2020-01-06\n2,Bo,2021-01-04\n',
      'people.csv:1: this line is a row of data, and none above it names the columns: export it with a header',
    ],
    [
      'bytes',
      Buffer.from('a\0b\0\0\0c,d\n'.repeat(3)),
      'people.csv holds NUL bytes, so it is not a text file: have it exported as CSV',
    ],
    ['a web page', '<!doctype html><title>Sign in</title>', /is a web page \(HTML\)/],
    ['JSON', '[{"id": 1, "name": "Ana"}]', /is JSON: write format: json, or have it exported as CSV/],
    [
      'two delimiters',
      'a,b;c,d\n1,2;3,4\n5,6;7,8\n',
      /both , \(3 columns\) and ; \(2 columns\) split its lines alike: say which one it is with --delimiter/,
    ],
  ])('%s', async (_what, content, message) => {
    await expect(readTable(head(content))).rejects.toThrow(message)
  })
})

test('a blank line within the header of a CSV counts as one after it', async () => {
  const text = 'id,name,mail\n\nid,name,(text)\n1,Ana,a\n2,Ben,b\n3,Cem,c\n'

  expect(await readTable(head(text))).toMatchObject({ headerLine: 1, linesAfterHeader: 2, rows: { length: 3 } })
})

describe('a workbook', () => {
  const people = [
    rowOf(5, 'Worker ID', 'Name', 'Hire Date'),
    rowOf(6, '1', 'Ana', '2020-01-06'),
    rowOf(8, '2', 'Bo'),
  ].join('')
  const titled = rowOf(1, 'Headcount') + rowOf(2, '', 'as of today') + people
  const bookHead = async (content: Parameters<typeof workbookOf>[0]) => ({
    ...head(await workbookOf(content)),
    isWorkbook: true as const,
  })

  test('is a table of rows below its header, whatever stands above it', async () => {
    const table = await readTable(await bookHead({ sheet: titled }))

    expect(table).toMatchObject({
      headerLine: 5,
      linesAfterHeader: 0,
      isWhole: true,
      notes: [],
      workbook: { sheet: null },
    })
    expect(table.headers).toEqual(['Worker ID', 'Name', 'Hire Date'])
    expect(table.rows).toEqual([
      ['1', 'Ana', '2020-01-06'],
      ['2', 'Bo', ''],
    ])
  })

  test('may have a blank row within its header, which counts', async () => {
    const sheet = [
      rowOf(1, 'id', 'name', 'mail'),
      rowOf(3, 'id', 'name', '(text)'),
      rowOf(4, '1', 'Ana', 'a'),
      rowOf(5, '2', 'Ben', 'b'),
    ].join('')

    expect(await readTable(await bookHead({ sheet }))).toMatchObject({ headerLine: 1, linesAfterHeader: 2 })
  })

  test('with a far note in its header is read as far as the memory should hold', async () => {
    const sheet = (column: string) =>
      `<row r="1"><c r="A1" t="str"><v>id</v></c><c r="B1" t="str"><v>name</v></c><c r="${column}1" t="str"><v>note</v></c></row>${'<row><c><v>1</v></c><c><v>2</v></c></row>'.repeat(300)}`
    const table = await readTable(await bookHead({ sheet: sheet('NTP') }))

    expect(table).toMatchObject({ isWhole: false, headerLine: 1 })
    expect(table.rows).toHaveLength(200)
    await expect(readTable(await bookHead({ sheet: sheet('NTQ') }))).rejects.toThrow(
      'people.csv:1: the sheet has 10001 columns: at most 10000 are read',
    )
  })

  test('is read no further once nobody waits for it', async () => {
    const signal = AbortSignal.abort(new Error('stopped'))

    await expect(readTable(await bookHead({ sheet: titled }), {}, { signal })).rejects.toThrow('stopped')
  })

  test('with several sheets has to be told which one is meant', async () => {
    const book = await bookHead({ sheets: { Notes: rowOf(1, 'x'), People: titled, '7': rowOf(1, 'a', 'b') } })
    const unclear = await readTable(book).catch((error: unknown) => error)

    expect(unclear).toBeInstanceOf(UnclearSheet)
    expect(unclear).toMatchObject({
      sheets: ['7', 'Notes', 'People'],
      message: expect.stringContaining('say which one lists the people with --sheet'),
    })
    expect(await readTable(book, { sheet: 'People' })).toMatchObject({ headerLine: 5, workbook: { sheet: 'People' } })
    expect(await readTable(book, { sheet: '3' })).toMatchObject({ workbook: { sheet: 'People' } })
    expect(await readTable(book, { sheet: '7' })).toMatchObject({ headers: ['a', 'b'], workbook: { sheet: '7' } })
  })

  test('has totals, second headers and rows of data named by their rows', async () => {
    const totals = await readTable(await bookHead({ sheet: `${titled}${rowOf(12, 'Total', '2', '')}` }))
    const second = await readTable(await bookHead({ sheet: `${titled}${rowOf(12, 'Worker ID', 'Name')}` }))
    const chosen = await readTable(await bookHead({ sheet: titled }), { headerLine: 2 })

    expect(totals.notes).toEqual([expect.stringMatching(/^Row 12, the last one, reads like a total/)])
    expect(second.notes).toEqual([expect.stringMatching(/^Row 12 names the columns again/)])
    expect(chosen.headerLine).toBe(2)
    await expect(readTable(await bookHead({ sheet: rowOf(3, '1', 'ana@example.com') }))).rejects.toThrow(
      'people.csv:3: this row is one of data, and none above it names the columns',
    )
  })

  test('has no encoding and no delimiter, and a text has no sheet', async () => {
    const book = await bookHead({ sheet: people })

    await expect(readTable(book, { encoding: 'utf-8' })).rejects.toThrow(
      'is a workbook, which has neither an encoding nor a delimiter',
    )
    await expect(readTable(head('a,b\n1,2\n'), { sheet: '1' })).rejects.toThrow(
      'is no workbook, and has no sheet to choose',
    )
  })
})
