import { describe, expect, test } from 'vitest'
import { readCsv, refusalOf } from '../../helpers/sources/csv.ts'
import { rowOf, sheetOf, textCell, workbookOf, workbookParts, xlsx } from '../../helpers/sources/workbooks.ts'

const people = [rowOf(1, 'id', 'name', 'end'), rowOf(2, '1', 'Ana', ''), rowOf(3, '2', 'Ben', '2026-10-31')].join('')
const rows = [
  ['1', 'Ana', ''],
  ['2', 'Ben', '2026-10-31'],
]

describe('the sheet', () => {
  const sheets = { Summary: rowOf(1, 'a', 'b'), 'People & Co': people, 2026: rowOf(1, 'c', 'd') }

  test('is the only one', async () => {
    expect((await readCsv(await workbookOf({ sheet: people }), xlsx)).rows).toEqual(rows)
  })

  test.for(['People & Co', 3])('is the one that is named: %s', async (sheet) => {
    expect((await readCsv(await workbookOf({ sheets }), { ...xlsx, sheet })).rows).toEqual(rows)
  })

  test.for<[string, string | number | undefined, string]>([
    [
      'none of several is named',
      undefined,
      'people.csv has 3 sheets: "2026", "Summary", "People & Co": name the one of the people with sheet',
    ],
    [
      'the name is misspelled',
      'people and co',
      `it has 3 sheets: "2026", "Summary", "People & Co": did you mean sheet: 'People & Co'?`,
    ],
    ['the number is too high', 4, 'people.csv has no sheet number 4 with rows; it has 3 sheets'],
    ['the number is a name', 2026, "did you mean sheet: '2026'?"],
  ])('is refused if %s', async ([, sheet, message]) => {
    expect(await refusalOf(await workbookOf({ sheets }), { ...xlsx, sheet })).toContain(message)
  })

  test('of a chart is none, and counts', async () => {
    const kinds = ['chartsheet', 'worksheet', 'worksheet'].map(
      (kind, index) =>
        `<Relationship Id="rId${index + 1}" Type="x/${kind}" Target="worksheets/sheet${index + 1}.xml"/>`,
    )
    const book = await workbookOf({
      sheets: { Chart: '<?xml version="1.0"?><chartsheet/>', People: people, Former: rowOf(1, 'x') },
      parts: { 'xl/_rels/workbook.xml.rels': `<Relationships>${kinds.join('')}</Relationships>` },
    })

    expect((await readCsv(book, { ...xlsx, sheet: 2 })).rows).toEqual(rows)
    expect(await refusalOf(book, { ...xlsx, sheet: 1 })).toContain(
      'has no sheet number 1 with rows; it has 2 sheets: "People", "Former"',
    )
  })

  test('without a part, as Excel keeps the modules of old workbooks, is left out', async () => {
    const parts = workbookParts({ sheets: { People: people } })
    const book = await workbookOf({
      sheets: { People: people },
      parts: {
        'xl/workbook.xml': parts['xl/workbook.xml'].replace(
          '</sheets>',
          '<sheet name="Module" sheetId="2" r:id=""/></sheets>',
        ),
      },
    })

    expect((await readCsv(book, xlsx)).rows).toEqual(rows)
    expect(await refusalOf(book, { ...xlsx, sheet: 'Module' })).toContain('has no sheet "Module"; it has 1 sheet')
  })

  test('of a chart is left out', async () => {
    const book = await workbookOf({
      sheets: { People: people, Chart: '<?xml version="1.0"?><chartsheet/>' },
      parts: {
        'xl/_rels/workbook.xml.rels':
          '<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="x/chartsheet" Target="worksheets/sheet2.xml"/></Relationships>',
      },
    })

    expect((await readCsv(book, xlsx)).rows).toEqual(rows)
  })
})

describe('rows and columns', () => {
  test('that are hidden are read', async () => {
    const hidden = people.replace('<row r="2">', '<row r="2" hidden="1">')
    const columns = '<cols><col min="2" max="2" hidden="1"/></cols>'
    const sheet = sheetOf(hidden).replace('<sheetData>', `${columns}<sheetData>`)

    expect((await readCsv(await workbookOf({ sheet }), xlsx)).rows).toEqual(rows)
  })

  test('may leave out their addresses, have prefixes, and the other edition of the standard', async () => {
    const bare = people.replaceAll(/ r="[^"]*"/g, '')
    const prefixed = sheetOf(people)
      .replaceAll(/<(\/?)(?=[a-z])/g, '<$1x:')
      .replace(' xmlns=', ' xmlns:x=')
    const strict = sheetOf(people).replace(/xmlns="[^"]*"/, 'xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"')

    for (const sheet of [bare, prefixed, strict])
      expect((await readCsv(await workbookOf({ sheet }), xlsx)).rows).toEqual(rows)
  })

  test('that are blank are left out, and others keep the number that Excel shows', async () => {
    const sheet = `${rowOf(1, 'id', 'name')}<row r="2"/><row r="5"><c r="A5" s="1"/></row>${rowOf(17, '1', 'Ana')}${rowOf(1_048_575, '2', 'Ben')}`

    const read = await readCsv(await workbookOf({ sheet }), xlsx)

    expect(read.rows).toEqual([
      ['1', 'Ana'],
      ['2', 'Ben'],
    ])
    expect(read.lines).toEqual([17, 1_048_575])
    expect(read.columnLabels).toEqual(['A / id', 'B / name'])
  })

  test('beyond the named columns mean nothing', async () => {
    const note = textCell('Z60', 'a note')
    const many = Array.from({ length: 58 }, (_, index) => rowOf(index + 2, String(index), 'Ana'))
    const sheet = `${rowOf(1, 'id', 'name')}${many.join('')}<row r="60">${textCell('A60', '58')}${note}</row>`

    const read = await readCsv(await workbookOf({ sheet }), xlsx)

    expect(read.rows.at(-1)).toEqual(['58', ''])
    expect(read.faults).toEqual([])
  })

  test('that were shifted beyond the named columns cost their row, as in a CSV', async () => {
    const sheet = (count: number) =>
      rowOf(1, 'id', 'end') +
      Array.from({ length: count }, (_, index) => rowOf(index + 2, `${index}`)).join('') +
      rowOf(count + 2, 'x', '', '2026-10-31')
    const reason = 'the row has a cell in column C, beside the last column with a name, so it may have been shifted'

    for (const count of [10, 60])
      expect((await readCsv(await workbookOf({ sheet: sheet(count) }), xlsx)).faults).toEqual([
        { line: count + 2, column: null, reason },
      ])
  })

  test('without a name that most rows fill are columns', async () => {
    const sheet = `${rowOf(1, 'id', 'end')}${rowOf(2, '1', '', 'a')}${rowOf(3, '2', '', 'b')}${rowOf(4, '3')}`

    expect(await readCsv(await workbookOf({ sheet }), xlsx)).toMatchObject({ headers: ['id', 'end', ''], faults: [] })
  })

  test('are read as the settings for titles, repeated headers, footers and trailers say', async () => {
    const sheet = [
      ...[
        rowOf(1, 'Report'),
        rowOf(4, 'id', 'name'),
        rowOf(5, '(key)', '(text)'),
        rowOf(7, '1', 'Ana'),
        rowOf(8, '2', 'Ben'),
      ],
      ...[rowOf(9, 'Total', '2'), rowOf(11, 'END', '2')],
    ].join('')
    const form = {
      headerLine: 3,
      linesAfterHeader: 1,
      footer: { startsWith: 'Total' },
      trailer: { startsWith: 'END', rowsAt: 2 },
    }

    const read = await readCsv(await workbookOf({ sheet }), { ...xlsx, ...form })

    expect(read.rows).toEqual([
      ['1', 'Ana'],
      ['2', 'Ben'],
    ])
    expect(read.warnings).toEqual(['people.csv: left out as its footer: line 9'])
    expect(
      await refusalOf(await workbookOf({ sheet: sheet.replace(/2(?!.*>2<)/, '3') }), {
        ...xlsx,
        ...form,
        headerLine: 4,
      }),
    ).toContain('the trailer counts')
  })
})

describe('a title', () => {
  const report = (title: string) =>
    `${title}${[3, 4, 5].map((line) => rowOf(line, 'id', 'name', 'end', 'team', 'mail')).join('')}`

  test('in merged cells above the header is refused with the headerLine that helps', async () => {
    const sheet = sheetOf(
      report(rowOf(1, 'People report', '', 'of 2026')),
      '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>',
    )

    expect(await refusalOf(await workbookOf({ sheet }), xlsx)).toBe(
      'people.csv:1: this row is a title and not the header: it reads "People report of 2026": row 3 is the first with 5 cells; if it names the columns, write headerLine: 3',
    )
    expect((await readCsv(await workbookOf({ sheet }), { ...xlsx, headerLine: 3 })).rows).toHaveLength(2)
  })

  test('with an address of somebody is not quoted', async () => {
    expect(await refusalOf(await workbookOf({ sheet: report(rowOf(1, 'by ana@example.com')) }), xlsx)).not.toContain(
      'ana',
    )
  })

  test('is no header of one column', async () => {
    const sheet = [rowOf(1, 'id'), rowOf(2, '1'), rowOf(3, '2')].join('')

    expect((await readCsv(await workbookOf({ sheet }), xlsx)).rows).toEqual([['1'], ['2']])
  })
})

describe('merged cells', () => {
  const merged = (ref: string) => sheetOf(people, `<mergeCells count="1"><mergeCell ref="${ref}"/></mergeCells>`)

  test.for([
    ['C2:C3', 'C2'],
    ['B3:C3', 'B3'],
    ['B3:F3', 'B3'],
    ['A1:A2', 'A1'],
  ] as const)('of people are refused: %s', async ([ref, first]) => {
    expect(await refusalOf(await workbookOf({ sheet: merged(ref) }), xlsx)).toBe(
      `people.csv: the cells ${ref} are merged, so that only ${first} has their value: have every cell filled, or write footer if they are no people`,
    )
  })

  test.for(['A1:C1', 'C3:F3', 'E2:F9', 'A4:C9'])('that hide no value of a person are read: %s', async (ref) => {
    expect((await readCsv(await workbookOf({ sheet: merged(ref) }), xlsx)).rows).toEqual(rows)
  })

  test('of a second header and of a footer are read', async () => {
    const content = [rowOf(1, 'id', 'name'), rowOf(2, '(key)'), rowOf(4, '1', 'Ana'), rowOf(5, 'Total')].join('')
    const sheet = sheetOf(content, '<mergeCells><mergeCell ref="B2:B3"/><mergeCell ref="A5:B5"/></mergeCells>')
    const form = { linesAfterHeader: 2, footer: { startsWith: 'Total' } }

    expect((await readCsv(await workbookOf({ sheet }), { ...xlsx, ...form })).rows).toEqual([['1', 'Ana']])
  })
})

test.for<[string, string, string]>([
  ['without any row', '', 'people.csv holds no header: the first row of the sheet must name the columns'],
  [
    'that is full to the last row',
    rowOf(1, 'id') + rowOf(1_048_576, '1'),
    'people.csv has a person in the last row that a sheet can have: it was cut off there: have it sent as CSV',
  ],
  [
    'with an error in its header',
    `<row r="1">${textCell('A1', 'id')}<c r="B1" t="e"><v>#REF!</v></c></row>`,
    'row 1, the header, cannot be read in column B: the cell holds the error #REF!',
  ],
])('a sheet %s is refused', async ([, sheet, message]) => {
  expect(await refusalOf(await workbookOf({ sheet }), xlsx)).toContain(message)
})
