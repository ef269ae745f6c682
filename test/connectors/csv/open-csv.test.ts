import { gzipSync } from 'node:zlib'
import iconv from 'iconv-lite'
import { describe, expect, test } from 'vitest'
import { allRows, type Format, nextDescriptor, openFile, readCsv, refusalOf } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { zipOf } from '../../helpers/sources/zip.ts'

const lost = 'U+FFFD, which stands for a character that was lost before the export was written'
const undecodable =
  'bytes that are not in the configured encoding; set encoding to the one of the file, such as windows-1252, windows-1250, windows-1251, windows-1257 or shift_jis'

const nuls = '\0'.repeat(4096)

describe('what is no text', () => {
  test('a NUL makes the row untrustworthy', async () => {
    const { faults, rows } = await readCsv('a,b\n1,x\0y\n2,z\n')

    expect(faults).toEqual([{ line: 2, column: null, reason: 'the row holds NUL bytes, so a part of it was lost' }])
    expect(rows[1]).toEqual(['2', 'z'])
  })

  test('a block of NULs, as a full disk leaves it, is a fault of the rows that it hit', async () => {
    const { faults, rows } = await readCsv(`a,b\n1,x\n2,${'\0'.repeat(4096)}9,z\n10,y\n`)

    expect(faults).toEqual([{ line: 3, column: null, reason: 'the row holds NUL bytes, so a part of it was lost' }])
    expect(rows.at(-1)).toEqual(['10', 'y'])
  })

  test.for<[string, string | Buffer, Format]>([
    ['behind a line', `a,b\n1,x\n${nuls}`, {}],
    ['in the middle of a row', `a,b\n1,x\n2,${nuls}`, {}],
    ['within quotes', `a,b\n1,"x${nuls}`, {}],
    ['where the last line needs no end', `a,b\n1,x\n${nuls}`, { lastLine: 'any' }],
    ['by the megabyte', `a,b\n1,x\n${nuls.repeat(400)}`, {}],
    ['within the header', `a,${nuls}`, {}],
    ['in UTF-16', Buffer.from(`\uFEFFa,b\n1,x\n${nuls}`, 'utf16le'), { encoding: 'utf-16le' }],
    ['and nothing before them', nuls, {}],
  ])('a file that ends in NULs is called damaged (%s)', async ([, content, format]) => {
    expect(await refusalOf(content, format)).toBe(
      'people.csv is a damaged file that ends in NUL bytes: a part of it was lost: have it sent again',
    )
  })

  test('a U+FFFD that the file really holds is told from bytes that mean nothing', async () => {
    const text = Buffer.concat([
      Buffer.from('a,b,c\n1,M\uFFFDller,\uFFFD\n2,M\uFFFDller,x\n3,M'),
      Buffer.of(0xff),
      Buffer.from('ller,x\n'),
    ])

    const { faults } = await readCsv(text)

    expect(faults).toEqual([
      { line: 2, column: null, reason: `several cells hold ${lost}` },
      { line: 3, column: 1, reason: `the cell holds ${lost}` },
      { line: 4, column: 1, reason: `the cell holds ${undecodable}` },
    ])
  })

  test.for([
    ['utf-16le', 'x\uFFFD', lost],
    ['utf-16be', 'x\uFFFD', lost],
    ['utf-16le', 'x\uDC00', undecodable],
    ['utf-16be', 'x\uD800', undecodable],
    ['utf-16be', '\uD800x', undecodable],
  ] as const)('so in %s: %j', async ([encoding, cell, reason]) => {
    const le = Buffer.from(`a,b\n1,${cell}\n2,🦊\n`, 'utf16le')

    const { faults, rows } = await readCsv(encoding === 'utf-16le' ? le : le.swap16(), { encoding })

    expect(faults).toEqual([{ line: 2, column: 1, reason: `the cell holds ${reason}` }])
    expect(rows[1]).toEqual(['2', '🦊'])
  })

  test.for(['utf-16le', 'utf-16be'])('half a character at the end of %s is a fault', async (encoding) => {
    const bytes = Buffer.concat([iconv.encode('a,b\n1,x\n', encoding), Buffer.of(0x32)])

    expect(await refusalOf(bytes, { encoding })).toContain('its last line has no line end')
    expect((await readCsv(bytes, { encoding, lastLine: 'any' })).faults).toHaveLength(1)
  })

  test.for([
    ['windows-1252', [0x81]],
    ['iso-8859-8', [0xbf]],
    ['shift_jis', [0x81, 0x20]],
    ['gb18030', [0xff]],
    ['us-ascii', [0xe4]],
  ] as const)('bytes that %s does not know are a fault', async ([encoding, bytes]) => {
    const text = Buffer.concat([Buffer.from('a,b\n1,x'), Buffer.from(bytes), Buffer.from('\n2,y\n')])

    const { faults, rows } = await readCsv(text, { encoding })

    expect(faults).toEqual([{ line: 2, column: 1, reason: `the cell holds ${undecodable}` }])
    expect(rows[1]).toEqual(['2', 'y'])
  })

  test('characters beyond the first plane stay whole where pieces of a UTF-16 file cut them', async () => {
    const bytes = Buffer.from(`id,name\n${'1,x🦊🦊🦊🦊y\n'.repeat(20_000)}`, 'utf16le').swap16()

    const { rows, faults } = await readCsv(bytes, { encoding: 'utf-16be' })

    expect(faults).toEqual([])
    expect(new Set(rows.map(([, name]) => name))).toEqual(new Set(['x🦊🦊🦊🦊y']))
  })
})

describe('the wrong encoding', () => {
  test.for<[string, Buffer, string, string]>([
    [
      'UTF-16 that does not say which',
      Buffer.from('id,name\n', 'utf16le'),
      'utf-16',
      'people.csv begins without a byte order mark: write encoding: utf-16le or utf-16be',
    ],
    [
      'UTF-16 that nobody declared',
      Buffer.from('id,name\n', 'utf16le'),
      'utf-8',
      'people.csv: the header is not in the configured encoding: it holds NUL bytes; if it is UTF-16, write encoding: utf-16le or utf-16be',
    ],
    [
      'a header that lost a character',
      Buffer.from('id,pr\uFFFDnom\n'),
      'utf-8',
      'people.csv:1: the header holds U+FFFD: it stands for a character that was lost before the export was written',
    ],
  ])('is refused: %s', async ([, bytes, encoding, message]) => {
    expect(await refusalOf(bytes, { encoding })).toBe(message)
  })

  test('is worth a warning where the text would read well as UTF-8', async () => {
    const { warnings } = await readCsv(`id,name\n${'1,Ana\n'.repeat(30_000)}2,Müller\n`, { encoding: 'windows-1252' })

    expect(warnings).toEqual([
      'people.csv: its text reads well as utf-8, but the configuration says encoding: windows-1252; names may come out wrong',
    ])
  })

  test.for(['1,Ana\n', '1,Müller\n2,Ana\n'])('is not suspected without a reason (%j)', async (text) => {
    const { warnings } = await readCsv(iconv.encode(`id,name\n${text}`, 'windows-1252'), { encoding: 'windows-1252' })

    expect(warnings).toEqual([])
  })
})

describe('limits', () => {
  test('10,000 columns are read', async () => {
    const header = Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(',')

    expect((await readCsv(`${header}\n`)).headers).toHaveLength(10_000)
    expect(await refusalOf(`${header},x\n`)).toBe('people.csv:1: the header has 10001 columns: at most 10000 are read')
  })

  test.for([
    ['a header of a million columns', ','.repeat(1_100_000)],
    ['a header of one long cell', 'x'.repeat(1_100_000)],
  ])('%s is refused', async ([, text = '']) => {
    expect(await refusalOf(`${text}\n`)).toBe(
      'people.csv: the row after line 0 is longer than 1 MiB: a quote is not closed, or the delimiter or the encoding is not the configured one',
    )
  })

  test('many rows with misplaced quotes are a fault each, and no row that is too long', async () => {
    const row = `1,x "y" ${'z'.repeat(90)}\n`

    const { faults, lines } = await readCsv(`id,name\n${row.repeat(20_000)}2,z\n`)

    expect(faults).toHaveLength(20_000)
    expect(faults.every(({ line }, index) => line === index + 2)).toBe(true)
    expect(lines.at(-1)).toBe(20_002)
  })

  test('several misplaced quotes in one row are one fault', async () => {
    const { faults } = await readCsv('a,b,c\n1,x "y" z,"u"v"\n2,"a"b"c",d\n')

    expect(faults.map(({ line }) => line)).toEqual([2, 3])
  })

  test('names that JavaScript gives a meaning are names like any other', async () => {
    const { headers, rows } = await readCsv('__proto__,constructor,toString\n1,2,3\n')

    expect(headers).toEqual(['__proto__', 'constructor', 'toString'])
    expect(rows).toEqual([['1', '2', '3']])
  })
})

test.for<[string, (text: string) => Promise<Uint8Array | string>]>([
  ['plain', async (text) => text],
  ['gzip', async (text) => gzipSync(text)],
  ['zip', (text) => zipOf({ 'people.csv': text })],
])('an export that is not read to its end leaves nothing open (%s)', async ([, wrapped]) => {
  await using folder = await exportFolder()
  const file = await folder.write('people.csv', await wrapped(`id,name\n${'1,x\n'.repeat(100_000)}`))
  const before = await nextDescriptor(file)

  await openFile(folder, 'people.csv')
  const slices = (await openFile(folder, 'people.csv')).rows[Symbol.asyncIterator]()
  await slices.next()
  await slices.return?.()

  expect(await nextDescriptor(file)).toBe(before)
})

test('an abort ends the reading with the reason of the abort', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', `id,name\n${'1,x\n'.repeat(100_000)}`)
  const controller = new AbortController()
  const opened = await openFile(folder, 'people.csv', {}, { signal: controller.signal })

  controller.abort(new Error('enough'))

  await expect(allRows(opened)).rejects.toThrow('enough')
})
