import fc from 'fast-check'
import iconv from 'iconv-lite'
import { describe, expect, test } from 'vitest'
import { readCsv } from '../../helpers/sources/csv.ts'

const undecodable =
  'bytes that are not in the configured encoding; set encoding to the one of the file, such as windows-1252, windows-1250, windows-1251, windows-1257 or shift_jis'
const notEncoded = `the cell holds ${undecodable}`
const misplacedQuote = 'a quote is inside a cell that is not enclosed in quotes, or is not doubled'

describe('cells', () => {
  test('a plain export yields its headers, its rows and the line of each row', async () => {
    const read = await readCsv('Worker ID,Name\n1,Ana\n2,Ben\n')

    expect(read).toEqual({
      headers: ['Worker ID', 'Name'],
      rows: [
        ['1', 'Ana'],
        ['2', 'Ben'],
      ],
      lines: [2, 3],
      faults: [],
      warnings: [],
    })
  })

  test.for([
    ['no line end at the end', 'a,b\n1,2\n3,4'],
    ['Windows line ends', 'a,b\r\n1,2\r\n3,4\r\n'],
    ['line ends of old Macs', 'a,b\r1,2\r3,4\r'],
    ['mixed line ends', 'a,b\r\n1,2\n3,4\r'],
    ['a byte order mark', '\uFEFFa,b\n1,2\n3,4\n'],
    ['quotes around everything', '"a","b"\n"1","2"\n"3","4"\n'],
  ])('%s changes nothing', async ([, text]) => {
    const { headers, rows } = await readCsv(text ?? '', { lastLine: 'any' })

    expect(headers).toEqual(['a', 'b'])
    expect(rows).toEqual([
      ['1', '2'],
      ['3', '4'],
    ])
  })

  test('leading zeros, blanks and numbers in scientific notation stay texts as they are', async () => {
    const { rows } = await readCsv('id,b,c\n007, x ,1.23E+05\n')

    expect(rows).toEqual([['007', ' x ', '1.23E+05']])
  })

  test('enclosed cells hold delimiters, doubled quotes and line ends', async () => {
    const { rows } = await readCsv('a,b\n"Miller, Ana","the ""boss""\nof all"\n')

    expect(rows).toEqual([['Miller, Ana', 'the "boss"\nof all']])
  })

  test('headers that repeat are delivered as they are', async () => {
    const { headers } = await readCsv('id,Name,Name\n1,a,b\n')

    expect(headers).toEqual(['id', 'Name', 'Name'])
  })

  test('an export with a header only has no rows', async () => {
    const { headers, rows } = await readCsv('id,name\n')

    expect(headers).toEqual(['id', 'name'])
    expect(rows).toEqual([])
  })

  test.for([
    ['semicolons', { delimiter: ';' }, 'a;b\n1,5;"x;y"\n', ['1,5', 'x;y']],
    ['tabs', { delimiter: 'tab' }, 'a\tb\n1\t"x\ty"\n', ['1', 'x\ty']],
    ['apostrophes as quotes', { quote: "'" }, "a,b\n1,'x,''y'''\n", ['1', "x,'y'"]],
    ['no quotes at all', { quote: 'none' }, 'a,b\n1,"x" y"\n', ['1', '"x" y"']],
  ] as const)('%s are read as configured', async ([, settings, text, expected]) => {
    const { rows } = await readCsv(text, settings)

    expect(rows).toEqual([expected])
  })

  test('whatever cells a writer encloses, the reader returns', async () => {
    const cell = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\0\uFFFD]/g, ' '))
    const table = fc.array(fc.tuple(cell, cell, cell), { maxLength: 20 })

    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        const text = rows.map((row) => `id,${row.map(enclosed).join(',')}\r\n`).join('')

        const read = await readCsv(`h,i,j,k\r\n${text}`)

        expect(read.rows).toEqual(rows.map((row) => ['id', ...row]))
        expect(read.faults).toEqual([])
      }),
      { numRuns: 60 },
    )
  })
})

describe('lines', () => {
  test.for([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('are the ones that an editor shows, also behind cells that span several (%s)', async ([, end]) => {
    const text = ['a,b', '1,"two', 'lines"', '', '2,"three', '', 'lines"', ',', '3,x'].join(end)

    const { lines } = await readCsv(text, { lastLine: 'any' })

    expect(lines).toEqual([2, 5, 9])
  })

  test('stay right behind rows with misplaced quotes', async () => {
    const { lines, faults } = await readCsv('a,b\r\n1,x "y"\r\n2,"ok\r\nok"\r\n3,"x\r\ny"z"\r\n4,ok\r\n')

    expect(lines).toEqual([2, 3, 5, 7])
    expect(faults.map(({ line }) => line)).toEqual([2, 5])
  })

  test('stay right across the pieces in which a large file is read', async () => {
    const count = 40_000
    const text = Array.from({ length: count }, (_, index) => `${index},"some text\r\nfor row ${index}"\r\n`).join('')

    const { rows, lines } = await readCsv(`id,text\r\n${text}`)

    expect(rows).toHaveLength(count)
    expect(lines).toEqual(Array.from({ length: count }, (_, index) => 2 * index + 2))
    expect(rows.at(-1)).toEqual([`${count - 1}`, `some text\r\nfor row ${count - 1}`])
  })
})

describe('rows that cannot be trusted', () => {
  test('a row that is too short or too long is delivered with that fault', async () => {
    const { faults } = await readCsv('a,b,c\n1,2,3\n1,2\n1,2,3,4\n1\n')

    expect(faults).toEqual([
      { line: 3, column: null, reason: 'row has 2 cells, the header has 3' },
      { line: 4, column: null, reason: 'row has 4 cells, the header has 3' },
      { line: 5, column: null, reason: 'row has 1 cell, the header has 3' },
    ])
  })

  test('rows without any content are no rows', async () => {
    const { rows, faults } = await readCsv('a,b\n\n1,2\n,\n\n')

    expect(rows).toEqual([['1', '2']])
    expect(faults).toEqual([])
  })

  test('a misplaced quote spoils its own row and no other', async () => {
    const { rows, faults } = await readCsv('a,b\n1,x\n2,Joe "Shorty" Smith\n3,"Joe "Shorty" Smith"\n4,y\n')

    expect(rows).toEqual([['1', 'x'], [], [], ['4', 'y']])
    expect(faults).toEqual([
      { line: 3, column: null, reason: misplacedQuote },
      { line: 4, column: null, reason: misplacedQuote },
    ])
  })

  test('rows that a quote swallowed are never silently gone', async () => {
    const { faults } = await readCsv('a,b\n1,"open\n2,"x"\n3,y\n')

    expect(faults).toEqual([{ line: 2, column: null, reason: misplacedQuote }])
  })

  test('invalid bytes are a fault of their cell', async () => {
    const { rows, faults } = await readCsv(iconv.encode('a,b,c\n1,Müller,x\n2,Maier,y\n', 'windows-1252'))

    expect(faults).toEqual([{ line: 2, column: 1, reason: notEncoded }])
    expect(rows[1]).toEqual(['2', 'Maier', 'y'])
  })

  test('invalid bytes in several cells are a fault of the row', async () => {
    const { faults } = await readCsv(iconv.encode('a,b,c\n1,Müller,Köln\n', 'windows-1252'))

    expect(faults).toEqual([{ line: 2, column: null, reason: `several cells hold ${undecodable}` }])
  })

  test.for([
    ['a lone continuation byte', [0x80]],
    ['a character that is cut off', [0xe2, 0x82]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['half a surrogate pair', [0xed, 0xa0, 0x80]],
    ['a byte that UTF-8 never has', [0xff]],
  ] as const)('%s is a fault and eats neither delimiter nor line end', async ([, bytes]) => {
    const text = Buffer.concat([Buffer.from('a,b\n1,x'), Buffer.from(bytes), Buffer.from('\n2,y\n')])

    const { faults, rows } = await readCsv(text)

    expect(faults).toEqual([{ line: 2, column: 1, reason: notEncoded }])
    expect(rows[1]).toEqual(['2', 'y'])
  })
})

describe('encodings', () => {
  const text = 'id,name\r\n1,Žofia Čížková\r\n2,"Łukasz, Jr."\r\n'

  test.for(['utf-8', 'utf-16le', 'utf-16be', 'utf-16', 'windows-1250', 'iso-8859-2'])(
    'an export in %s is read as declared',
    async (encoding) => {
      const { headers, rows, faults } = await readCsv(iconv.encode(text, encoding), { encoding })

      expect(headers).toEqual(['id', 'name'])
      expect(rows).toEqual([
        ['1', 'Žofia Čížková'],
        ['2', 'Łukasz, Jr.'],
      ])
      expect(faults).toEqual([])
    },
  )

  test.for(['utf-8', 'utf-16le', 'utf-16be'])('a byte order mark of %s is no part of the header', async (encoding) => {
    const { headers } = await readCsv(iconv.encode(text, encoding, { addBOM: true }), { encoding })

    expect(headers).toEqual(['id', 'name'])
  })

  test('characters that are cut by the pieces of a large file stay whole', async () => {
    const row = '1,日本語の名前が続く長い行\n'
    const count = 20_000

    const utf8 = await readCsv(`id,name\n${row.repeat(count)}`)
    const shiftJis = await readCsv(iconv.encode(`id,name\n${row.repeat(count)}`, 'shift_jis'), {
      encoding: 'shift_jis',
    })

    expect(new Set(utf8.rows.map(([, name]) => name))).toEqual(new Set(['日本語の名前が続く長い行']))
    expect(shiftJis.rows).toEqual(utf8.rows)
    expect(utf8.rows).toHaveLength(count)
  })

  test('bytes that a single-byte encoding does not define are a fault', async () => {
    const { faults } = await readCsv(Buffer.from('id,name\n1,x\x81y\n', 'latin1'), { encoding: 'windows-1252' })

    expect(faults).toEqual([{ line: 2, column: 1, reason: notEncoded }])
  })

  test('half a surrogate pair in UTF-16 is a fault', async () => {
    const bytes = Buffer.concat([
      Buffer.from('id,name\n1,x', 'utf16le'),
      Buffer.of(0x00, 0xd8),
      Buffer.from('\n2,y\n', 'utf16le'),
    ])

    const { faults } = await readCsv(bytes, { encoding: 'utf-16le' })

    expect(faults).toEqual([{ line: 2, column: 1, reason: notEncoded }])
  })
})

function enclosed(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`
}
