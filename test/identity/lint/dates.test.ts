import { describe, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { lintOf, only, people, rejected } from '../../helpers/lint.ts'

describe('all-same-date', () => {
  test('finds one start for everybody', () => {
    const findings = lintOf(people(10, () => ({ fields: { startedAt: '2024-01-01T00:00:00.000Z' } })))

    expect(findings).toEqual(only('all-same-date'))
    expect(findings[0]?.message).toMatch(/^all 10 dates of column "Hire Date" are 2024-01-01;/)
  })

  test('finds one leaving date for everybody who left', () => {
    const findings = lintOf(people(30, (index) => ({ leavingDate: index < 15 ? '2025-12-31' : null })))

    expect(findings).toEqual(only('all-same-date'))
    expect(findings[0]?.message).toContain('all 15 dates of column "Last Day"')
  })

  test('is quiet if one date differs, and if there are few dates', () => {
    const date = (index: number) => `2024-01-0${index === 9 ? 2 : 1}T00:00:00.000Z`

    expect(lintOf(people(10, (index) => ({ fields: { startedAt: date(index) } })))).toEqual([])
    expect(lintOf(people(30, (index) => ({ leavingDate: index < 9 ? '2025-12-31' : null })))).toEqual([])
  })
})

describe('unreadable dates', () => {
  const cellsWith = (date: string) => [date, date, date].map((cell) => ['W1', '', '', cell, '', ''])

  test.each(['01/02/25', '1.2.25', ' 31-12-99 '])('show years of two digits: %s', (date) => {
    const findings = lintOf([rejected('Hire Date')], {}, cellsWith(date))

    expect(findings).toEqual(only('two-digit-year', 2))
    expect(findings[0]?.message).toContain(`column "Hire Date" writes years with two digits, such as in line 2;`)
    expect(findings[0]?.message).not.toContain(date.trim())
  })

  test.each([
    ['31.10.2026', 'write format: dd.MM.yyyy'],
    ['10/31/2026', 'write format: MM/dd/yyyy'],
    ['2026/10/31', 'write format: yyyy/MM/dd'],
    ['2026-31-10', 'write format: yyyy-dd-MM'],
    ['01/02/2026', 'declare the format that they are in'],
  ])('show another format if most are written in it: %s', (date, help) => {
    const findings = lintOf([rejected('Hire Date'), rejected('Hire Date')], {}, cellsWith(date))

    expect(findings).toEqual(only('date-format', 2))
    expect(findings[0]?.message).toContain(help)
  })

  test.each([
    ['1/20/2002', 'MM/dd/yyyy', 'write format: M/d/yyyy'],
    ['20/01/2002', 'MM/dd/yyyy', 'write format: dd/MM/yyyy'],
    ['2205-01-01', 'yyyy-MM-dd', 'the year is not one from 1900 to 2199; have it corrected in the source'],
    ['2026-10-31', 'dd.MM.yyyy', 'write format: yyyy-MM-dd'],
  ])('never suggest the declared format: %s under %s', (date, format, help) => {
    const rule = { column: 'Hire Date', format, means: 'lastDayWorked', onBlank: 'clear' }
    const { fields } = Mapping.parse({ fields: { identityId: 'Worker ID', separatedAt: rule } })
    const dateRules = { separatedAt: fields.separatedAt }

    const scope = { columns: { identityId: 'Worker ID', separatedAt: 'Hire Date' }, dateRules }
    const findings = lintOf([rejected('Hire Date'), rejected('Hire Date')], scope, cellsWith(date))

    expect(findings[0]?.message).toMatch(/^2 rows: /)
    expect(findings[0]?.message.endsWith(`; ${help}`)).toBe(true)
  })

  test('that mean "none" are not another format: they are listed for blankWhen', () => {
    const cells = ['9999-12-31', '00.00.0000', '9999-12-31', '00.00.00'].map((cell) => ['W1', '', '', cell, '', ''])

    const findings = lintOf(
      cells.map(() => rejected('Hire Date')),
      {},
      cells,
    )

    expect(findings).toEqual([
      {
        check: 'placeholder-date',
        message:
          '4 rows: column "Hire Date" holds dates that stand for none, such as "9999-12-31" in line 2; ' +
          "write blankWhen: ['9999-12-31', '00.00.0000', '00.00.00']",
        line: 2,
      },
    ])
  })

  test('are shown by the clearest one', () => {
    const cells = ['01.02.2026', '31.10.2026', '30.11.2026'].map((cell) => ['W1', '', '', cell, '', ''])

    const findings = lintOf([rejected('Hire Date'), rejected('Hire Date'), rejected('Hire Date')], {}, cells)

    expect(findings).toEqual(only('date-format', 3))
    expect(findings[0]?.message).toContain('3 rows: column "Hire Date"')
    expect(findings[0]?.message).toContain('such as in line 3; write format: dd.MM.yyyy')
  })

  test('are typing errors if there are few', () => {
    const rejects = [rejected('Hire Date'), rejected('Hire Date')]

    expect(lintOf([...rejects, ...people(9)], {}, cellsWith('31/10/2026'))).toEqual([])
    expect(lintOf(rejects.slice(1), {}, cellsWith('31/10/2026'))).toEqual([])
  })

  test.each(['Ana Lima', '2026', '12345678', 'ana@example.com', ''])(
    'are never shown where they may be something else: %s',
    (cell) => {
      expect(lintOf([rejected('Hire Date'), rejected('Hire Date')], {}, cellsWith(cell))).toEqual([])
    },
  )

  test('are found in each of several columns of the field', () => {
    const headers = ['Worker ID', 'Rehire, if any', 'Rehire Date', 'Hire Date']
    const scope = { headers, columns: { identityId: 'Worker ID', startedAt: 'Rehire Date, Hire Date' } }

    const findings = lintOf([rejected('Rehire Date, Hire Date')], scope, [['W1', '01/02/25', ' ', '31.10.26']])

    expect(findings[0]?.message).toContain(
      'column "Rehire Date, Hire Date" writes years with two digits, such as in line 2;',
    )
  })

  test('count only where their column rejected the row', () => {
    const rejects = [rejected('Job Title'), rejected(null)]

    expect(lintOf(rejects, {}, cellsWith('31.10.26'))).toEqual([])
  })
})
