import { describe, expect, test } from 'vitest'
import { renderChanges, renderField, renderPlan, renderSummary } from '../../../src/cli/render/plan.ts'
import { type Paint, plain, wrapLines } from '../../../src/cli/render/text.ts'
import { changeView, counts, planDocument } from '../../helpers/control-documents.ts'

const marked: Paint = (style, text) => `<${style}>${text}</${style}>`

test('a plan names leavers first, then returns, retractions, corrections, joiners and movers, in sections of their own', () => {
  const plan = planDocument({
    rows: 1000,
    records: 997,
    counts: counts({ join: 1, update: 1, leave: 1, return: 1, correct: 1, retract: 1, unchanged: 991, rejected: 1 }),
    changes: [
      changeView({
        kind: 'join',
        identityId: '1001',
        fields: { email: { hidden: true }, startedAt: { from: null, to: '2026-12-01T00:00:00.000Z' } },
      }),
      changeView({ kind: 'update', identityId: '1002', fields: { jobTitle: { hidden: true } } }),
      changeView({
        identityId: '1222',
        fields: { separatedAt: { from: null, to: '2026-11-20T00:00:00.000Z', inferred: true } },
      }),
      changeView({
        kind: 'return',
        identityId: '1300',
        fields: { separatedAt: { from: '2026-03-31T00:00:00.000Z', to: null } },
      }),
      changeView({
        kind: 'correct',
        identityId: '1400',
        fields: { separatedAt: { from: '2026-10-31T00:00:00.000Z', to: '2026-11-05T00:00:00.000Z' } },
        carried: true,
      }),
      changeView({ kind: 'retract', identityId: '1500', reason: 'sent in error' }),
    ],
    guards: [
      { name: 'leavers', actual: 1, limit: 50, ok: true },
      { name: 'zeroRows', actual: 1000, limit: null, ok: true },
      {
        name: 'retractions',
        actual: 1,
        limit: 0,
        ok: false,
        reason: '1 of 997 people would be deleted; the limit is 0',
      },
    ],
    rejects: [
      {
        line: 41,
        column: 'Hire Date',
        reason: '"31/02/2025" is not a date',
        identityId: '1600',
        level: 'warning',
        cellOnly: true,
        mayLeave: false,
      },
    ],
  })

  const text = renderPlan(plan, plain)

  expect(text).toBe(`acme · people.csv · as of 2026-11-20 01:00 UTC
1,000 rows, 997 records, 1 rejected, 0 with a bad cell, 991 unchanged

Guards
  ✖ retractions  1 of 997 people would be deleted; the limit is 0
  ✔ 2 guards passed: leavers 1 of at most 50

Leavers (1)
  - 1222  separatedAt → 2026-11-20 (inferred)

Returns (1)
  > 1300  separatedAt 2026-03-31 → none

Retractions (1)
  x 1500  sent in error

Corrections (1)
  = 1400  separatedAt 2026-10-31 → 2026-11-05 (still due from an earlier run)

Joiners (1)
  + 1001  email, startedAt → 2026-12-01

Movers (1)
  ~ 1002  jobTitle

Rejected rows and bad cells (1)
  ! people.csv:41: Hire Date: "31/02/2025" is not a date`)
})

test('a plan without changes says so', () => {
  const text = renderPlan(planDocument(), plain)

  expect(text).toBe(`acme · people.csv · as of 2026-11-20 01:00 UTC
1,000 rows, 1,000 records, 0 rejected, 0 with a bad cell, 1,000 unchanged

Nothing to change.`)
})

test('a long list of joiners is cut, a long list of leavers is not', () => {
  const many = Array.from({ length: 60 }, (_, index) => String(index + 1000))
  const joiners = many.map((identityId) => changeView({ kind: 'join', identityId, fields: {} }))
  const leavers = many.map((identityId) => changeView({ kind: 'leave', identityId, fields: {} }))

  const lines = renderPlan(planDocument({ changes: [...joiners, ...leavers] }), plain).split('\n')

  expect(lines.filter((line) => line.startsWith('  + '))).toHaveLength(50)
  expect(lines).toContain('    … and 10 more, listed with --json')
  expect(lines.filter((line) => line.startsWith('  - '))).toHaveLength(60)
})

test('a leaver is shown with who it is and why, in lines that fit a terminal whatever HR wrote', () => {
  const fields = { separatedAt: { from: null, to: '2026-11-20T00:00:00.000Z' } }
  const person = {
    firstName: 'Ana\u001b[31m',
    lastName: `<b>${'x'.repeat(200)}</b>`,
    jobTitle: '=HYPERLINK("http://x.example")',
    managerName: 'Bo Cale\u202e',
    email: 'ana@acme.example',
  }

  const text = wrapLines(
    renderChanges([changeView({ fields, person, why: 'the date is stated: people.csv:41' })], plain),
    80,
  )

  expect(text).toBe(`Leavers (1)
  - 1222  separatedAt → 2026-11-20
      Ana\\u001b[31m <b>${'x'.repeat(56)}…
        · =HYPERLINK("http://x.example") · manager Bo Cale\\u202e ·
        ana@acme.example
      the date is stated: people.csv:41`)
})

test('a record is shown with what labels it', () => {
  const text = renderChanges([changeView({ identityId: 'E7', person: { '.name': 'Ana Núñez' } })], plain)

  expect(text).toContain('E7')
  expect(text).toMatch(/^ +Ana Núñez$/m)
})

test('a large plan is summarised by field and by manager, with examples', () => {
  const text = renderSummary(
    {
      fields: [
        {
          field: 'startedAt',
          people: 1998,
          blanked: 0,
          filled: 2,
          ways: [{ way: '-1 days', people: 1996 }],
          values: [],
          examples: ['1001', '1002', '1003'],
        },
        {
          field: 'jobTitle',
          people: 3,
          blanked: 2,
          filled: 0,
          ways: [],
          values: [{ from: 'Lead', to: null, people: 2 }],
          examples: ['1001'],
        },
        { field: 'lastName', people: 1, blanked: 0, filled: 0, ways: [], values: [hiddenValues], examples: ['1007'] },
      ],
      managers: [
        { manager: 'Bo Cale', leavers: 31, examples: ['1001', '1005'] },
        { manager: null, leavers: 1, examples: ['1009'] },
      ],
      managersCount: 14,
    },
    plain,
  )

  expect(text).toBe(`By field
  startedAt: 1,998 people, 2 get it first
      1,996: -1 days
      such as 1001, 1002, 1003
  jobTitle: 3 people, 2 lose it
      2: "Lead" → none
      such as 1001
  lastName: 1 person
      such as 1007

By manager
  Bo Cale: 31 leavers, such as 1001, 1005
  no manager: 1 leaver, such as 1009
  … and 12 more managers`)
})

const hiddenValues = { from: { hidden: true }, to: { hidden: true }, people: 1 } as const

test('what comes from a file cannot steer the terminal', () => {
  const plan = planDocument({ changes: [changeView({ kind: 'join', identityId: '\u001b[2J1\u202e' })] })

  const text = renderPlan(plan, plain)

  expect(text).toContain('+ \\u001b[2J1\\u202e')
})

test('colours mark the kind of change and the verdict', () => {
  const guards = [{ name: 'leavers', actual: 9, limit: 5, ok: false, reason: 'too many' }]

  const text = renderPlan(planDocument({ changes: [changeView()], guards }), marked)

  expect(text).toContain('<bold>Leavers (1)</bold>\n  <red>-</red> 1222')
  expect(text).toContain('<red>✖</red> leavers  too many')
})

describe('a field that changes', () => {
  const cases = [
    ['a value that is not shown', 'jobTitle', { hidden: true }, 'jobTitle'],
    ['a value', 'jobTitle', { from: 'Engineer', to: 'Lead' }, 'jobTitle "Engineer" → "Lead"'],
    ['a new value', 'jobTitle', { from: null, to: 'Lead' }, 'jobTitle → "Lead"'],
    ['a cleared value', 'managerId', { from: '7', to: null }, 'managerId "7" → none'],
    ['a truth', 'isContractor', { from: false, to: true }, 'isContractor false → true'],
    ['a date', 'startedAt', { from: null, to: '2026-11-20T00:00:00.000Z' }, 'startedAt → 2026-11-20'],
  ] as const

  test.each(cases)('shows %s', (_what, name, change, expected) => {
    const text = renderField(name, change)

    expect(text).toBe(expected)
  })
})
