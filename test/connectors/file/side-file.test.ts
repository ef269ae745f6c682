import { createHash } from 'node:crypto'
import { appendFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseSideFile } from '../../../src/connectors/file/side-file.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { identityOf, openIn, refusalOf, rowsOf } from '../../helpers/sources/folder-source.ts'

const content = 'id,name\n1,a\n2,b\n'
const sum = createHash('sha256').update(content).digest('hex')
const other = '0'.repeat(64)

describe('a side file with a sum', () => {
  const complete = { quietSeconds: 0, sideFile: { suffix: '.sha256', holds: 'sha256' as const } }

  test.for<[string, string]>([
    ['people.csv.sha256', sum],
    ['people.sha256', `${sum.toUpperCase()}\r\n`],
    ['people.csv.sha256', `\uFEFF${sum}\n`],
    ['people.csv.sha256', `${sum}  people.csv\n`],
    ['people.csv.sha256', `${sum} *people.csv\n`],
    ['people.csv.sha256', `\\${sum}  out/people.csv\n`],
    ['people.csv.sha256', `${sum}  people.csv.tmp\n`],
    ['people.csv.sha256', `SHA256 (people.csv) = ${sum}\n`],
    ['people.csv.sha256', `SHA2-256(people.csv)= ${sum}\n`],
    ['people.csv.sha256', `${other}  another.csv\n${sum}  people.csv\n`],
  ])('that agrees lets the export pass (%s: %o)', async ([name, text]) => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content)
    await folder.write(name, text)

    const reading = await openIn(folder, { complete })

    expect(await rowsOf(reading)).toHaveLength(2)
  })

  test('that disagrees is a refusal before any row is handed out', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content.slice(0, -4))
    await folder.write('people.csv.sha256', sum)

    expect(await refusalOf(() => openIn(folder, { complete }))).toContain(
      'people.csv does not have the sha256 sum that its side file states: it was cut off or changed on its way',
    )
  })

  test('holds for the very bytes that are read: a change behind the check is refused', async () => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', content)
    await folder.write('people.csv.sha256', sum)
    const reading = await openIn(folder, { complete })

    await appendFile(file, '3,c\n')

    expect(await refusalOf(() => rowsOf(reading))).toContain('people.csv changed while it was read')
  })

  test.for<[string, string]>([
    ['nothing', ''],
    ['half a sum', sum.slice(0, 32)],
    ['no sum at all', 'x'.repeat(64)],
    ['the sums of other exports only', `${other}  a.csv\n${other}  b.csv\n`],
    ['two sums without names', `${sum}\n${sum}\n`],
    ['two sums of the export', `${sum}  people.csv\n${other}  people.csv\n`],
  ])('that holds %s is refused', async ([, text]) => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content)
    await folder.write('people.csv.sha256', text)

    expect(await refusalOf(() => openIn(folder, { complete }))).toContain(
      'people.csv.sha256 holds no sha256 sum of people.csv: write the sum as 64 hexadecimal digits',
    )
  })

  test('is needed: without one, or with a folder or a link in its place, the export is refused', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content)
    await folder.write('sum', sum)
    await mkdir(join(folder.path, 'people.csv.sha256'))
    await symlink('sum', join(folder.path, 'people.sha256'))

    expect(await refusalOf(() => openIn(folder, { complete }))).toContain('people.csv has no side file (.sha256)')
  })

  test('is no export itself', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content, { modifiedAt: new Date('2026-11-16T01:00:00Z') })
    await folder.write('people.csv.sha256', sum)

    expect(identityOf(await openIn(folder, { path: '*', complete })).name).toBe('people.csv')
  })

  test('that is too long is refused unread', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content)
    await folder.write('people.csv.sha256', 'x'.repeat(100_000))

    expect(await refusalOf(() => openIn(folder, { complete }))).toContain('people.csv.sha256 is longer than 64 KiB')
  })
})

describe('a side file with a number of rows', () => {
  const complete = { quietSeconds: 0, sideFile: { suffix: '.count', holds: 'rows' as const } }

  test.for(['2', '2\n', ' 2 \r\n', '0002'])('that agrees lets the export pass (%o)', async (text) => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content)
    await folder.write('people.count', text)

    expect(await rowsOf(await openIn(folder, { complete }))).toHaveLength(2)
  })

  test.for(['1', '3', '0'])('that disagrees ends the rows in a refusal (%s)', async (text) => {
    await using folder = await exportFolder()
    await folder.write('people.csv', content)
    await folder.write('people.csv.count', text)
    const reading = await openIn(folder, { complete })

    expect(await refusalOf(() => rowsOf(reading))).toContain(
      `people.csv has 2 rows, not counting a header, and its side file states ${text}: the export was cut off`,
    )
  })

  test.for(['', 'two', '2 people.csv', '-2', '2.0', '1e3', '9'.repeat(20)])(
    'is a bare number, not %o',
    async (text) => {
      await using folder = await exportFolder()
      await folder.write('people.csv', content)
      await folder.write('people.csv.count', text)

      expect(await refusalOf(() => openIn(folder, { complete }))).toContain('people.csv.count holds no bare number')
    },
  )
})

test('whatever a side file holds, it is understood or refused without showing it', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.string().map((name) => `${sum}  ${name}`),
  )
  const holds = fc.constantFrom('sha256' as const, 'rows' as const)

  fc.assert(
    fc.property(text, holds, (hostile, kind) => {
      try {
        const expected = parseSideFile(hostile, { holds: kind, exportName: 'people.csv', name: 'side' })
        expect('rows' in expected ? Number.isSafeInteger(expected.rows) : expected.sha256.length === 64).toBe(true)
      } catch (error) {
        expect(error).toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(/^side holds no /) })
      }
    }),
    { numRuns: 500 },
  )
})
