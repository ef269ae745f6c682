import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Cause, causes, datesAs, faultTexts, storedCell } from '../../src/identity/causes.ts'
import { compileMapping, Mapping } from '../../src/identity/mapping/mapping.ts'
import { isReject } from '../../src/identity/mapping/rows.ts'

const identity = fileURLToPath(new URL('../../src/identity/', import.meta.url))
const names = Object.keys(causes) as Cause[]

describe('each cause', () => {
  test.each(names)('%s has a sentence with what is wrong, and one with what to write instead', (cause) => {
    const { problem, remedy } = faultTexts({ cause, expected: 'X' })

    expect(problem).toMatch(/^[a-z].{8,}[a-z,]$/)
    expect(remedy).toMatch(/^[A-Z].{10,}\.$/)
    // Words of the configuration, which HR does not know.
    expect(`${problem} ${remedy}`).not.toMatch(
      /blankWhen|leftWhen|employedWhen|mapping|write format:|expression|undefined/,
    )
  })

  test.each(names)('%s has a remedy also where it is not known what the column takes', (cause) => {
    expect(faultTexts({ cause, expected: null }).remedy).not.toMatch(/undefined|null|as \.|of: \./)
  })

  test('is used by the code that reads rows, and none is named that has no texts', async () => {
    const files = (await readdir(identity, { recursive: true })).filter(
      (file) => /\.ts$/.test(file) && file !== 'causes.ts',
    )
    const code = (await Promise.all(files.map((file) => readFile(`${identity}${file}`, 'utf8')))).join('\n')

    const unused = names.filter((cause) => !code.includes(`'${cause}'`))

    expect(unused).toEqual([])
  })
})

test('a fault that an earlier version recorded without a cause has texts, too', () => {
  expect(faultTexts({ cause: null, expected: null })).toMatchObject({
    isDetailed: true,
    remedy: expect.stringMatching(/\.$/),
  })
  expect(faultTexts({ cause: 'toString', expected: null }).problem).toBe('the row or the cell cannot be used')
})

const mapping = Mapping.parse({
  fields: {
    identityId: 'Key',
    email: 'Mail',
    startedAt: { column: 'Start', format: 'dd.MM.yyyy' },
    separatedAt: { column: 'End', format: ['yyyy-MM-dd', 'dd.MM.yyyy'] },
    isContractor: { column: 'Kind', map: { Intern: false, Extern: true } },
    managerId: { column: 'Boss', onBlank: 'reject' },
  },
  status: { column: 'Status', leftWhen: ['Gone'], employedWhen: ['Here'] },
})
const header = ['Key', 'Mail', 'Start', 'End', 'Kind', 'Boss', 'Status']
const good = {
  Key: '1',
  Mail: 'a@acme.example',
  Start: '01.02.2020',
  End: '',
  Kind: 'Intern',
  Boss: '2',
  Status: 'Here',
}

function faultOf(cells: Partial<Record<string, string>>) {
  const compiled = compileMapping(mapping, header, { timeZone: 'UTC' })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled))
  const values = header.map((name) => ({ ...good, ...cells })[name])
  const mapped = compiled.map({ values, origin: { file: 'people.csv', line: 2 } })
  return isReject(mapped) ? mapped : mapped.badCells?.[0]
}

const day = '2026-10-31 (yyyy-MM-dd) or 31.10.2026 (dd.MM.yyyy)'

test.each([
  [{ End: '0000-00-00' }, 'placeholderDate', day],
  [{ End: 'n/a' }, 'placeholderDate', day],
  [{ End: '10/31/2026' }, 'otherDateFormat', day],
  [{ End: '31.02.2026' }, 'impossibleDate', day],
  [{ End: '45291' }, 'dateNumber', day],
  [{ End: 'soon' }, 'noDate', day],
  [{ Start: 'x' }, 'noDate', '31.10.2026 (dd.MM.yyyy)'],
  [{ Mail: 'DISABLED' }, 'noEmail', undefined],
  [{ Mail: `${'a'.repeat(200)}@acme.example` }, 'tooLong', '191'],
  [{ Mail: 'a\u0007@acme.example' }, 'controlCharacter', undefined],
  [{ Mail: 'a\ud800' }, 'damagedCharacter', undefined],
  [{ Kind: 'Robot' }, 'unlistedValue', 'Intern, Extern'],
  [{ Boss: '' }, 'blank', undefined],
  [{ Status: 'Sabbatical' }, 'unlistedStatus', 'Here, Gone'],
  [{ Key: '' }, 'blank', undefined],
  [{ Key: '\u200b' }, 'invisible', undefined],
] as const)('%j has the cause %s, and keeps the cell as HR wrote it', (cells, cause, expected) => {
  const [cell = ''] = Object.values(cells)

  const fault = faultOf(cells)

  expect(fault).toMatchObject({ cause, cell: storedCell(cell) })
  expect(fault?.expected).toBe(expected)
})

test('a stored cell is short, well formed and free of control characters', () => {
  expect(storedCell('a'.repeat(10_000))).toBe(`${'a'.repeat(200)}…`)
  expect(storedCell('a\u0000b\u001b[31m\u007f\u0085\ud800')).toBe('a␀b␛[31m␡��')
})

test('formats are shown with an example where one is easy to make', () => {
  expect(datesAs(['MM/dd/yyyy', 'd-MMM-yyyy'])).toBe('10/31/2026 (MM/dd/yyyy) or d-MMM-yyyy')
  expect(datesAs(['iso'])).toBe('2026-10-31 (year-month-day)')
})
