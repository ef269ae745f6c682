import { describe, expect, test } from 'vitest'
import { fingerprint } from '../../../src/identity/digest.ts'
import { type DeclaredDates, dateExplainer } from '../../../src/identity/mapping/date-hints.ts'
import { dateReader } from '../../../src/identity/mapping/dates.ts'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'

const declared: readonly (readonly string[])[] = [
  ...[
    ['yyyy-MM-dd'],
    ['MM/dd/yyyy'],
    ['dd/MM/yyyy'],
    ['dd.MM.yyyy'],
    ['yyyyMMdd'],
    ['iso'],
    ['M/d/yyyy', 'yyyy-MM-dd'],
  ],
  ...[['MM/dd/yyyy HH:mm:ss'], ["yyyy-MM-dd'T'HH:mm:ssXXX"], ['dd-MMM-yyyy']],
]

const cells = [
  ...['0000-00-00', '00.00.0000', '9999-12-31', '31.12.9999', '12/31/9999', '2999-12-31', '1900-01-01', '1/0/1900'],
  ...['9999-12-31T23:59:59.9999999', '31-DEC-4712', '00000000', 'n/a', '-', 'NULL', 'none', '0', 'unbefristet'],
  ...['1/20/2002', '1/2/2002', '01/20/2002', '20/01/2002', '31.10.2026', '1.2.2026', '2026/10/31', '2026-1-5'],
  ...['20261031', '31102026', '10312026', '31-10-2026', '2026-31-10', '31.10.26', '10/31/26', '261031', '1-2-26'],
  ...['31-OCT-2026', '31 Oct 2026', 'Oct 31, 2026', 'October 31, 2026', '31. Oktober 2026', '3. Mär 2026', '31-Dez-26'],
  ...['2026-10-31 08:00', '2026-10-31T08:00:00', '2026-10-31T08:00:00Z', '2026-10-31T08:00:00.123456+0200'],
  ...['2026-10-31 08:00:00.0000000', '10/31/2026 8:00:00 AM', '31.10.2026 08:00', '31.10.2026 8:00 Uhr', '2026-W44-6'],
  ...['2026-02-30', '31.11.2026', '13/13/2026', '2205-01-01', '01.01.1890', '0202-05-03', '2026-10-31 25:00'],
  ...['45291', '1761868800', 'Ana Lima', 'A-4711', '2026', '10/2026', '(030) 123', '31.10.2026 (est.)', '2026-10-31T'],
]

/** Reads a cell under the settings that a hint names; undefined: it is blank then. */
function readingsAfter(text: string, about: DeclaredDates): (string | null | undefined)[] {
  const { hint } = dateExplainer(about)(text)
  if (hint.kind === 'none') return []
  if (hint.kind === 'blank') return [undefined]
  return hint.forms.map(({ format, ...words }) =>
    dateReader(hint.added ? [...about.formats, format] : [format], { ...about, ...words })(text, 'UTC'),
  )
}

describe('the hint about a cell that is not a date as declared', () => {
  const badCells = declared.flatMap((formats) =>
    cells.filter((cell) => dateReader(formats)(cell, 'UTC') === null).map((cell) => [cell, formats] as const),
  )

  test.each(badCells)('%s under %j makes it readable, or explains why nothing can', (cell, formats) => {
    const about = { formats, isField: true }
    const { hint } = dateExplainer(about)(cell)

    for (const day of readingsAfter(cell, about)) expect(day).not.toBeNull()
    if (hint.kind === 'form') expect(formats).not.toContain(hint.forms[0]?.format)
    if (hint.kind === 'none') expect(hint.reason).toMatch(/source|blankWhen|expression|exported/)
  })

  test.each([
    ['1/20/2002', 'MM/dd/yyyy', '"1/20/2002" is not a date (MM/dd/yyyy): write format: M/d/yyyy'],
    ['1/2/2002', 'MM/dd/yyyy', '"1/2/2002" is not a date (MM/dd/yyyy): write format: M/d/yyyy'],
    ['2026-1-5', 'yyyy-MM-dd', '"2026-1-5" is not a date (yyyy-MM-dd): write format: yyyy-M-d'],
    ['20/01/2002', 'MM/dd/yyyy', '"20/01/2002" is not a date (MM/dd/yyyy): write format: dd/MM/yyyy'],
    ['31.10.2026', 'yyyy-MM-dd', '"31.10.2026" is not a date (yyyy-MM-dd): write format: [yyyy-MM-dd, dd.MM.yyyy]'],
    [
      '01/02/2026',
      'yyyy-MM-dd',
      '"01/02/2026" is not a date (yyyy-MM-dd): write format: [yyyy-MM-dd, MM/dd/yyyy] or [yyyy-MM-dd, dd/MM/yyyy], whichever the source means',
    ],
    [
      '31.10.26',
      'dd.MM.yyyy',
      '"31.10.26" is not a date (dd.MM.yyyy): write format: [dd.MM.yyyy, dd.MM.yy] and pivot: 2049',
    ],
    [
      '31. Dez 2026',
      'yyyy-MM-dd',
      '"31. Dez 2026" is not a date (yyyy-MM-dd): write format: dd. MMM yyyy and language: de',
    ],
    [
      '2026-10-31T08:00:00.12Z',
      'yyyy-MM-dd',
      '"2026-10-31T08:00:00.12Z" is not a date (yyyy-MM-dd): write format: [yyyy-MM-dd, iso]',
    ],
    ['9999-12-31', 'yyyy-MM-dd', '"9999-12-31" stands for no date: list it under blankWhen'],
    ['1900-01-01', 'yyyy-MM-dd', '"1900-01-01" stands for no date: list it under blankWhen'],
    ['N/A', 'yyyy-MM-dd', '"N/A" stands for no date: list it under blankWhen'],
    [
      '2205-01-01',
      'yyyy-MM-dd',
      '"2205-01-01" is not a date (yyyy-MM-dd): the year is not one from 1900 to 2199; have it corrected in the source',
    ],
    [
      '31/02/2025',
      'dd/MM/yyyy',
      '"31/02/2025" is not a date (dd/MM/yyyy): there is no such day; have it corrected in the source',
    ],
    [
      '45291',
      'yyyy-MM-dd',
      'what the cell holds is not a date (yyyy-MM-dd): it may be the number by which Excel stores a date; have the column exported as dates',
    ],
    [
      'Ana Lima',
      'yyyy-MM-dd',
      'what the cell holds is not a date (yyyy-MM-dd): have it corrected in the source, or list it under blankWhen if it stands for no date',
    ],
  ])('about %s under %s is a sentence', (cell, format, reason) => {
    for (const field of ['startedAt', 'separatedAt'])
      expect(mapped(field, format, cell)).toHaveProperty('badCells.0.reason', reason)
  })

  test('about a day that orders rows never suggests blankWhen', () => {
    const about = { formats: ['yyyy-MM-dd'], isField: false }

    const reasons = ['9999-12-31', '31.10.2026', 'n/a', 'Ana Lima'].map((cell) => dateExplainer(about)(cell).hint)

    expect(JSON.stringify(reasons)).not.toContain('blank')
    expect(reasons[1]).toMatchObject({ forms: [{ format: 'dd.MM.yyyy' }], added: false })
  })
})

describe('a cell that is not a date as declared is recognised', () => {
  test.each([
    ['9999-12-31', '"9999-12-31" is not a date (yyyy-MM-dd)'],
    ['31.10.2026 08:00', '"31.10.2026 08:00" is not a date (yyyy-MM-dd)'],
    ['31. Dez 2026', 'what the cell holds is not a date (yyyy-MM-dd)'],
    ['n/a', 'what the cell holds is not a date (yyyy-MM-dd)'],
  ])('by the stored text, whatever its reason advises: %s', (cell, stored) => {
    const result = mapped('separatedAt', 'yyyy-MM-dd', cell)

    expect(result).toHaveProperty('badCells.0.fingerprint', fingerprint('Day', stored, ['1', cell]))
  })
})

describe('a placeholder in the declared format', () => {
  test.each(['1900-01-01', '1970-01-01', '2099-12-31'])('is no leaving date, and separates nobody: %s', (cell) => {
    const result = mapped('separatedAt', 'yyyy-MM-dd', cell)

    expect(result).toMatchObject({ leavingDate: undefined, statesDeparture: false, isUncertain: true })
    expect(result).toHaveProperty('badCells.0.mayLeave', true)
  })

  test.each(['1970-01-01T00:00Z[UTC]', '19700101T000000Z', '2099-12-31T00', '1900-01-01T00:00:00'])(
    'is none in any form of ISO 8601: %s',
    (cell) => {
      expect(mapped('separatedAt', 'iso', cell)).toMatchObject({
        leavingDate: undefined,
        statesDeparture: false,
        isUncertain: true,
      })
    },
  )

  test('is a blank if blankWhen lists it', () => {
    const result = mapped('separatedAt', 'yyyy-MM-dd', '1900-01-01', { blankWhen: ['1900-01-01'] })

    expect(result).toMatchObject({ leavingDate: null, isUncertain: false })
    expect(result).not.toHaveProperty('badCells')
  })
})

function mapped(field: string, format: string, cell: string, options: object = {}) {
  const fields = { identityId: 'ID', [field]: { column: 'Day', format, onBlank: 'clear', ...options } }
  const compiled = compileMapping(Mapping.parse({ fields }), ['ID', 'Day'])
  if (!compiled.ok) throw new Error(compiled.missing.join())
  return compiled.map({ values: ['1', cell], origin: { file: 'people.csv', line: 2 } })
}
