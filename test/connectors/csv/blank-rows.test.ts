import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openFile, readCsv, refusalOf } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'

const mebibyte = 1024 * 1024
const reason = /^people\.csv: more than 1048576 rows down to line \d+ are blank: have the export end with its last row$/

/** A text and then gzip members that unpack to very many blank lines, in half a mebibyte together. */
function gzipBomb(beginning: string): Buffer {
  const member = gzipSync('\n'.repeat(4 * mebibyte))
  const members = Math.floor(mebibyte / 2 / member.length)
  return Buffer.concat([gzipSync(beginning), ...Array.from({ length: members }, () => member)])
}

describe('millions of blank rows', () => {
  test('are refused before they are read to their end', { tags: 'full' }, async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', gzipBomb('id,name\n1,Ana\n'))
    const opened = await openFile(folder, 'people.csv')

    const reading = Array.fromAsync(opened.rows)

    await expect(reading).rejects.toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(reason) })
    expect(opened.textBytes()).toBeLessThan(4 * mebibyte)
  })

  test('are refused above the header too, whatever the delimiter', async () => {
    expect(await refusalOf(gzipBomb(''))).toMatch(reason)
  })
})

test('blank rows behind the last row, and one behind each row, are left out', async () => {
  const sheet = await readCsv(`id,name\n1,Ana\n${',\n'.repeat(10_000)}`)
  const doubled = await readCsv(`id,name\n\n${'1,Ana\n\n'.repeat(10_000)}`)

  expect(sheet.rows).toEqual([['1', 'Ana']])
  expect(doubled.rows).toHaveLength(10_000)
})
