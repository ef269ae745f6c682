import { describe, expect, test } from 'vitest'
import type { Observation } from '../../../src/identity/record.ts'
import { columns, lintOf, only, people } from '../../helpers/lint.ts'

describe('no-leavers', () => {
  const active = (index: number): Partial<Observation> => ({ leavingDate: index === 3 ? '2026-11-20' : null })

  test('finds an export in which nobody has left', () => {
    const findings = lintOf(people(12, active))

    expect(findings).toEqual([
      {
        check: 'no-leavers',
        message:
          'this export contains no leavers (12 people, column "Last Day", column "Status"); such reports often leave inactive people out: have the report include them',
      },
    ])
  })

  test.each([
    ['somebody left yesterday', people(12, (index) => ({ leavingDate: index === 3 ? '2026-11-19' : null }))],
    ['a status says left', people(12, (index) => ({ leavingDate: null, statesDeparture: index === 11 }))],
    ['there are too few people to tell', people(9, active)],
  ])('is quiet where %s', (_case, rows) => {
    expect(lintOf(rows)).toEqual([])
  })

  test('is quiet if everybody left long before they started, by placeholder dates', () => {
    const started = { startedAt: '2021-01-10T00:00:00.000Z' }

    const findings = lintOf(people(12, () => ({ leavingDate: '1900-01-01', fields: started })))

    expect(findings.map(({ check }) => check)).not.toContain('no-leavers')
  })

  test('is quiet without a column for leavers, and about a delta', () => {
    const { separatedAt: _date, status: _status, ...without } = columns

    expect(lintOf(people(12, active), { columns: without })).toEqual([])
    expect(lintOf(people(12, active), { mode: 'delta' })).toEqual([])
  })
})

describe('manager-by-name', () => {
  const named = people(3, () => ({ fields: { managerName: 'Kim Ode' } }))
  const byName = { ...columns, managerName: 'Supervisor' }

  test('finds managers without a key, and does not name them', () => {
    const findings = lintOf(named, { columns: byName })

    expect(findings).toEqual(only('manager-by-name'))
    expect(findings[0]?.message).toContain('column "Supervisor"')
    expect(findings[0]?.message).not.toContain('Kim')
  })

  test('is quiet if their keys are mapped too, and if nobody has a manager', () => {
    expect(lintOf(named, { columns: { ...byName, managerId: 'Manager ID' } })).toEqual([])
    expect(lintOf(people(3), { columns: byName })).toEqual([])
  })
})

describe('same-email', () => {
  test('finds two people with one address by their lines alone', () => {
    const findings = lintOf(people(6, (index) => (index % 3 === 1 ? { fields: { email: 'both@example.com' } } : {})))

    expect(findings).toEqual(only('same-email', 6))
    expect(findings[0]?.message).toMatch(/^1 person with the e-mail address of somebody else .* lines 3 and 6;/)
    expect(findings[0]?.message).not.toContain('both')
  })

  test('remembers the addresses of the first 10,000 people only', () => {
    const shared = { fields: { email: 'both@example.com' } }
    const rows = (late: number) => people(10_002, (index) => (index === 1 || index === late ? shared : {}))

    expect(lintOf(rows(9_999))).toEqual(only('same-email', 10_001))
    expect(lintOf(rows(10_001))).toEqual([])
  })

  test('is quiet about one person with two rows, and about people without an address', () => {
    const twice = people(30, (index) => (index < 2 ? { identityId: 'W1', fields: { email: 'w1@example.com' } } : {}))
    const nobody = people(3, (index) => ({ fields: { email: index > 0 ? null : 'a@example.com' } }))

    expect(lintOf(twice)).toEqual([])
    expect(lintOf(nobody)).toEqual([])
  })
})

describe('blank-column', () => {
  test('finds every mapped column that is blank', () => {
    const rows = people(10, () => ({ fields: { jobTitle: null, email: null } }))

    const findings = lintOf(rows)

    expect(findings).toEqual(only('blank-column'))
    expect(findings[0]?.message).toMatch(/^column "Work Email" \(email\), column "Job Title" \(jobTitle\): every row/)
  })

  test('finds a column without any stored value', () => {
    const rows = people(10).map(({ fields: { jobTitle: _kept, ...fields }, ...one }) => ({ ...one, fields }))

    expect(lintOf(rows)).toEqual(only('blank-column'))
  })

  test('is quiet if one cell is filled, even with false, and if there are few people', () => {
    const once = people(10, (index) => ({ fields: { jobTitle: index === 9 ? 'CEO' : null } }))
    const employees = people(10, () => ({ fields: { isContractor: false } }))

    expect(lintOf(once)).toEqual([])
    expect(lintOf(employees, { columns: { ...columns, isContractor: 'Contractor' } })).toEqual([])
    expect(lintOf(people(9, () => ({ fields: { jobTitle: null } })))).toEqual([])
  })
})
