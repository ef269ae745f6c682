import { describe, expect, test } from 'vitest'
import { withExpressions } from '../../../src/connectors/expressions/expressions.ts'
import { createDecider, type DeciderRules } from '../../../src/identity/decide/decider.ts'
import { exportRows } from '../../../src/identity/decide/row-models.ts'
import { judge } from '../../../src/identity/guards/judge.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { compileMapping, expressionsOf, Mapping } from '../../../src/identity/mapping/mapping.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'
import { wholeSlices } from '../../../src/sync/plan/change-filter/change-filter.ts'
import { collectRows } from '../../../src/sync/plan/collect-rows.ts'
import { mapRows } from '../../../src/sync/plan/map/map-rows.ts'
import { calm } from '../../helpers/guards/calm.ts'
import { entry, nightly } from '../../helpers/records.ts'

const headers = ['id', 'email', 'dept', 'left']
const scope = '$assert($exists(dept) and dept != "", "no department"); dept != "Store"'

/** The decisions about rows of an export with a scope. */
async function decided(
  rows: readonly (readonly string[])[],
  {
    known = [],
    outOfScope = 'hold',
    mode = 'snapshot',
  }: {
    known?: readonly RosterEntry[]
    outOfScope?: NonNullable<DeciderRules['outOfScope']>
    mode?: 'snapshot' | 'delta'
  } = {},
) {
  const mapping = Mapping.parse({
    fields: { identityId: 'id', email: 'email', separatedAt: 'left' },
    scope: `(${scope})`,
  })
  const context = nightly({ mode })
  const rules = { mapping, traps: [], absence: 'separate', graceRuns: 1, timeZone: 'UTC', future: 'defer' } as const
  const opened = {
    ...{ mode, asOf: context.asOf, source: { name: 'people.csv', bytes: 1, version: '1' }, headers },
    rows: (async function* () {
      yield rows.map((values, at) => ({ values, origin: { file: 'people.csv', line: at + 2 } }))
    })(),
  }
  const reading = withExpressions(opened, expressionsOf(mapping))
  const mapped = mapRows(reading, rules, { now: new Date(context.now) })
  const decider = createDecider({
    ...{ context, rows: exportRows, rejectsKept: 10, outOfScope },
  })
  const inScope = await collectRows(decider, {
    slices: wholeSlices(reading.rows),
    mapping: mapped,
    signal: new AbortController().signal,
  })
  const roster = new Map(known.map((one) => [one.identityId, one]))
  const decisions = decider.decideObserved(decider.book.lastPage().observed, roster)
  const unseen = decider.book.unobserved([...roster.keys()]).flatMap((key) => roster.get(key) ?? [])
  const changes = [...decisions, ...decider.decideUnobserved(mode === 'snapshot' ? unseen : [])].flatMap(
    ({ change }) => (change ? [`${change.kind} ${change.identityId}`] : []),
  )
  const { book, outOfScopeLeavers, rejects } = decider
  return { inScope, changes, outside: book.counts.outOfScope, outOfScopeLeavers, rejects: rejects() }
}

const row = (id: string, dept: string, leavingDate = '') => [id, `${id}@example.com`, dept, leavingDate]

test('rows outside the scope are counted, and are not rejected', async () => {
  const { inScope, outside, changes, rejects } = await decided([
    row('ada', 'IT'),
    row('bob', 'Store'),
    row('', 'Store'),
  ])

  expect([inScope, outside, changes, rejects]).toEqual([1, 2, ['join ada'], []])
})

describe('a person who falls out of scope', () => {
  test.each([
    { outOfScope: 'keep', mode: 'snapshot', changes: [], outOfScopeLeavers: [] },
    { outOfScope: 'separate', mode: 'snapshot', changes: ['leave ada'], outOfScopeLeavers: ['ada'] },
    { outOfScope: 'hold', mode: 'snapshot', changes: ['leave ada'], outOfScopeLeavers: ['ada'] },
    { outOfScope: 'keep', mode: 'delta', changes: [], outOfScopeLeavers: [] },
    { outOfScope: 'hold', mode: 'delta', changes: ['leave ada'], outOfScopeLeavers: ['ada'] },
  ] as const)('$outOfScope, in a $mode', async ({ outOfScope, mode, ...expected }) => {
    const known = [entry('ada'), entry('bob')]

    const result = await decided([row('ada', 'Store'), row('bob', 'IT')], { known, outOfScope, mode })

    expect(result).toMatchObject(expected)
  })

  test('stays if another of their rows is in scope, whichever comes first', async () => {
    const rows = [row('ada', 'Store'), row('ada', 'IT')]

    const results = [
      await decided(rows, { known: [entry('ada')] }),
      await decided(rows.toReversed(), { known: [entry('ada')] }),
    ]

    expect(results.map(({ changes, outOfScopeLeavers }) => [changes, outOfScopeLeavers])).toEqual([
      [[], []],
      [[], []],
    ])
  })

  test('is not separated again, and is not brought back', async () => {
    const gone = entry('ada', {
      desired: { identityId: 'ada', separatedAt: '2026-11-01T00:00:00.000Z' },
      inferred: true,
    })

    const { changes, outOfScopeLeavers } = await decided([row('ada', 'Store')], { known: [gone] })

    expect([changes, outOfScopeLeavers]).toEqual([[], []])
  })
})

test('a row for which the expression fails is rejected, and the person stays as known', async () => {
  const { changes, rejects, outside } = await decided([row('ada', ''), row('bob', 'IT')], {
    known: [entry('ada'), entry('bob')],
  })

  expect([changes, outside]).toEqual([[], 0])
  expect(rejects).toMatchObject([
    { identityId: 'ada', column: 'the expression of scope', reason: expect.stringContaining('the expression failed') },
  ])
})

test.each([
  ['true', true],
  ['false', false],
  ['', 'reject'],
  ['1', 'reject'],
  [undefined, 'reject'],
])('an expression that yields %j is %s', (value, expected) => {
  const mapping = Mapping.parse({ fields: { identityId: 'id' }, scope: 'dept' })
  const compiled = compileMapping(mapping, ['id'])
  if (!compiled.ok) throw new Error(compiled.missing.join())

  const scoped = compiled.scopeOf(
    { values: ['ada', value], origin: { file: 'people.csv', line: 2 } },
    { identityId: 'ada' },
  )

  expect(typeof scoped === 'boolean' ? scoped : 'reject').toBe(expected)
})

describe('the guards', () => {
  const verdicts = (scoped: { rows: number; outOfScopeLeavers: string[]; holds: boolean }, rows: number) =>
    judge({ ...calm, rows, scope: scoped }, Guards.parse({})).filter(({ ok }) => !ok)

  test('hold a plan in which people fall out of scope, and list them', () => {
    const [held, passed] = [true, false].map((holds) => verdicts({ rows: 5, outOfScopeLeavers: ['ada'], holds }, 10))

    expect(held).toEqual([
      {
        ...{ name: 'outOfScope', actual: 1, limit: null, ok: false, people: ['ada'] },
        reason: '1 employed person is no longer in scope, and the source says "outOfScope: hold"',
      },
    ])
    expect(passed).toEqual([])
  })

  test('hold a plan of an export without any row in scope', () => {
    const [verdict] = verdicts({ rows: 400, outOfScopeLeavers: [], holds: false }, 0)

    expect(verdict).toMatchObject({ name: 'zeroRows', reason: 'none of 400 rows is in scope' })
  })
})
