import { describe, expect, test } from 'vitest'
import { decide } from '../../../src/identity/decide/decide.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'
import { entry, nightly, observation, record } from '../../helpers/records.ts'

const heldBackUntil = '2026-12-01'
const ada = entry('ada', { heldBackUntil })
const before = '2026-11-10T00:00:00.000Z'
const separated = record('ada', { separatedAt: before })

/** The entry as a later run finds it. */
function next(known: RosterEntry, input: Parameters<typeof decide>[1], context = nightly()): RosterEntry {
  return { ...known, ...decide(known, input, context).entry }
}

const held = (day: string, inferred = false) => ({
  ...{ separatedAt: `${day}T00:00:00.000Z`, inferred },
  ...{ until: heldBackUntil, timeZone: 'UTC' },
})

test.each([
  { what: 'a date that has come', input: observation('ada', { leavingDate: '2026-11-19' }), kept: held('2026-11-19') },
  { what: 'a status', input: observation('ada', { statesDeparture: true }), kept: held('2026-11-20', true) },
  { what: 'absence', input: 'absent' as const, kept: held('2026-11-20', true) },
  {
    what: 'a date ahead that is sent at once',
    input: observation('ada', { leavingDate: '2026-11-25' }),
    kept: held('2026-11-25'),
    rules: { future: 'send' } as const,
  },
])('$what is stored and not sent', ({ input, kept, rules = {} }) => {
  const { change, entry: state, news } = decide(ada, input, nightly(rules))

  expect([change, news.kinds]).toEqual([null, []])
  expect(state).toMatchObject({ desired: { separatedAt: null }, inferred: false, heldDeparture: kept })
})

test('the same export again changes nothing', () => {
  const known = next(ada, 'absent')

  const again = decide(known, 'absent', nightly())

  expect(again).toMatchObject({ entry: null, change: null, isAbsent: false })
})

test('a date that arrives meanwhile is held back too', () => {
  const known = next(ada, observation('ada', { leavingDate: '2026-11-25' }))

  const later = decide(known, 'untouched', nightly({ mode: 'delta', today: '2026-11-25' }))

  expect(known).toMatchObject({ deferredTo: '2026-11-25', heldDeparture: null })
  expect(later).toMatchObject({ change: null, entry: { heldDeparture: held('2026-11-25'), deferredTo: null } })
})

describe('on the day', () => {
  const onTheDay = nightly({ mode: 'delta', today: heldBackUntil, now: '2026-12-01T03:00:00.000Z' })

  test('the held departure is sent with the date of HR, even without a row', () => {
    const known = next(ada, observation('ada', { leavingDate: '2026-11-19' }))

    const { change, entry: state, news } = decide(known, 'untouched', onTheDay)

    expect(change).toMatchObject({ kind: 'leave', record: { separatedAt: '2026-11-19T00:00:00.000Z' } })
    expect(state).toMatchObject({ heldDeparture: null })
    expect(news.kinds).toEqual(['leavers'])
  })

  test('nothing is sent for a person whom HR lists as employed by then', () => {
    const mended = next(next(ada, 'absent'), observation('ada'), nightly({ asOf: '2026-11-25T01:00:00.000Z' }))

    const { change } = decide(mended, 'untouched', onTheDay)

    expect(mended).toMatchObject({ heldDeparture: null, desired: { separatedAt: null } })
    expect(change).toBeNull()
  })
})

test.each([
  { what: 'missing from the export', input: 'absent' as const, context: nightly() },
  { what: 'listed as left', input: observation('ada', { leavingDate: '2026-11-10' }), context: nightly() },
  { what: 'not spoken of', input: 'untouched' as const, context: nightly({ mode: 'delta' }) },
])('a separated person comes back with the former record, though $what', ({ input, context }) => {
  const gone = entry('ada', { desired: separated, confirmed: separated, heldBackUntil })

  const { change, entry: state, news } = decide(gone, input, context)

  expect(change).toMatchObject({ kind: 'return', record: record('ada') })
  expect(state).toMatchObject({ heldDeparture: held('2026-11-10') })
  expect(news.kinds).toEqual(['returns'])
})

test('a departure that is no longer held back is sent', () => {
  const known = { ...next(ada, 'absent'), heldBackUntil: null }

  const { change } = decide(known, 'untouched', nightly({ mode: 'delta' }))

  expect(change).toMatchObject({ kind: 'leave', record: { separatedAt: '2026-11-20T00:00:00.000Z' } })
})

test('other facts of the person are still sent', () => {
  const known = next(ada, 'absent')

  const { change } = decide(
    known,
    observation('ada', { statesDeparture: true, fields: { jobTitle: 'Lead' } }),
    nightly({ asOf: '2026-11-21T01:00:00.000Z' }),
  )

  expect(change).toMatchObject({ kind: 'update', fields: { jobTitle: { to: 'Lead' } } })
})
