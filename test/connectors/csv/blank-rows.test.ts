import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { exportFileAt } from '../../../src/connectors/file/export-file.ts'
import { lookAtFile } from '../../../src/daemon/proposal/look.ts'
import { readTable } from '../../../src/daemon/proposal/table.ts'
import { openFile, readCsv, refusalOf } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { zipOf } from '../../helpers/sources/zip.ts'

const mebibyte = 1024 * 1024
const reason = /^people\.csv: more than 1048576 rows down to line \d+ are blank: have the export end with its last row$/

/** Half a mebibyte of gzip that unpacks to so many mebibytes of blank lines, behind a beginning. */
function gzipBomb(beginning: string, line = '\n'): Buffer {
  const member = gzipSync(line.repeat((4 * mebibyte) / line.length))
  const members = Math.floor(mebibyte / 2 / member.length)
  return Buffer.concat([gzipSync(beginning), ...Array.from({ length: members }, () => member)])
}

describe('millions of blank rows', () => {
  test.for<[string, () => Promise<Buffer> | Buffer]>([
    ['gzip', () => gzipBomb('id,name\n1,Ana\n')],
    ['gzip, of blank cells', () => gzipBomb('id,name\n1,Ana\n', ' ,\n'.padEnd(4, '\n'))],
    ['zip', () => zipOf({ 'people.csv': `id,name\n1,Ana\n${'\n'.repeat(16 * mebibyte)}` })],
    ['no packing', () => Buffer.from(`id,name\n1,Ana\n${'\n'.repeat(4 * mebibyte)}`)],
  ])('are refused before they are read to their end: %s', async ([, make]) => {
    await using folder = await exportFolder()
    await folder.write('people.csv', await make())
    const opened = await openFile(folder, 'people.csv')

    const reading = Array.fromAsync(opened.rows)

    await expect(reading).rejects.toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(reason) })
    expect(opened.textBytes()).toBeLessThan(4 * mebibyte)
  })

  test('are refused above the header too, whatever the delimiter', async () => {
    expect(await refusalOf(gzipBomb(''))).toMatch(reason)
  })

  test('are not read by a proposal, which looks at the beginning alone', async () => {
    await using folder = await exportFolder()
    const file = await exportFileAt(await folder.write('people.csv', gzipBomb('')))

    const head = await lookAtFile(file, { signal: new AbortController().signal })

    expect(head.bytes.length).toBe(mebibyte)
    await expect(readTable(head)).rejects.toThrow(/nothing but blanks/)
  })
})

test('as many blank rows as a spreadsheet has at most, and one behind each row, are left out', async () => {
  const sheet = await readCsv(`id,name\n1,Ana\n${',\n'.repeat(mebibyte - 2)}`)
  const doubled = await readCsv(`id,name\n\n${'1,Ana\n\n'.repeat(20_000)}`)

  expect(sheet.rows).toEqual([['1', 'Ana']])
  expect(doubled.rows).toHaveLength(20_000)
})
