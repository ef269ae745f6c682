import { appendFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { allRows, openFile, readCsv, refusalOf } from '../../../helpers/sources/csv.ts'
import { exportFolder } from '../../../helpers/sources/exports.ts'
import { zipOf } from '../../../helpers/sources/zip.ts'

const text = `id,name\n${Array.from({ length: 30_000 }, (_, index) => `${index},Ana ${index * 7919}\n`).join('')}`
const small = await zipOf({ 'people.csv': 'id,name\n1,Ana\n2,Ben\n' })
const stored = await zipOf({ 'people.csv': 'id,name\n1,Ana\n2,Ben\n' }, { compress: false })
const centralMark = Buffer.from('PK\x01\x02', 'latin1')

test.for<[string, () => Promise<Buffer>, 'auto' | 'zip']>([
  ['deflated', () => zipOf({ 'people.csv': text }), 'auto'],
  ['stored', () => zipOf({ 'people.csv': text }, { compress: false }), 'auto'],
  ['as configured', () => zipOf({ 'people.csv': text }), 'zip'],
  ['whatever its file is called, in whatever folder', () => zipOf({ 'out/Ünïcode 2026.dat': text }), 'auto'],
])('a zip of one file is unpacked: %s', async ([, make, compression]) => {
  const { headers, rows, lines } = await readCsv(await make(), { compression })

  expect(headers).toEqual(['id', 'name'])
  expect(rows).toHaveLength(30_000)
  expect(rows.at(-1)).toEqual(['29999', `Ana ${29_999 * 7919}`])
  expect(lines.at(-1)).toBe(30_001)
})

describe('a zip is refused', () => {
  test.for<[string, () => Promise<Buffer>, string]>([
    [
      'with two files',
      () => zipOf({ 'a.csv': 'id\n1\n', 'b.csv': 'id\n2\n' }),
      'people.csv is a zip with 2 entries: have exactly one file packed, without folders',
    ],
    [
      'with a folder beside the file',
      () => zipOf({ 'out/': '', 'out/a.csv': 'id\n1\n' }),
      'people.csv is a zip with 2 entries: have exactly one file packed, without folders',
    ],
    [
      'with nothing',
      () => zipOf({}),
      'people.csv is a zip with 0 entries: have exactly one file packed, without folders',
    ],
    ['with a folder only', () => zipOf({ 'out/': '' }), 'people.csv is a zip that holds a folder only'],
    [
      'that is an Excel workbook',
      () => zipOf({ '[Content_Types].xml': '<x/>', 'xl/workbook.xml': '<x/>' }),
      'people.csv is an Excel workbook: write format: xlsx, or have it saved as CSV',
    ],
    [
      'with a password',
      async () => inCentral(small, 8, 1),
      'people.csv is a zip with a password: have it packed without',
    ],
    [
      'with a rare compression',
      async () => inCentral(small, 10, 12),
      'people.csv is a zip with compression method 12, which is not read',
    ],
    [
      'whose file would be written elsewhere',
      async () => renamed(await zipOf({ 'aa/x.csv': 'id\n1\n' }), 'aa/', '../'),
      'people.csv is a zip whose file has a path that leads elsewhere',
    ],
    ['that lies about its size', async () => inCentral(small, 24, 5), 'people.csv is a damaged zip file'],
    ['that lies about its checksum', async () => inCentral(small, 16, 7), 'people.csv is a damaged zip file'],
    [
      'with something behind its end',
      async () => Buffer.concat([small, Buffer.from('x')]),
      'people.csv is a damaged zip file',
    ],
    [
      'that was made to fill a disk',
      () => zipOf({ 'people.csv': Buffer.alloc(24 * 1024 * 1024, `1,${'x'.repeat(1021)}\n`) }),
      'people.csv unpacks to more than 200 times its size: exports never do',
    ],
  ])('%s', async ([, make, message]) => {
    expect(await refusalOf(await make())).toContain(message)
  })

  test('of more bytes than configured', async () => {
    const refusal = await refusalOf(await zipOf({ 'people.csv': text }), { unpackedBytes: 100_000 })

    expect(refusal).toBe('people.csv unpacks to more than 100000 bytes: raise unpackedBytes if that is right')
  })

  test('wherever it is cut off', async () => {
    const refusals = await Promise.all(
      Array.from({ length: small.length - 4 }, (_, index) => refusalOf(small.subarray(0, index + 4))),
    )

    expect(refusals.filter((refusal) => !refusal.startsWith('people.csv is a damaged zip file'))).toEqual([])
  })

  test('wherever a byte of its content is altered', async () => {
    const start = stored.indexOf('id,name')
    const refusals = []

    for (let at = start; at < start + 20; at += 1) {
      const altered = Buffer.from(stored)
      altered[at] = (altered[at] ?? 0) ^ 1
      refusals.push(await refusalOf(altered, { lastLine: 'any' }))
    }

    expect(new Set(refusals)).toEqual(
      new Set(['people.csv is a damaged zip file: the export was cut off or altered: have it sent again']),
    )
  })

  test('that is none', async () => {
    expect(await refusalOf('id,name\n', { compression: 'zip' })).toBe('people.csv is no zip file: check compression')
  })

  test.for<[string, (file: string, other: string) => Promise<void>]>([
    ['changed', (file) => appendFile(file, 'x')],
    ['replaced', (file, other) => rename(other, file)],
  ])('that is %s between its header and its rows', async ([, change]) => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', small)
    const other = await folder.write('other', small)
    const opened = await openFile(folder, 'people.csv')

    await change(file, other)

    await expect(allRows(opened)).rejects.toThrow('people.csv changed while it was read')
  })

  test('that is replaced in the middle of its rows', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', await zipOf({ 'people.csv': text }))
    const slices = (await openFile(folder, 'people.csv')).rows[Symbol.asyncIterator]()

    await slices.next()
    await rename(await folder.write('other', small), join(folder.path, 'people.csv'))

    await expect(Array.fromAsync({ [Symbol.asyncIterator]: () => slices })).rejects.toThrow(`changed while it was read`)
  })
})

/** With another number (16 bits) in the zip's directory, where readers look. */
function inCentral(zip: Buffer, offset: number, value: number): Buffer {
  const copy = Buffer.from(zip)
  copy.writeUInt16LE(value, copy.indexOf(centralMark) + offset)
  return copy
}

function renamed(zip: Buffer, from: string, to: string): Buffer {
  return Buffer.from(zip.toString('latin1').replaceAll(from, to), 'latin1')
}
