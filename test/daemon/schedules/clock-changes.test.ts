import { describe, expect, test } from 'vitest'
import { createSchedules, latestSlot, nextSlotAt, type Schedule } from '../../../src/daemon/schedules/schedules.ts'

const minuteMs = 60_000
const stepMs = 15 * minuteMs
const dayMs = 24 * 60 * minuteMs

/** The slots that a daemon starts, and when, if it checks every quarter hour from the day before a night to the day after it. */
async function startedAround(night: string, schedule: Schedule): Promise<string[]> {
  const taken = new Set<string>()
  const started: string[] = []
  const clock = { nowMs: Date.parse(`${night}T00:00:00Z`) - dayMs }
  const endMs = clock.nowMs + 3 * dayMs
  const takeDue = createSchedules([{ connection: 'acme', purpose: 'read', schedule }], {
    now: () => new Date(clock.nowMs),
    hasHistory: async () => taken.size > 0,
    pass: async ({ slot }) => {
      taken.add(slot)
    },
    take: async ({ slot }) => {
      if (taken.has(slot)) return 'taken before'
      taken.add(slot)
      started.push(`${slot} at ${new Date(clock.nowMs).toISOString().slice(5, 16)}Z`)
      return 'taken'
    },
    missed: ({ slot }) => started.push(`${slot} was missed`),
    failed: (error) => {
      throw error
    },
  })
  for (; clock.nowMs < endMs; clock.nowMs += stepMs) await takeDue()
  return started
}

const berlin = { timeZone: 'Europe/Berlin', spring: '2026-03-29', autumn: '2026-10-25' }
const newYork = { timeZone: 'America/New_York', spring: '2026-03-08', autumn: '2026-11-01' }
// Lord Howe: its clock changes by half an hour, and in the southern seasons.
const lordHowe = { timeZone: 'Australia/Lord_Howe', spring: '2026-10-04', autumn: '2026-04-05' }

describe('a nightly run begins once a night', () => {
  test.each([
    ['Berlin skips its hour', berlin, 'spring', '30 2 * * *', '03-29T03:00 at 03-29T01:00Z'],
    ['Berlin repeats its hour', berlin, 'autumn', '30 2 * * *', '10-25T02:30 at 10-25T00:30Z'],
    ['New York skips its hour', newYork, 'spring', '30 2 * * *', '03-08T03:00 at 03-08T07:00Z'],
    ['New York repeats its hour', newYork, 'autumn', '30 1 * * *', '11-01T01:30 at 11-01T05:30Z'],
    ['Lord Howe skips its half hour', lordHowe, 'spring', '15 2 * * *', '10-04T02:30 at 10-03T15:30Z'],
    ['Lord Howe repeats its half hour', lordHowe, 'autumn', '45 1 * * *', '04-05T01:45 at 04-04T14:45Z'],
  ] as const)('where %s', async (_what, zone, change, cron, expected) => {
    const started = await startedAround(zone[change], { cron, timeZone: zone.timeZone })

    expect(started).toHaveLength(3)
    expect(started.map((line) => line.slice(5))).toContain(expected)
  })
})

describe('a nightly run begins at the end of a blackout that the clock moves', () => {
  const cases = [
    ['Berlin skips both of its ends', berlin, 'spring', '30 2 * * *', '02:15', '02:45', '03-29T03:00 at 03-29T01:45Z'],
    ['Berlin repeats its end', berlin, 'autumn', '45 1 * * *', '01:30', '02:15', '10-25T01:45 at 10-25T01:15Z'],
    ['New York skips its start', newYork, 'spring', '30 2 * * *', '02:15', '03:30', '03-08T03:00 at 03-08T07:30Z'],
    ['New York repeats all of it', newYork, 'autumn', '30 1 * * *', '01:15', '01:45', '11-01T01:30 at 11-01T06:45Z'],
    ['Lord Howe skips its end', lordHowe, 'spring', '15 2 * * *', '01:00', '02:15', '10-04T02:30 at 10-03T15:45Z'],
    ['Lord Howe repeats all of it', lordHowe, 'autumn', '45 1 * * *', '01:30', '02:00', '04-05T01:45 at 04-04T15:30Z'],
  ] as const

  test.each(cases)('where %s', async (_what, zone, change, cron, from, to, expected) => {
    const blackouts = [{ from, to, timeZone: zone.timeZone }]

    const started = await startedAround(zone[change], { cron, timeZone: zone.timeZone, blackouts })

    expect(started.map((line) => line.slice(5))).toContain(expected)
    expect(started.filter((line) => line.includes('missed'))).toEqual([])
  })
})

const nightly = { cron: '0 2 * * *', timeZone: 'Europe/Berlin' }

describe('a blackout', () => {
  test.each([
    ['of a night lets a run begin at its end', [{ from: '01:00', to: '04:30' }], '2026-11-20T03:30:00.000Z'],
    ['that goes over midnight counts on the next day', [{ from: '22:00', to: '05:00' }], '2026-11-20T04:00:00.000Z'],
    ['of other days holds nothing up', [{ from: '01:00', to: '04:00', days: ['sat'] }], '2026-11-20T01:00:00.000Z'],
    [
      'that begins on the day before holds up by that day',
      [{ from: '22:00', to: '05:00', days: ['thu'] }],
      '2026-11-20T04:00:00.000Z',
    ],
    [
      'that another one follows lets it begin when both are over',
      [
        { from: '01:00', to: '03:00' },
        { from: '03:00', to: '06:00' },
      ],
      '2026-11-20T05:00:00.000Z',
    ],
    [
      'between two dates holds up once',
      [{ from: '2026-11-19T18:00', to: '2026-11-23T08:00' }],
      '2026-11-23T07:00:00.000Z',
    ],
    [
      'in a zone of its own is read there',
      [{ from: '20:00', to: '21:00', timeZone: 'America/New_York' }],
      '2026-11-20T02:00:00.000Z',
    ],
  ] as const)('%s', (_what, windows, expected) => {
    const blackouts = windows.map((window) => ({ timeZone: 'Europe/Berlin', ...window }))

    const next = nextSlotAt({ ...nightly, blackouts }, new Date('2026-11-20T00:30:00Z'))

    expect(next?.toISOString()).toBe(expected)
  })

  test('that is not over yet leaves the night before as the newest due time', () => {
    const blackouts = [{ from: '01:00', to: '04:00', timeZone: 'Europe/Berlin' }]

    const during = latestSlot({ ...nightly, blackouts }, new Date('2026-11-20T02:59:59Z'))
    const after = latestSlot({ ...nightly, blackouts }, new Date('2026-11-20T03:00:00Z'))

    expect([during?.name, after?.name]).toEqual(['2026-11-19T02:00', '2026-11-20T02:00'])
  })

  test('of several hours lets a run of every quarter hour begin once at its end', async () => {
    const blackouts = [{ from: '00:00', to: '22:00', timeZone: 'UTC' }]

    const started = await startedAround('2026-11-20', { cron: '*/15 * * * *', timeZone: 'UTC', blackouts })

    expect(started.filter((line) => line.includes(' at 11-20'))).toEqual([
      '2026-11-20T22:00+00:00 at 11-20T22:00Z',
      ...['15', '30', '45'].map((minute) => `2026-11-20T22:${minute}+00:00 at 11-20T22:${minute}Z`),
      ...['00', '15', '30', '45'].map((minute) => `2026-11-20T23:${minute}+00:00 at 11-20T23:${minute}Z`),
    ])
  })
})

describe('jitter', () => {
  const spread = (of: string) => ({ ...nightly, jitter: { minutes: 60, of } })
  const names = Array.from({ length: 200 }, (_, i) => `connection-${i}`)
  const before = new Date('2026-11-19T12:00:00Z')

  test('spreads equal schedules over its minutes, and the same schedule over its nights', () => {
    const starts = names.map((name) => nextSlotAt(spread(name), before)?.getTime() ?? 0)
    const otherNights = names.map((name) => nextSlotAt(spread(name), new Date('2026-11-21T12:00:00Z'))?.getTime() ?? 0)

    const quarters = starts.map((at) => Math.floor((at - Date.parse('2026-11-20T01:00:00Z')) / stepMs))
    expect(new Set(quarters)).toEqual(new Set([0, 1, 2, 3]))
    expect(starts.some((at, i) => otherNights[i] !== at + 2 * dayMs)).toBe(true)
  })

  test('is the same in each process, and makes a slot due at that time and not before', () => {
    const startsAt = nextSlotAt(spread('acme'), before) ?? before

    const slots = [-1, 0].map((ms) => latestSlot(spread('acme'), new Date(startsAt.getTime() + ms))?.name)

    expect(startsAt.toISOString()).toBe('2026-11-20T01:35:56.000Z')
    expect(slots).toEqual(['2026-11-19T02:00', '2026-11-20T02:00'])
  })
})
