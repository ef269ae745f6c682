import { describe, expect, test } from 'vitest'
import { findKeyChanges, noKeyChanges } from '../../src/identity/decide/key-changes.ts'
import { eventRows } from '../../src/identity/decide/row-models.ts'
import { candidateName, resolveAlias } from '../../src/identity/key-change-candidates.ts'
import type { IdentityRecord, Observation } from '../../src/identity/record.ts'
import { planRows } from '../helpers/model/plan.ts'
import { entry, nightly, observation, record, reject } from '../helpers/records.ts'

const start = '2020-01-06T00:00:00.000Z'
const ana = { email: 'ana@acme.example', firstName: 'Ana', lastName: 'Núñez', startedAt: start }
const ben = { email: 'ben@acme.example', firstName: 'Ben', lastName: 'Okafor', startedAt: start }

function roster(people: Readonly<Record<string, Partial<IdentityRecord>>>) {
  return new Map(Object.entries(people).map(([key, fields]) => [key, entry(key, { desired: record(key, fields) })]))
}

function row(key: string, fields: Observation['fields'], overrides: Partial<Observation> = {}): Observation {
  return observation(key, { fields, ...overrides })
}

const pair = (former: string, identityId: string, by: string, clear = true) => ({ former, identityId, by, clear })

describe('a key that is gone and one that is new are a pair', () => {
  test.each([
    { what: 'with the same e-mail address', fields: { email: ana.email }, by: 'email' },
    { what: 'with the address in other letters', fields: { email: ' ANA@Acme.example' }, by: 'email' },
    {
      what: 'with the same name and start',
      fields: { email: 'a.nunez@acme.example', firstName: 'ana', lastName: 'Nunez', startedAt: start },
      by: 'name',
    },
    { what: 'with all of it', fields: ana, by: 'both' },
  ])('$what', ({ fields, by }) => {
    const { pairs } = planRows([row('2001', fields)], roster({ 1001: ana, 1002: ben }), nightly())

    expect(pairs).toEqual([pair('1001', '2001', by)])
  })

  test.each([
    { what: 'another start', fields: { ...ana, email: null, startedAt: '2026-11-01T00:00:00.000Z' } },
    { what: 'another name', fields: { ...ana, email: null, firstName: 'Anna' } },
    { what: 'no name at all', fields: { email: null, firstName: ' ', lastName: null, startedAt: start } },
  ])('unless there is $what', ({ fields }) => {
    const { pairs } = planRows([row('2001', fields)], roster({ 1001: { ...ana, email: null } }), nightly())

    expect(pairs).toEqual([])
  })

  test('also if the same run states the old key as a leaver, now or later', () => {
    const known = roster({ 1001: ana, 1002: ben })

    const { pairs } = planRows(
      [
        row('1001', ana, { leavingDate: '2026-11-19' }),
        row('2001', ana),
        row('2002', ben),
        row('1002', ben, { leavingDate: '2026-12-31' }),
      ],
      known,
      nightly(),
      { slice: 1 },
    )

    expect(pairs).toEqual([pair('1001', '2001', 'both'), pair('1002', '2002', 'both')])
  })

  test.each([
    { what: 'on the first of the absences that are let pass', rules: { graceRuns: 3 } },
    { what: 'though absence means nothing', rules: { absence: 'ignore' } as const },
  ])('$what', ({ rules }) => {
    const { pairs } = planRows([row('2001', ana)], roster({ 1001: ana }), nightly(rules))

    expect(pairs).toEqual([pair('1001', '2001', 'both')])
  })

  test.each([
    { what: 'is absent', rows: [row('2001', ana)] },
    { what: 'has left by status', rows: [row('1001', ana, { statesDeparture: true }), row('2001', ana)] },
    { what: 'has left by date', rows: [row('1001', ana, { leavingDate: '2026-11-19' }), row('2001', ana)] },
  ])('though an operator stated the departure before, if the old key $what', ({ rows }) => {
    const desired = record('1001', { ...ana, separatedAt: '2026-11-18T00:00:00.000Z' })
    const left = entry('1001', { desired, statedDeparture: '2026-11-18', isByOperator: true })

    expect(planRows(rows, new Map([['1001', left]]), nightly()).pairs).toEqual([pair('1001', '2001', 'both')])
  })

  test('in a delta, if it states that one of them has left', () => {
    const delta = nightly({ mode: 'delta' })

    const afterDeparture = planRows(
      [row('1001', {}, { statesDeparture: true }), row('2001', ana)],
      roster({ 1001: ana }),
      delta,
    )
    const silent = planRows([row('2001', ana)], roster({ 1001: ana }), delta)

    expect([afterDeparture.pairs, silent.pairs]).toEqual([[pair('1001', '2001', 'both')], []])
  })
})

describe('no pair is made', () => {
  const known = roster({ 1001: ana })

  test.each([
    { what: 'of a person who stays', rows: [row('1001', ana), row('2001', ana)], people: known },
    {
      what: 'of a new person who has left already',
      rows: [row('2001', ana, { statesDeparture: true })],
      people: known,
    },
    {
      what: 'of a person who had left before',
      rows: [row('2001', ana)],
      people: roster({ 1001: { ...ana, separatedAt: '2026-10-31T00:00:00.000Z' } }),
    },
    {
      what: 'of a new key whose rows contradict each other',
      rows: [row('2001', ana), row('2001', ana, { origin: { file: 'people.csv', line: 3 } })],
      people: known,
    },
    { what: 'of a person whose row cannot be read', rows: [reject('1001'), row('2001', ana)], people: known },
  ])('$what', ({ rows, people }) => {
    const plans = [1, 1000].map((slice) => planRows(rows, people, nightly(), { slice }))

    expect(plans.map(({ pairs }) => pairs)).toEqual([[], []])
  })

  test('that was called two people', () => {
    const twoPeople = new Set([candidateName({ former: '1001', identityId: '2001' })])

    const { pairs } = planRows([row('2001', ana), row('2002', ana)], known, nightly(), {
      keyChanges: findKeyChanges(nightly(), twoPeople),
    })

    expect(pairs).toEqual([pair('1001', '2002', 'both')])
  })

  test('if nobody was known before', () => {
    const { pairs } = planRows([row('2001', ana)], known, nightly(), { keyChanges: noKeyChanges })

    expect(pairs).toEqual([])
  })
})

describe('ambiguous pairs', () => {
  test('one key that is gone and two new keys make two unclear pairs', () => {
    const { pairs } = planRows(
      [row('2001', ana), row('2002', ana), row('2003', ben)],
      roster({ 1001: ana, 1002: ben }),
      nightly(),
    )

    expect(pairs).toEqual([
      pair('1001', '2001', 'both', false),
      pair('1001', '2002', 'both', false),
      pair('1002', '2003', 'both'),
    ])
  })

  test('a mailbox that several people of both sides share makes no pair, but their names do', () => {
    const shared = { email: 'floor@acme.example' }

    const { pairs } = planRows(
      [row('2001', { ...ana, ...shared }), row('2002', shared), row('2003', shared)],
      roster({ 1001: { ...ana, ...shared }, 1002: { ...ben, ...shared } }),
      nightly(),
    )

    expect(pairs).toEqual([pair('1001', '2001', 'name')])
  })

  test('there are never more pairs than people, even if a column has one value for everybody', () => {
    const keys = (first: number) => Array.from({ length: 300 }, (_, at) => String(first + at))

    const { pairs } = planRows(
      keys(2000).map((key) => row(key, ana)),
      roster(Object.fromEntries(keys(1000).map((key) => [key, ana]))),
      nightly(),
    )

    expect(pairs).toHaveLength(300)
    expect(pairs.some(({ clear }) => clear)).toBe(false)
  })
})

describe('a row with an alias names the person of the alias', () => {
  const aliases = new Map([
    ['N1', { identityId: '1001', order: 1 }],
    ['M1', { identityId: '1001', order: 2 }],
  ])

  test('also as a manager, and also in a rejected row', () => {
    const rows = [
      resolveAlias(row('M1', ana), aliases),
      resolveAlias(row('1002', { ...ben, managerId: 'N1' }), aliases),
      resolveAlias(reject('N1'), aliases),
      resolveAlias(reject(null), aliases),
    ]

    expect(rows).toMatchObject([
      { identityId: '1001', keyOrder: 2 },
      { identityId: '1002', fields: { managerId: '1001' } },
      { identityId: '1001' },
      { identityId: null },
    ])
  })

  const old = row('1001', ana, { leavingDate: '2026-11-18' })
  const line = { origin: { file: 'people.csv', line: 3 } }

  test.each([
    { what: 'stays if only the former key has left', facts: {}, change: undefined, rejected: 0 },
    {
      what: 'leaves on the date of the newer key if both have left',
      facts: { leavingDate: '2026-11-19' },
      change: '2026-11-19T00:00:00.000Z',
      rejected: 0,
    },
  ])('who $what', ({ facts, change, rejected }) => {
    const rows = [old, resolveAlias(row('N1', ana, { ...facts, ...line }), aliases)]

    const plans = [rows, rows.toReversed()].flatMap((order) =>
      [1, 1000].map((slice) => planRows(order, roster({ 1001: ana }), nightly(), { slice })),
    )

    for (const { changes, counts } of plans) {
      expect(changes.map((one) => 'record' in one && one.record.separatedAt)).toEqual(change ? [change] : [])
      expect(counts.rejected).toBe(rejected)
    }
  })

  test.each([
    { what: 'are employed', former: {}, newer: {} },
    { what: 'say the opposite of each other', former: {}, newer: { statesDeparture: true } },
  ])('and stays unchanged if rows of both keys $what', ({ former, newer }) => {
    const rows = [row('1001', ana, former), resolveAlias(row('N1', ana, { ...newer, ...line }), aliases)]

    const { changes, counts, rejects } = planRows(rows, roster({ 1001: ana }), nightly())

    expect([changes, counts.rejected]).toEqual([[], 2])
    expect(rejects[0]?.reason).toContain('stands in this file under two keys')
  })

  test('the departure of the former key is dropped among events, whenever it arrives', () => {
    const hired = resolveAlias(row('N1', ana), aliases)
    const leaver = row('1001', {}, { statesDeparture: true, leavingDate: undefined })
    const rules = { rows: eventRows }
    const delta = nightly({ mode: 'delta' })

    const plans = [
      [hired, leaver],
      [leaver, hired],
    ].map((rows) => planRows(rows, roster({ 1001: ana }), delta, rules))
    const alone = planRows([leaver], roster({ 1001: ana }), delta, rules)

    expect(plans.map(({ changes }) => changes)).toEqual([[], []])
    expect(alone.changes).toMatchObject([{ kind: 'leave', identityId: '1001' }])
  })
})
