import { describe, expect, test } from 'vitest'
import { AsOf, timeOfFile } from '../../../src/connectors/file/as-of.ts'
import type { ExportFile } from '../../../src/connectors/file/export-file.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { type FolderSettings, openIn } from '../../helpers/sources/folder-source.ts'

const byDay = '(?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2})'
const byMinute = `${byDay}T(?<hour>\\d{2})(?<minute>\\d{2})`

describe('the as-of time of an export', () => {
  test.for<[string, FolderSettings, string]>([
    ['people 2026-11-20.csv', { timeZone: 'UTC' }, '2026-11-20T00:00:00.000Z'],
    ['people 2026-11-20.csv', { timeZone: 'Europe/Berlin' }, '2026-11-19T23:00:00.000Z'],
    ['people 2026-11-20.csv', { timeZone: 'Pacific/Kiritimati' }, '2026-11-19T10:00:00.000Z'],
    // Midnight does not exist there on that day: the clocks go from 00:00 to 01:00.
    ['people 2026-09-06.csv', { timeZone: 'America/Santiago' }, '2026-09-06T04:00:00.000Z'],
    ['people 2028-02-29.csv', { timeZone: 'UTC' }, '2028-02-29T00:00:00.000Z'],
  ])('is the start of the day that its name holds (%s, %o)', async ([name, settings, expected]) => {
    await using folder = await exportFolder()
    await folder.write(name, 'id\n')

    const { asOf } = await openIn(
      folder,
      { ...settings, asOf: { from: 'fileName', pattern: byDay } },
      { now: () => new Date(expected) },
    )

    expect(asOf).toBe(expected)
  })

  test('is the minute that its name holds, in the zone of the source', async () => {
    await using folder = await exportFolder()
    await folder.write('people-2026-07-01T0130.csv', 'id\n')

    const { asOf } = await openIn(folder, {
      timeZone: 'America/New_York',
      asOf: { from: 'fileName', pattern: byMinute },
    })

    expect(asOf).toBe('2026-07-01T05:30:00.000Z')
  })

  test('is the time of its last change where nothing else is configured', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', 'id\n', { modifiedAt: new Date('2026-11-20T01:02:03.456Z') })

    const { asOf } = await openIn(folder)

    expect(asOf).toBe('2026-11-20T01:02:03.456Z')
  })

  test.for([
    ['holds no date', 'people.csv', byDay],
    ['holds a day that does not exist', 'people-2026-02-31.csv', byDay],
    ['holds a month that does not exist', 'people-2026-13-01.csv', byDay],
    ['holds a year of two digits', 'people-26-11-20.csv', '(?<year>\\d{2})-(?<month>\\d{2})-(?<day>\\d{2})'],
  ])('is unknown for a name that %s: the export is refused', async ([, name = '', pattern = '']) => {
    await using folder = await exportFolder()
    await folder.write(name, 'id\n')

    const opening = openIn(folder, { asOf: { from: 'fileName', pattern } })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: `the name of ${name} holds no date where the pattern ${pattern} looks for it: check asOf in the configuration`,
    })
  })

  test('is found in time proportional to the name, whatever the pattern', async () => {
    const name = `${'a'.repeat(20_000)}.csv`
    const asOf = AsOf.parse({ from: 'fileName', pattern: `(a+)+$|${byDay}` })
    const startedAt = performance.now()

    const time = timeOfFile({ name } as ExportFile, { asOf, timeZone: 'UTC' })

    expect(time).toBeNull()
    expect(performance.now() - startedAt).toBeLessThan(2000)
  })

  test.each([
    ['(?<year>\\d{4}', /: missing closing \)/],
    [`${byDay}(?=\\.csv)`, /knows neither lookaround nor backreferences: invalid or unsupported Perl syntax/],
    [`${byDay}(x)\\4`, /invalid escape sequence/],
    ['(?<year>\\d{4})', /^the named groups month, day are missing/],
  ])('cannot be found with %s, which is refused with the reason', (pattern, expected) => {
    const [issue] = AsOf.safeParse({ from: 'fileName', pattern }).error?.issues ?? []

    expect(issue?.message).toMatch(expected)
  })

  test('does not lie ahead: an export from the future is refused, since no later one could replace it', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', 'id\n', { modifiedAt: new Date('2026-11-22T02:00:00Z') })

    const opening = openIn(folder, {}, { now: () => new Date('2026-11-20T02:00:00Z') })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining(
        'people.csv is dated 2026-11-22T02:00:00.000Z, which lies ahead of this machine',
      ),
    })
  })
})
