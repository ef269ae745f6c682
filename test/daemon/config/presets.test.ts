import fs, { readdir, readFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { describe, expect, test, vi } from 'vitest'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import { normaliseHeader } from '../../../src/identity/mapping/headers.ts'
import { compileMapping, Mapping, mergePreset } from '../../../src/identity/mapping/mapping.ts'
import { type ExportContent, observationsOf } from '../../helpers/presets/cast.ts'
import { fixtures, type Own, presetNamed, readFixture } from '../../helpers/presets/fixtures.ts'
import { typical } from '../../helpers/presets/typical-exports.ts'

const presets = await readPresets()
const names = [...presets.keys()]

/** Systems whose exports do not name the manager by a key. */
const withoutManagerKeys = ['gusto', 'odoo', 'orangehrm', 'personio', 'personio-de', 'zoho-people']

describe('every preset', () => {
  test('has a typical export to show what it reads', async () => {
    const files = await readdir(fixtures)

    expect(names.filter((name) => !files.includes(`${name}.csv`) || !typical[name])).toEqual([])
    expect(names.length).toBe(17)
  })

  test.each(names)('%s reads its typical export to the day and the key', async (name) => {
    const file = `${name}.csv`

    const { results } = await readFixture(file, name)

    expect(results).toEqual(observationsOf(file, typical[name] as ExportContent))
  })

  test.each(names)('%s gives no warning for its typical export except about managers without a key', async (name) => {
    const { findings } = await readFixture(`${name}.csv`, name)

    expect(findings.map(({ check }) => check)).toEqual(withoutManagerKeys.includes(name) ? ['manager-by-name'] : [])
  })

  test.each(names)('%s needs nothing but the key', async (name) => {
    const mapping = Mapping.parse(mergePreset((await presetNamed(name)).mapping, {}))
    const [key = ''] = columnsOf(mapping.fields.identityId)

    const compiled = compileMapping(mapping, [key])

    expect(compiled).toMatchObject({ ok: true, columns: { identityId: key } })
  })

  test.each(names)('%s names a column once, and for one thing only', async (name) => {
    const { fields = {}, status } = (await presetNamed(name)).mapping
    const rules = [...Object.entries(fields), ['status', status] as const]

    const named = rules.flatMap(([field, rule]) => columnsOf(rule).map((column) => [normaliseHeader(column), field]))

    const columns = named.map(([column]) => column)
    expect(named.filter(([column], index) => columns.indexOf(column) !== index)).toEqual([])
    expect(columns).not.toContain('')
  })

  test.each(names)(
    '%s has a page for its administrator, with every column and every status that means left',
    async (name) => {
      const page = await readFile(new URL('../../../docs/presets.md', import.meta.url), 'utf8')
      const { fields = {}, status } = (await presetNamed(name)).mapping
      const [, section = ''] = page.split(`\`preset: ${name}\``)

      const [own = ''] = section.split('\n## ')

      const columns = [...Object.values(fields), status].flatMap(columnsOf)
      expect(columns.filter((column) => !own.includes(column))).toEqual([])
      expect(own).toContain('| `separatedAt` |')
      const [, left] = /left when ([^|]*?)(?:;| \|)/.exec(own) ?? []
      expect(left?.split(', ')).toEqual(status?.leftWhen)
    },
  )
})

describe('an export in another shape', () => {
  const dayFirst = (sign: string): Own => ({
    mapping: {
      fields: {
        startedAt: { format: ['dd', 'MM', 'yyyy'].join(sign) },
        separatedAt: { format: ['dd', 'MM', 'yyyy'].join(sign) },
      },
    },
  })
  const cases: readonly [string, string, string, Own, Partial<ExportContent>][] = [
    ['with a title above the header', 'workday-titled.csv', 'workday', { format: { headerLine: 2 } }, { firstLine: 3 }],
    ['in windows-1252', 'personio-de-windows-1252.csv', 'personio-de', { format: { encoding: 'windows-1252' } }, {}],
    [
      'with the day first and points',
      'bamboohr-day-first.csv',
      'bamboohr',
      dayFirst('.'),
      { managers: ['managerName'] },
    ],
    ['with the day first and slashes', 'hibob-day-first.csv', 'hibob', dayFirst('/'), {}],
  ]

  test.each(cases)(
    '%s reads the same once the connection describes that shape',
    async (_case, file, name, own, telling) => {
      const { results } = await readFixture(file, name, own)

      expect(results).toEqual(observationsOf(file, { ...(typical[name] as ExportContent), ...telling }))
    },
  )
})

describe('a trap', () => {
  test.each([
    ['workday-active-only.csv', 'workday', 'no-leavers', 'All Active and Terminated Workers'],
    ['workday-jobs.csv', 'workday', 'several-rows', 'build it on workers'],
    [
      'adp-workforce-now-positions.csv',
      'adp-workforce-now',
      'several-rows',
      'filter the report to the primary position',
    ],
    ['bamboohr-day-first.csv', 'bamboohr', 'date-format', 'write format: dd.MM.yyyy; BambooHR writes dates as'],
    ['rippling-two-digit-years.csv', 'rippling', 'two-digit-year', 'MM/DD/YYYY or MM/DD/YY'],
    ['gusto-spreadsheet.csv', 'gusto', 'key-scientific', 'such as 1.23E+05 in line 8 (column "Gusto Employee ID")'],
    ['personio-active-only.csv', 'personio', 'no-leavers', 'Personio leaves inactive people out'],
    ['personio-spreadsheet.csv', 'personio', 'key-shrank', 'such as 17 in line 2 (column "Personnel number")'],
    ['hibob-day-first.csv', 'hibob', 'date-format', 'write format: dd/MM/yyyy; HiBob writes dates as'],
    ['successfactors-no-exit-dates.csv', 'successfactors', 'no-leavers', 'the status alone may also mean leave'],
    ['ukg-pro-two-companies.csv', 'ukg-pro', 'several-rows', 'two component companies'],
  ])('in %s is found by %s', async (file, name, check, sentence) => {
    const { findings } = await readFixture(file, name)

    const hasNames = withoutManagerKeys.includes(name) || file === 'bamboohr-day-first.csv'
    const expected = [...(hasNames ? ['manager-by-name'] : []), check]
    expect(new Set(findings.map((finding) => finding.check))).toEqual(new Set(expected))
    expect(findings.find((finding) => finding.check === check)?.message).toContain(sentence)
  })

  test.each([
    ['bamboohr', 'Employment Status: Date'],
    ['personio', 'Contract end date'],
    ['personio-de', 'Vertragsende'],
    ['personio-de', 'Kündigungsdatum'],
    ['ukg-pro', 'Original Hire Date'],
    ['rippling', 'Manager - Work email'],
    ['workday', 'Active'],
    ['successfactors', 'STATUS'],
    ['odoo', 'Active'],
    ['orangehrm', 'Employment Status'],
    ['factorial', 'Identifier'],
  ])('of %s, the column "%s", is not read', async (name, column) => {
    const mapping = Mapping.parse(mergePreset((await presetNamed(name)).mapping, {}))
    const [key = ''] = columnsOf(mapping.fields.identityId)

    const compiled = compileMapping(mapping, [key, column])

    expect(compiled).toMatchObject({ ok: true, columns: { identityId: key } })
    expect(Object.values(compiled.ok ? compiled.columns : {})).toEqual([key])
  })

  test.each([
    ['frappe-hr', 'Employee', 'Status', ['Inactive', 'Suspended']],
    ['sap-hcm', 'Personalnummer', 'Beschäftigungsstatus', ['ruhend', '2']],
  ])('of %s is a status that may mean left or not: it is in no list', async (name, key, column, values) => {
    const compiled = compileMapping(Mapping.parse(mergePreset((await presetNamed(name)).mapping, {})), [key, column])

    const observations = values.map((value) =>
      compiled.ok ? compiled.map({ values: ['1', value], origin: { file: 'people.csv', line: 2 } }) : null,
    )

    expect(observations).toMatchObject(
      values.map((value) => ({ badCells: [{ unlisted: { field: 'status', value } }] })),
    )
  })

  test('that inactive means on leave separates nobody in SuccessFactors', async () => {
    const { results } = await readFixture('successfactors-no-exit-dates.csv', 'successfactors')

    expect(
      results.filter((one) => 'statesDeparture' in one && (one.statesDeparture || typeof one.leavingDate === 'string')),
    ).toEqual([])
  })

  test('that no manager has two names in SuccessFactors is a blank one', async () => {
    const { results } = await readFixture('successfactors-no-exit-dates.csv', 'successfactors')

    const managers = results.map((one) => ('fields' in one ? one.fields.managerId : 'rejected'))

    expect(managers.slice(0, 3)).toEqual([null, null, '80002'])
  })

  test('that extracts write dates with a time is none in UKG Pro', async () => {
    const { results } = await readFixture('ukg-pro-two-companies.csv', 'ukg-pro')

    const leaver = results.find((one) => one.identityId === '100215')

    expect(leaver).toMatchObject({ leavingDate: '2026-10-30', fields: { startedAt: '2019-06-03T00:00:00.000Z' } })
  })

  test('that an encoding is not the declared one is refused in Personio rather than misread', async () => {
    const reading = readFixture('personio-de-windows-1252.csv', 'personio-de')

    await expect(reading).rejects.toThrow(/personio-de-windows-1252\.csv: .*encoding/)
  })

  test('that a second header row stands in the file is told where the connection denies it', async () => {
    const { results } = await readFixture('successfactors.csv', 'successfactors', {
      format: { linesAfterHeader: 0 },
    })

    expect(results[0]).toMatchObject({
      badCells: [
        { line: 2, column: 'EMAIL', reason: expect.stringContaining('e-mail address') },
        { column: 'HIREDATE' },
        {},
      ],
    })
  })

  test('that a status is unknown is told in Personio', async () => {
    const { mapping } = await presetNamed('personio')
    const compiled = compileMapping(Mapping.parse(mergePreset(mapping, {})), ['Personnel number', 'Status'])

    const observation =
      compiled.ok && compiled.map({ values: ['1', 'Sabbatical'], origin: { file: 'people.csv', line: 2 } })

    expect(observation).toMatchObject({
      identityId: '1',
      badCells: [{ unlisted: { field: 'status', value: 'Sabbatical' } }],
    })
  })
})

/** All column names in a rule of a preset. */
function columnsOf(rule: unknown): string[] {
  if (typeof rule === 'string') return [rule]
  if (typeof rule !== 'object' || rule === null) return []
  const { column = [], firstOf = [] } = rule as { column?: string | string[]; firstOf?: (string | string[])[] }
  return [column, firstOf].flat(2)
}

test('a preset that could not be read is read again the next time', async () => {
  const { readFile: readFileOfNode } = fs
  vi.resetModules()
  const { presetsFor } = await import('../../../src/daemon/config/presets.ts')
  const failing = () => Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' }))

  Object.assign(fs, { readFile: failing })
  syncBuiltinESMExports()
  const failed = await presetsFor(['generic']).catch((error: unknown) => error)
  Object.assign(fs, { readFile: readFileOfNode })
  syncBuiltinESMExports()

  expect(failed).toMatchObject({ code: 'EMFILE' })
  expect((await presetsFor(['generic'])).has('generic')).toBe(true)
})
