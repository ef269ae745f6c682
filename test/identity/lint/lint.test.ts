import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lintChecks, type Trap } from '../../../src/identity/lint/lint.ts'
import { columns, lintOf, only, people, rejected } from '../../helpers/lint.ts'
import { observation } from '../../helpers/records.ts'

test('an ordinary export has no findings', () => {
  expect(lintOf(people(200))).toEqual([])
})

test('an export without people has no findings', () => {
  expect(lintOf([])).toEqual([])
})

describe('the warning of a preset', () => {
  const traps: Trap[] = [
    { check: 'no-leavers', warn: 'set the status to All' },
    { check: 'same-email', warn: 'never mind' },
    { check: 'no-leavers', warn: 'and ask HR' },
  ]

  test('is appended to the finding of its check', () => {
    const findings = lintOf(
      people(12, () => ({ leavingDate: null })),
      { traps },
    )

    expect(findings).toEqual(only('no-leavers'))
    expect(findings[0]?.message).toMatch(/include them; set the status to All; and ask HR$/)
  })
})

test('a delta is checked only for problems of single rows', () => {
  const rows = people(12, () => ({ identityId: '5E+12', leavingDate: null, fields: { jobTitle: null } }))

  const findings = lintOf(rows, { mode: 'delta' })

  expect(findings.map(({ check }) => check)).toEqual(['key-scientific'])
})

test('findings come in the order of the checks', () => {
  const rows = people(12, (index) => ({
    identityId: index === 1 ? '5E+12' : `W${index % 6}`,
    leavingDate: null,
    fields: { email: 'all@example.com', jobTitle: null, startedAt: '2024-01-01T00:00:00.000Z' },
  }))

  const checks = lintOf(rows).map(({ check }) => check)

  expect(checks).toEqual(lintChecks.filter((check) => checks.includes(check)))
  expect(checks.length).toBeGreaterThan(4)
})

test('no name or address of a person is ever shown', () => {
  const secret = 'xq'
  const text = fc.string({ maxLength: 12 }).map((rest) => `${secret}${rest}`)
  const fields = fc.record({ email: text, jobTitle: text, managerName: text, firstName: text })
  const cell = fc.oneof(text, fc.constantFrom('31.10.26', '31.10.2026'))
  const mapped = { ...columns, managerName: 'Manager', firstName: 'First Name' }

  fc.assert(
    fc.property(fc.array(fc.tuple(fields, cell), { minLength: 12, maxLength: 30 }), (rows) => {
      const observations = rows.flatMap(([values], index) => [
        observation(`W${index % 9}`, { fields: values }),
        rejected('Hire Date'),
      ])
      const cells = rows.flatMap(([, one]) => [[], ['', '', '', one]])

      const shown = lintOf(observations, { columns: mapped }, cells).map(({ message }) => message)

      expect(shown.join()).not.toContain(secret)
    }),
    { numRuns: 100 },
  )
})
