import { randomBytes } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { allRows, openFile, readCsv, refusalOf } from '../../../helpers/sources/csv.ts'
import { exportFolder } from '../../../helpers/sources/exports.ts'

const mebibyte = 1024 * 1024
const text = `id,name\n${Array.from({ length: 30_000 }, (_, index) => `${index},Ana ${index * 7919}\n`).join('')}`
const damaged = /^people\.csv (is a damaged gzip file|ends in the middle of its gzip data|has other data after the end)/
const behind = 'people.csv has other data after the end of its gzip data: have it written as gzip, and nothing else'
const cutOff = 'people.csv ends in the middle of its gzip data: the export was cut off'
const nulsFollow =
  'people.csv is a damaged file with NUL bytes behind its gzip data: a part of it may be lost: have it sent again'

test.for(['auto', 'gzip'] as const)('a gzip is unpacked (compression: %s)', async (compression) => {
  const { headers, rows, lines } = await readCsv(gzipSync(text), { compression })

  expect(headers).toEqual(['id', 'name'])
  expect(rows).toHaveLength(30_000)
  expect(rows.at(-1)).toEqual(['29999', `Ana ${29_999 * 7919}`])
  expect(lines.at(-1)).toBe(30_001)
})

describe('a gzip of several members', () => {
  test('is read whole, wherever the text was divided', async () => {
    const small = 'id,name\n1,Ana\n2,Ben\n'
    const read = []

    for (let at = 0; at <= small.length; at += 1)
      read.push((await readCsv(Buffer.concat([gzipSync(small.slice(0, at)), gzipSync(small.slice(at))]))).rows.join())

    expect(new Set(read)).toEqual(new Set(['1,Ana,2,Ben']))
  })

  test('is read whole where a member ends with a piece of the file', async () => {
    const pieceBytes = 128 * 1024
    const noise = (bytes: number) => randomBytes(bytes).toString('hex').slice(0, bytes)
    const rows = Array.from({ length: 2000 }, (_, index) => `${index},${noise(150)}\n`).join('')
    // The head of a gzip may name the file. A name of the right length makes the member end where it should.
    const member = gzipSync(`id,name\n${rows}`)
    const padding = pieceBytes - (member.length % pieceBytes)
    const head = Buffer.concat([member.subarray(0, 3), Buffer.of(8), member.subarray(4, 10)])
    const padded = Buffer.concat([head, Buffer.alloc(padding - 1, 'x'), Buffer.of(0), member.subarray(10)])

    const { rows: read } = await readCsv(Buffer.concat([padded, gzipSync('last,Eve\n')]))

    expect(padded.length % pieceBytes).toBe(0)
    expect(read).toHaveLength(2001)
    expect(read.at(-1)).toEqual(['last', 'Eve'])
  })

  test('is refused wherever one of them is cut off', async () => {
    const first = gzipSync('id,name\n1,Ana\n')
    const both = Buffer.concat([first, gzipSync('2,Ben\n')])

    const lengths = Array.from({ length: both.length - 20 }, (_, index) => index + 20)
    const inside = lengths.filter((length) => length !== first.length && length < both.length)
    const refusals = await Promise.all(inside.map((length) => refusalOf(both.subarray(0, length))))

    expect(new Set(refusals)).toEqual(new Set([cutOff]))
  })
})

test('a gzip in another encoding is decoded after it is unpacked', async () => {
  const { rows } = await readCsv(gzipSync(Buffer.from('\uFEFFid,name\n1,Žofia\n', 'utf16le')), { encoding: 'utf-16le' })

  expect(rows).toEqual([['1', 'Žofia']])
})

test('a gzip is no text where compression is none', async () => {
  expect(await refusalOf(gzipSync(text), { compression: 'none' })).toMatch(/header/)
})

describe('a gzip is refused', () => {
  const small = gzipSync('id,name\n1,Ana\n2,Ben\n')

  test('wherever it is cut off', async () => {
    const refusals = await Promise.all(
      Array.from({ length: small.length - 1 }, (_, index) =>
        refusalOf(small.subarray(0, index + 1), { compression: 'gzip' }),
      ),
    )

    expect(
      refusals.filter((refusal) => !damaged.test(refusal) && !refusal.endsWith('is no gzip file: check compression')),
    ).toEqual([])
  })

  test('wherever an altered byte changes what it says', async () => {
    const read = []

    for (let at = 10; at < small.length; at += 1) {
      const altered = Buffer.from(small)
      altered[at] = (altered[at] ?? 0) ^ 0x10
      read.push(await readCsv(altered).then(({ rows }) => rows.join(), String))
    }

    expect(read.filter((rows) => rows !== '1,Ana,2,Ben' && !rows.startsWith('Failure: people.csv'))).toEqual([])
    expect(read.slice(-8).every((rows) => /damaged gzip|behind the end/.test(rows))).toBe(true)
  })

  test.for<[string, Uint8Array, string]>([
    ['text', Buffer.from('3,Eve\n'), behind],
    ['one byte', Buffer.from('x'), cutOff],
    ['zeros', Buffer.alloc(512), nulsFollow],
    ['zeros and another gzip', Buffer.concat([Buffer.alloc(512), gzipSync('3,Eve\n')]), nulsFollow],
  ])('with %s behind its end', async ([, junk, message]) => {
    expect(await refusalOf(Buffer.concat([small, junk]))).toBe(message)
  })

  test('that is none', async () => {
    expect(await refusalOf('id,name\n', { compression: 'gzip' })).toBe('people.csv is no gzip file: check compression')
  })

  test('that holds nothing', async () => {
    expect(await refusalOf(gzipSync(''))).toBe('people.csv holds no header: its first line must name the columns')
  })

  test('of 2 GiB of zeros, at once', async () => {
    const refusal = await refusalOf(gzipOf('id,name\n', Buffer.alloc(mebibyte), 2048))

    expect(refusal).toBe(
      'people.csv is a damaged file that ends in NUL bytes: a part of it was lost: have it sent again',
    )
  })

  test('of rows that were packed to fill a disk, early and in little memory', async () => {
    const rows = Buffer.from(`1,${'x'.repeat(1021)}\n`.repeat(1024))
    const before = process.memoryUsage().rss

    const refusal = await refusalOf(gzipOf('id,name\n', rows, 4096))

    expect(refusal).toBe(
      'people.csv unpacks to more than 200 times its size: exports never do; if it is one, have it sent without compression',
    )
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * mebibyte)
  })

  test('of more bytes than configured', async () => {
    const refusal = await refusalOf(gzipSync(text), { unpackedBytes: 100_000 })

    expect(refusal).toBe('people.csv unpacks to more than 100000 bytes: raise unpackedBytes if that is right')
  })

  test('that changes between its header and its rows', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', gzipSync(text))
    const opened = await openFile(folder, 'people.csv')

    await appendFile(join(folder.path, 'people.csv'), 'x')

    await expect(allRows(opened)).rejects.toThrow('people.csv changed while it was read')
  })
})

test('an abort ends the unpacking with the reason of the abort', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', gzipSync(text.repeat(4)))
  const controller = new AbortController()
  const { rows } = await openFile(folder, 'people.csv', {}, { signal: controller.signal })
  const slices = rows[Symbol.asyncIterator]()

  await slices.next()
  controller.abort(new Error('enough'))

  await expect(Array.fromAsync({ [Symbol.asyncIterator]: () => slices })).rejects.toThrow('enough')
})

test('other ways to compress are named in the refusal', async () => {
  const refusals = await Promise.all([
    refusalOf(Buffer.from('BZh91AY&SY')),
    refusalOf(Buffer.from('fd377a585a000004', 'hex')),
    refusalOf(Buffer.from('d0cf11e0a1b11ae100000000', 'hex')),
    refusalOf('%PDF-1.7\n'),
  ])

  expect(refusals).toEqual([
    'people.csv is compressed with bzip2: have it compressed with gzip or zip',
    'people.csv is compressed with xz: have it compressed with gzip or zip',
    'people.csv is an Excel workbook of the old kind, or one with a password: have it saved as CSV or .xlsx',
    'people.csv is a PDF: have it exported as CSV',
  ])
})

/** A gzip of a header and of a block that repeats, made without packing it that often. It lacks its end. */
function gzipOf(header: string, block: Buffer, times: number): Buffer {
  const packed = (content: string | Buffer) => deflateRawSync(content, { finishFlush: constants.Z_FULL_FLUSH })
  const start = Buffer.from('1f8b0800000000000003', 'hex')
  const repeated = packed(block)
  return Buffer.concat([start, packed(header), ...Array.from({ length: times }, () => repeated)])
}
