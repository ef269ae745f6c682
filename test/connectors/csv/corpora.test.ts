import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Format, readCsv, refusalOf } from '../../helpers/sources/csv.ts'
import { type Dialect, written } from '../../helpers/sources/csv-writer.ts'

const spectrum = dirname(createRequire(import.meta.url).resolve('csv-spectrum/package.json'))
const fixtures = (await readdir(join(spectrum, 'csvs'))).map((name) => name.replace(/\.csv$/, ''))
const Expected = z.array(z.record(z.string(), z.string()))

/** What has to be said about the fixtures that are not as everybody writes them. */
const special: Readonly<Record<string, Format>> = {
  location_coordinates: { quote: 'none' },
}

describe('csv-spectrum', () => {
  test.for(fixtures)('%s', async (name) => {
    const content = await readFile(join(spectrum, 'csvs', `${name}.csv`))
    const expected = Expected.parse([JSON.parse(await readFile(join(spectrum, 'json', `${name}.json`), 'utf8'))].flat())

    const { headers, rows } = await readCsv(content, { lastLine: 'any', ...special[name] })

    expect(headers).toEqual(Object.keys(expected[0] ?? {}))
    expect(rows).toEqual(expected.map((record) => corrected(name, Object.values(record))))
  })

  test('says of a U+FFFD in its cells that a character was lost before', async () => {
    const content = await readFile(join(spectrum, 'csvs', 'location_coordinates.csv'))

    const { faults } = await readCsv(content, { lastLine: 'any', quote: 'none' })

    expect(faults).toEqual([{ line: 2, column: 1, reason: expect.stringContaining('was lost before the export') }])
  })
})

describe('naughty strings', () => {
  const format = { delimiter: ',', quote: '"', escape: 'doubled', encoding: 'utf-8', lastLine: 'terminated' } as const
  const dialect: Dialect = { format, lineEnd: '\r\n', mark: false, encloseAll: false, wrapped: 'plain' }
  const rows = naughtyStrings.map((text, index) => [`${index}`, text, `${text}${text}`])

  test.for<[string, Partial<Dialect> & { readonly format?: Dialect['format'] }]>([
    ['enclosed where needed', {}],
    ['enclosed always, in UTF-16', { encloseAll: true, format: { ...format, encoding: 'utf-16le' } }],
    ['behind backslashes, between tabs', { format: { ...format, delimiter: 'tab', escape: '\\' } }],
    ['in a gzip', { wrapped: 'gzip', lineEnd: '\n' }],
  ])('come back as they were written: %s', async ([, change]) => {
    const all = { ...dialect, ...change }

    const read = await readCsv(written([['id', 'text', 'twice'], ...rows], all), all.format)

    expect(read.rows).toEqual(rows)
    expect(read.faults).toEqual([])
  })

  test('come back as headers, too', async () => {
    const names = naughtyStrings.filter((name) => name !== '')

    const { headers } = await readCsv(written([names], dialect))

    expect(headers).toEqual(names)
  })
})

describe('what parsers of CSV disagree about', () => {
  const quoteFault = 'a quote is inside a cell that is not enclosed in quotes, or is not doubled'

  test.for<[string, string, Format, readonly (readonly string[])[]]>([
    ['blanks around cells stay', 'a,b\n 1 , 2 \n', {}, [[' 1 ', ' 2 ']]],
    ['blanks inside quotes stay', 'a,b\n" 1 ",2\n', {}, [[' 1 ', '2']]],
    ['an enclosed blank is a blank', 'a,b\n"",""\n1,""\n', {}, [['1', '']]],
    ['a cell of one quote', 'a,b\n"""",2\n', {}, [['"', '2']]],
    ['a cell of two quotes', 'a,b\n"""""",2\n', {}, [['""', '2']]],
    ['a quote at the start of a cell', 'a,b\n"""x",2\n', {}, [['"x', '2']]],
    ['a quote at the end of a cell', 'a,b\n"x""",2\n', {}, [['x"', '2']]],
    ['a delimiter after a doubled quote', 'a,b\n"x"",y",2\n', {}, [['x",y', '2']]],
    ['a line end after a doubled quote', 'a,b\n"x""\ny",2\n', {}, [['x"\ny', '2']]],
    ['a last cell that is blank', 'a,b\n1,\n', {}, [['1', '']]],
    ['a first cell that is blank', 'a,b\n,2\n', {}, [['', '2']]],
    ['a hash begins no comment', 'a,b\n#1,2\n', {}, [['#1', '2']]],
    ['"sep=" is a line above the header', 'sep=;\na;b\n1;2\n', { delimiter: ';', headerLine: 2 }, [['1', '2']]],
    ['a backslash is text', 'a,b\n"x\\",\\y\n', {}, [['x\\', '\\y']]],
    ['an apostrophe is text', "a,b\n'x,y'\n", {}, [["'x", "y'"]]],
    ['other quotes enclose nothing', 'a,b\n“x,y”\n', {}, [['“x', 'y”']]],
    ['a formula is text', 'a,b\n=1+1,@SUM(A1)\n', {}, [['=1+1', '@SUM(A1)']]],
    ['a line separator of Unicode is text', 'a,b\n1,x\u2028y\u0085z\n', {}, [['1', 'x\u2028y\u0085z']]],
    ['a form feed is text', 'a,b\n1,x\f\v\n', {}, [['1', 'x\f\v']]],
    ['a byte order mark inside the text is text', 'a,b\n1,\uFEFFx\n', {}, [['1', '\uFEFFx']]],
    [
      'blank lines between rows',
      'a,b\n\n1,2\n\n\n3,4\n\n',
      {},
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    ['blank lines above the header', '\n\r\na,b\n1,2\n', {}, [['1', '2']]],
    [
      'line ends of several kinds',
      'a,b\r1,2\n3,4\r\n5,6\r',
      {},
      [
        ['1', '2'],
        ['3', '4'],
        ['5', '6'],
      ],
    ],
    ['line ends of several kinds in a cell', 'a,b\n"x\ry\r\nz\n",2\n', {}, [['x\ry\r\nz\n', '2']]],
    ['tabs and blanks are cells', 'a\tb\n \t\t\n', { delimiter: 'tab' }, [[' ', '', '']]],
    ['decomposed letters stay as they are', 'a,b\nu\u0308,ü\n', {}, [['u\u0308', 'ü']]],
  ])('%s', async ([, text, format, expected]) => {
    const { rows } = await readCsv(text, format)

    expect(rows).toEqual(expected)
  })

  test.for<[string, string, string]>([
    ['a blank before an opening quote', 'a,b\n1, "x"\n', quoteFault],
    ['a blank behind a closing quote', 'a,b\n1,"x" "\n', quoteFault],
    ['text behind a closing quote', 'a,b\n1,"x"y"\n', quoteFault],
    ['a quote in the middle', 'a,b\n1,5" pipe\n', quoteFault],
    ['a ragged row that is short', 'a,b\n1\n', 'row has 1 cell, the header has 2'],
    ['a ragged row that is long', 'a,b\n1,2,\n', 'row has 3 cells, the header has 2'],
  ])('%s is a fault of its row', async ([, text, reason]) => {
    const { faults } = await readCsv(`${text}9,sound\n`)

    expect(faults).toEqual([{ line: 2, column: null, reason }])
  })

  test.for(['a,b\n1,"x" \n', 'a,b\n1,"x"y\n'])('a quote that closes nowhere is no export (%j)', async (text) => {
    expect(await refusalOf(`${text}9,sound\n`)).toContain('a quote that opens after line 1 is not closed')
  })
})

/** The fixture's JSON has another telephone number than its CSV. */
function corrected(name: string, cells: string[]): string[] {
  return name === 'location_coordinates' ? cells.with(0, '2095257564') : cells
}
