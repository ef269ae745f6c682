import { describe, expect, test } from 'vitest'
import { conditionSettings, freshnessOf, type MonitoredSource } from '../../../src/daemon/alerts/freshness.ts'

const schedule = (cron: string, timeZone = 'UTC') => ({ cron, timeZone })

function source(values: Partial<MonitoredSource> = {}): MonitoredSource {
  return { connection: 'acme', mode: 'snapshot', isFile: true, schedule: schedule('0 2 * * *'), ...values }
}

/** The time since when the source must have been read, in UTC to the minute. */
function readSince(values: Partial<MonitoredSource>, now: string): string | null {
  const freshness = freshnessOf(source(values), null, new Date(`${now}Z`))
  return freshness?.readSince.toISOString().slice(0, 16) ?? null
}

// 2026-11-20 is a Friday.
test.each([
  ['a nightly source', '0 2 * * *', '2026-11-20T13:59', '2026-11-19T02:00'],
  ['a nightly source, half a day after its slot', '0 2 * * *', '2026-11-20T14:00', '2026-11-20T02:00'],
  ['one of weekdays, on the weekend', '0 2 * * 1-5', '2026-11-22T12:00', '2026-11-20T02:00'],
  ['one of weekdays, on Monday morning', '0 2 * * 1-5', '2026-11-23T09:00', '2026-11-20T02:00'],
  ['one of weekdays, on Monday afternoon', '0 2 * * 1-5', '2026-11-23T14:00', '2026-11-23T02:00'],
  ['one of every five minutes', '*/5 * * * *', '2026-11-20T12:02', '2026-11-20T11:00'],
  ['one of every four hours', '0 */4 * * *', '2026-11-20T13:59', '2026-11-20T08:00'],
  ['a monthly one, half a day after its slot', '0 2 1 * *', '2026-11-01T14:00', '2026-11-01T02:00'],
])('%s has to have been read since the newest slot that is long enough ago', (_what, cron, now, expected) => {
  expect(readSince({ schedule: schedule(cron) }, now)).toBe(expected)
})

test('the hours of a schedule are in its time zone, also when the clock changes', () => {
  const berlin = schedule('30 2 * * *', 'Europe/Berlin')

  expect(readSince({ schedule: berlin }, '2026-07-10T12:31')).toBe('2026-07-10T00:30')
  expect(readSince({ schedule: berlin }, '2026-10-25T13:30')).toBe('2026-10-25T00:30')
})

describe('what was read', () => {
  const now = new Date('2026-11-20T14:00:00.000Z')

  test('may be one slot and one day old, because an export may be named by its day', () => {
    const freshness = freshnessOf(source(), null, now)

    expect(freshness?.asOfSince).toEqual(new Date('2026-11-18T02:00:00.000Z'))
    expect(freshness?.acceptsUnchanged).toBe(false)
  })

  test.each([
    ['a delta', { mode: 'delta' }],
    ['a list that is asked for over HTTP', { isFile: false }],
  ] as const)('says nothing by its age if it is %s', (_what, values) => {
    const freshness = freshnessOf(source(values), null, now)

    expect(freshness).toMatchObject({ asOfSince: null, acceptsUnchanged: true })
  })

  test('may be as old as the configuration says, with a schedule or without one', () => {
    const since = new Date('2026-11-19T02:00:00.000Z')

    for (const monitored of [source(), source({ schedule: null })])
      expect(freshnessOf(monitored, 36, now)).toMatchObject({ readSince: since, asOfSince: since })
    expect(freshnessOf(source({ isFile: false }), 36, now)).toMatchObject({ readSince: since, asOfSince: null })
  })

  test('is not judged if nothing says when it is read', () => {
    expect(freshnessOf(source({ schedule: null }), null, now)).toBeNull()
  })
})

test.each([
  ['a week', null, '2026-11-13T12:00:00.000Z'],
  ['a week', 36, '2026-11-13T12:00:00.000Z'],
  ['as long as a source', 240, '2026-11-10T12:00:00.000Z'],
])('an identity system may be silent for %s', (_what, freshHours, requestedSince) => {
  const monitored = { connections: ['acme'], sources: [], scimConnections: ['acme'], maxLeaverHours: new Map() }
  const limits = { overdueMinutes: 60, pausedHours: 24, maxNotEffective: 0, contradictedNights: 3, maxGhosts: 0 }

  const { pushed } = conditionSettings(monitored, { ...limits, freshHours }, new Date('2026-11-20T12:00:00.000Z'))

  expect(pushed).toEqual([{ connection: 'acme', requestedSince: new Date(requestedSince) }])
})
