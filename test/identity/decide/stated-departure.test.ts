import { describe, expect, test } from 'vitest'
import { decide } from '../../../src/identity/decide/decide.ts'
import { isUnchanging } from '../../../src/identity/decide/unchanging.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'
import { entry, nightly, observation, record } from '../../helpers/records.ts'

const statedDeparture = '2026-11-18'
const ada = entry('ada', { statedDeparture })
const rosterRun = nightly({ mode: 'delta' })
const separatedAt = (day: string) => `${day}T00:00:00.000Z`

/** The entry as a later run finds it, once the change was delivered. */
function next(known: RosterEntry, input: Parameters<typeof decide>[1], context = rosterRun): RosterEntry {
  const state = { ...known, ...decide(known, input, context).entry }
  return { ...state, confirmed: state.desired }
}

const left = next(ada, 'untouched')

test('is sent without a row, and judged as a departure', () => {
  const { change, entry: state, news } = decide(ada, 'untouched', rosterRun)

  expect(change).toMatchObject({ kind: 'leave', record: { separatedAt: separatedAt('2026-11-18') }, inferred: false })
  expect(state).toMatchObject({ isByOperator: true, inferred: false })
  expect(news.kinds).toEqual(['leavers'])
})

test('waits for its day', () => {
  const known = entry('ada', { statedDeparture: '2026-11-21' })

  expect(decide(known, 'untouched', rosterRun)).toMatchObject({ change: null, entry: null })
  expect(decide(known, 'untouched', nightly({ mode: 'delta', today: '2026-11-21' })).change?.kind).toBe('leave')
})

describe('begins and stays on the day of the source', () => {
  // 08:00 in Berlin, still the day before in Los Angeles.
  const now = '2026-11-18T07:00:00.000Z'
  const inBerlin = { timeZone: 'Europe/Berlin', now, today: '2026-11-18', asOf: '2026-11-18T06:00:00.000Z' }
  const row = observation('ada', { timeZone: 'America/Los_Angeles', statesEmployed: true })
  const known = entry('ada', { statedDeparture, asOf: '2026-11-17T01:00:00.000Z' })

  test.each(['snapshot', 'delta'] as const)('though a row of a %s has a zone of its own', (mode) => {
    const separated = next(known, 'untouched', nightly({ ...inBerlin, mode: 'delta' }))
    const { change } = decide(separated, row, nightly({ ...inBerlin, mode }))

    expect(separated.desired?.separatedAt).toBe(separatedAt('2026-11-18'))
    expect(change).toBeNull()
  })

  test('though HR has stated a later day in a zone of its own', () => {
    const announced = { ...known, deferredTo: '2026-12-31', deferredZone: 'America/Los_Angeles' }

    expect(decide(announced, 'untouched', nightly({ ...inBerlin, mode: 'delta' })).change?.kind).toBe('leave')
  })

  test('though an event is read by the day of another zone', () => {
    const event = nightly({ ...inBerlin, mode: 'delta', today: '2026-11-17', sourceToday: '2026-11-18' })

    expect(decide(known, 'untouched', event).change?.kind).toBe('leave')
  })
})

test.each([
  { what: 'states employment', input: observation('ada', { statesEmployed: true }) },
  { what: 'blanks the leaving date', input: observation('ada') },
  { what: 'states a later day', input: observation('ada', { leavingDate: '2026-12-31' }) },
  {
    what: 'states a later day that is sent at once',
    input: observation('ada', { leavingDate: '2026-12-31' }),
    rules: { future: 'send' } as const,
  },
  { what: 'lacks the person', input: 'absent' as const },
  { what: 'has a row that cannot be used', input: 'untouched' as const },
])('stays, though the export $what', ({ input, rules = {} }) => {
  const { change, entry: state, news, isAbsent } = decide(left, input, nightly(rules))

  expect([change, news.kinds, isAbsent]).toEqual([null, [], false])
  expect({ ...left, ...state }).toMatchObject({
    isByOperator: true,
    desired: { separatedAt: separatedAt('2026-11-18') },
  })
})

test('a later day of HR replaces it on that day, and not before', () => {
  const known = next(left, observation('ada', { leavingDate: '2026-11-25' }), nightly())
  const before = decide(known, 'untouched', nightly({ mode: 'delta', today: '2026-11-24' }))
  const { change, entry: state, news } = decide(known, 'untouched', nightly({ mode: 'delta', today: '2026-11-25' }))

  expect(known).toMatchObject({ deferredTo: '2026-11-25', isByOperator: true })
  expect(before.change).toBeNull()
  expect(change).toMatchObject({ record: { separatedAt: separatedAt('2026-11-25') } })
  expect(state).toMatchObject({ isByOperator: false, deferredTo: null })
  expect(news.kinds).toEqual([])
})

test.each(['2026-11-17', '2026-11-18', '2026-11-19'])(
  'the leaving date %s of HR replaces it at once',
  (leavingDate) => {
    const known = next(left, observation('ada', { leavingDate }), nightly())

    expect(known).toMatchObject({ isByOperator: false, desired: { separatedAt: separatedAt(leavingDate) } })
  },
)

test('a leaving date of HR with a later start brings the person back', () => {
  const hiredAgain = observation('ada', {
    ...{ leavingDate: '2026-11-18', statesEmployed: true },
    fields: { startedAt: separatedAt('2026-12-15') },
  })
  const { change, entry: state } = decide(left, hiredAgain, nightly({ today: '2026-12-15', exportDate: '2026-12-15' }))

  expect(change?.kind).toBe('return')
  expect(state).toMatchObject({ isByOperator: false, clearedDate: '2026-11-18' })
})

test('a person who was absent and is stated as employed again stays separated', () => {
  const absent = next(left, 'absent', nightly())
  const again = next(
    absent,
    observation('ada', { statesEmployed: true }),
    nightly({ asOf: '2026-11-20T02:00:00.000Z' }),
  )

  expect(absent).toMatchObject({ isByOperator: true, inferred: true })
  expect(again).toMatchObject({
    isByOperator: true,
    inferred: false,
    desired: { separatedAt: separatedAt('2026-11-18') },
  })
})

describe('once withdrawn', () => {
  test('the person comes back', () => {
    const { change, entry: state, news } = decide({ ...left, statedDeparture: null }, 'untouched', rosterRun)

    expect(change).toMatchObject({ kind: 'return', record: record('ada') })
    expect(state).toMatchObject({ isByOperator: false })
    expect(news.kinds).toEqual(['returns'])
  })

  test('a departure that follows from absence stays', () => {
    const absent = next(left, 'absent', nightly())

    expect(decide({ ...absent, statedDeparture: null }, 'untouched', rosterRun)).toMatchObject({
      change: null,
      entry: { isByOperator: false, inferred: true },
    })
  })
})

test('is decided again in every export', () => {
  const decision = decide(left, observation('ada'), nightly())

  expect(isUnchanging({ identityId: 'ada', entry: left, decision, input: observation('ada') }, nightly())).toBe(false)
})

test('a key that HR gives to another person is held', () => {
  const names = { firstName: 'Ada', lastName: 'Byron' }
  const known = next(entry('ada', { statedDeparture, desired: record('ada', names) }), 'untouched')
  const other = { email: 'bo@example.com', firstName: 'Bo', lastName: 'Lind' }
  const { news } = decide(known, observation('ada', { fields: other, statesEmployed: true }), nightly())

  expect(news.kinds).toContain('reusedKeys')
})

test('other facts are still sent', () => {
  const { change } = decide(left, observation('ada', { fields: { jobTitle: 'Lead' } }), nightly())

  expect(change).toMatchObject({ kind: 'update', fields: { jobTitle: { to: 'Lead' } } })
})
