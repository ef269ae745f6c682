import { expect, test } from 'vitest'
import { createDecider } from '../../../src/identity/decide/decider.ts'
import { eventRows } from '../../../src/identity/decide/row-models.ts'
import type { Observation, RosterEntry } from '../../../src/identity/record.ts'
import { planRows } from '../../helpers/model/plan.ts'
import { entry, nightly, observation, record } from '../../helpers/records.ts'

const pinned = new Set(['ada'])
const delta = nightly({ mode: 'delta' })
const due: Partial<RosterEntry> = { deferredTo: '2026-11-20', deferredZone: 'UTC' }

function leaver(identityId: string, overrides: Partial<Observation> = {}): Observation {
  return observation(identityId, { statesDeparture: true, ...overrides })
}

test.each([
  { what: 'is missing from a snapshot', rows: [observation('bob')] },
  { what: 'is stated as left', rows: [leaver('ada'), observation('bob')] },
  { what: 'is stated as left by a delta', rows: [leaver('ada')], context: delta },
  { what: 'is stated as left in two rows', rows: [leaver('ada'), leaver('ada'), observation('bob')] },
  {
    what: 'is to be sent with a date ahead',
    rows: [observation('ada', { leavingDate: '2027-01-31' })],
    future: 'send',
  },
  { what: 'has a leaving date that has come', rows: [], context: delta, known: due },
  { what: 'is retracted by a row', rows: [observation('ada', { action: 'retract' })], context: delta },
] as const)('names a pinned person who $what', ({ rows, ...rules }) => {
  const { context = nightly('future' in rules ? { future: rules.future } : {}) } = 'context' in rules ? rules : {}
  const { known = {} } = 'known' in rules ? rules : {}
  const roster = new Map([entry('ada', known), entry('bob')].map((one) => [one.identityId, one]))

  const plan = planRows(rows, roster, context, { pinned })
  const free = planRows(rows, roster, context)

  expect([plan.pinned, free.pinned]).toEqual([['ada'], []])
  expect(plan.changes).toEqual(free.changes)
})

test.each([
  { what: 'stays', known: entry('ada'), rows: [observation('ada', { fields: { jobTitle: 'Lead' } })] },
  {
    what: 'has a leaving date ahead, which waits',
    known: entry('ada'),
    rows: [observation('ada', { leavingDate: '2027-01-31' })],
  },
  {
    what: 'was separated by an approved plan',
    known: entry('ada', {
      desired: record('ada', { separatedAt: '2026-11-01T00:00:00.000Z' }),
      confirmed: record('ada'),
    }),
    rows: [],
  },
])('does not hold a plan for a pinned person who $what', ({ known, rows }) => {
  const plan = planRows(rows, new Map([['ada', known]]), nightly(), { pinned })

  expect(plan.pinned).toEqual([])
})

test('the departure of a pinned person waits, and that of another person proceeds', () => {
  const decider = createDecider({
    context: delta,

    rows: eventRows,
    rejectsKept: 10,
    pinned,
  })
  const known = new Map(['ada', 'bob'].map((key) => [key, entry(key)]))
  const rows = [leaver('ada'), leaver('bob')]
  for (const row of rows) decider.book.add(row)
  decider.decideObserved(decider.book.lastPage().observed, known)
  const stopped = new Set(['pinned'])

  const countedPeople = decider
    .observedPeople(stopped)
    .flatMap((person) => (person.isCounted ? [{ ...person, joins: false }] : []))
  const { proceeding: goesOn, held: waits } = decider.split(countedPeople, known, stopped)

  expect(countedPeople.map(({ identityId }) => identityId)).toEqual(['ada'])
  expect([goesOn, waits]).toMatchObject([[], [{ identityId: 'ada', change: { kind: 'leave' } }]])
  expect(decider.counts()).toMatchObject({ leave: 1 })
})

test('each pinned person is named, however many there are', () => {
  const keys = Array.from({ length: 25 }, (_, at) => `P${at}`)
  const roster = new Map(keys.map((key) => [key, entry(key)]))

  const plan = planRows([], roster, nightly(), { pinned: new Set(keys) })

  expect(plan.pinned).toEqual(keys)
})
