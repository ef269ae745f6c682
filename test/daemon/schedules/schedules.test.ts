import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { byIdentityId } from '../../../src/contract/platform/hris-user-identities.ts'
import { scheduleTasks } from '../../../src/daemon/schedules/scheduled-runs.ts'
import {
  type ConnectionSchedule,
  createSchedules,
  latestSlot,
  nextSlotAt,
  type Schedule,
  slotsWithin,
} from '../../../src/daemon/schedules/schedules.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { refuse } from '../../helpers/servers/refuse.ts'
import { type Host, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

const berlin = (cron: string) => ({ cron, timeZone: 'Europe/Berlin' })

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const nightly: ConnectionSchedule = { connection: 'acme', purpose: 'read', schedule: berlin('30 2 * * *') }
const weekly: ConnectionSchedule = { connection: 'acme', purpose: 'verify', schedule: berlin('0 4 * * 0') }

/** A store with schedules, on which a daemon can be started repeatedly. */
async function openNights(...scheduled: readonly ConnectionSchedule[]) {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  const missed: string[] = []
  const schedules = scheduled.length === 0 ? [nightly] : scheduled
  return {
    world,
    client,
    missed,
    startDaemon: () =>
      createSchedules(schedules, {
        ...scheduleTasks(world.sync),
        missed: ({ slot }) => missed.push(slot),
      }),
    at: (instant: string) => {
      world.clock.now = new Date(instant)
    },
    runs: async () => {
      await world.drain()
      return await listRuns(world.sync.store.db, { limit: 100 })
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

describe('the slot that is due', () => {
  const cases = [
    [
      'is due in the moment that it names',
      '0 2 * * *',
      '2026-11-20T01:00:00.000Z',
      '2026-11-20T02:00',
      '2026-11-20T01:00:00.000Z',
    ],
    [
      'is that of the day before until then',
      '0 2 * * *',
      '2026-11-20T00:59:59.999Z',
      '2026-11-19T02:00',
      '2026-11-19T01:00:00.000Z',
    ],
    [
      'runs after the gap where its hour does not exist',
      '30 2 * * *',
      '2026-03-29T12:00:00.000Z',
      '2026-03-29T03:00',
      '2026-03-29T01:00:00.000Z',
    ],
    [
      'runs in the first of two equal hours',
      '30 2 * * *',
      '2026-10-25T12:00:00.000Z',
      '2026-10-25T02:30',
      '2026-10-25T00:30:00.000Z',
    ],
    [
      'stays the same one in the second of two equal hours',
      '30 2 * * *',
      '2026-10-25T01:31:00.000Z',
      '2026-10-25T02:30',
      '2026-10-25T00:30:00.000Z',
    ],
    [
      'runs after the gap in a list of hours too',
      '30 1,2 * * *',
      '2026-03-29T12:00:00.000Z',
      '2026-03-29T03:00',
      '2026-03-29T01:00:00.000Z',
    ],
    [
      'tells the two equal hours apart where both run',
      '0 * * * *',
      '2026-10-25T00:10:00.000Z',
      '2026-10-25T02:00+02:00',
      '2026-10-25T00:00:00.000Z',
    ],
    [
      'tells the second hour by its offset',
      '0 * * * *',
      '2026-10-25T01:10:00.000Z',
      '2026-10-25T02:00+01:00',
      '2026-10-25T01:00:00.000Z',
    ],
  ] as const

  test.each(cases)('%s', (_what, cron, now, name, at) => {
    const slot = latestSlot(berlin(cron), new Date(now))

    expect(slot).toMatchObject({ name, at: new Date(at) })
  })

  test('does not exist if the schedule never occurs', () => {
    const never = berlin('0 0 30 2 *')

    const slots = [
      latestSlot(never, new Date('2026-11-20T00:00:00Z')),
      nextSlotAt(never, new Date('2026-11-20T00:00:00Z')),
    ]

    expect(slots).toEqual([null, null])
  })
})

describe('a nightly schedule', () => {
  test('requests one run a night, however often it is checked', async () => {
    await using nights = await openNights()
    const tick = nights.startDaemon()
    nights.at('2026-11-19T12:00:00Z')
    await tick()
    const before = await nights.runs()

    for (const minute of ['01:29', '01:30', '01:31', '05:00', '20:00']) {
      nights.at(`2026-11-20T${minute}:00Z`)
      await tick()
    }

    expect([before.length, (await nights.runs()).length]).toEqual([0, 1])
    expect(nights.missed).toEqual([])
  })

  test.each([
    ['skips an hour', '2026-03-28T12:00:00Z', '2026-03-29', 1],
    ['repeats an hour', '2026-10-24T12:00:00Z', '2026-10-25', 1],
  ])('runs once in the night in which the clock %s', async (_what, before, night, expected) => {
    await using nights = await openNights()
    const tick = nights.startDaemon()
    nights.at(before)
    await tick()

    for (let minute = 0; minute < 24 * 60; minute += 10) {
      nights.at(new Date(Date.parse(`${night}T00:00:00Z`) + minute * 60_000).toISOString())
      await tick()
    }

    expect(await nights.runs()).toHaveLength(expected)
  })

  test('that was missed while nobody ran is caught up at start, once for all missed nights', async () => {
    await using nights = await openNights()
    nights.at('2026-11-19T12:00:00Z')
    await nights.startDaemon()()

    nights.at('2026-11-24T09:00:00Z')
    await nights.startDaemon()()
    await nights.startDaemon()()

    expect(await nights.runs()).toHaveLength(1)
    expect(nights.missed).toEqual(['2026-11-24T02:30'])
  })

  test('is claimed by only one of several daemons', async () => {
    await using nights = await openNights()
    nights.at('2026-11-19T12:00:00Z')
    const daemons = [nights.startDaemon(), nights.startDaemon(), nights.startDaemon()]
    for (const tick of daemons) await tick()

    nights.at('2026-11-20T01:30:00Z')
    await Promise.all(daemons.map((tick) => tick()))

    expect(await nights.runs()).toHaveLength(1)
  })

  test('runs nothing for the nights before it was first seen', async () => {
    await using nights = await openNights()
    nights.at('2026-11-20T12:00:00Z')

    await nights.startDaemon()()

    expect(await nights.runs()).toHaveLength(0)
    expect(nights.missed).toEqual([])
  })

  test('does not go back in time with the clock', async () => {
    await using nights = await openNights()
    nights.at('2026-11-19T12:00:00Z')
    await nights.startDaemon()()
    nights.at('2026-11-20T01:30:00Z')
    await nights.startDaemon()()

    nights.at('2026-11-20T01:20:00Z')
    await nights.startDaemon()()
    nights.at('2026-11-20T01:40:00Z')
    await nights.startDaemon()()

    expect(await nights.runs()).toHaveLength(1)
  })
})

describe('a connection with a schedule for reading and one for reading back', () => {
  test('reads every night, and once a week what the platform holds', async () => {
    await using nights = await openNights(nightly, weekly)
    const tick = nights.startDaemon()
    nights.at('2026-11-19T12:00:00Z')
    await tick()
    const days = ['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23']

    for (const day of days) {
      for (const time of ['01:30', '03:00', '12:00']) {
        nights.at(`${day}T${time}:00Z`)
        await tick()
        await nights.runs()
      }
    }

    const runs = await nights.runs()
    expect(runs.filter(({ feed }) => feed === 'source')).toHaveLength(4)
    expect(runs.filter(({ feed }) => feed === 'roster')).toMatchObject([
      { trigger: 'schedule', options: { verify: true }, createdAt: '2026-11-22T03:00:00.000Z' },
    ])
    expect(nights.missed).toEqual([])
  })

  test('repairs with the second what the platform has lost, although HR has nothing new', async () => {
    await using nights = await openNights(weekly)
    const { world, client } = nights
    await world.night(staff(3))
    const [connection] = await connectionStates(world.sync.store.db)
    const tick = nights.startDaemon()
    await tick()
    const connectionId = connection?.targetId ?? 0
    await client.deleteHrisUserIdentity({ params: { connectionId, userIdentityId: byIdentityId('E0002') } })
    world.setExport([])

    nights.at('2026-11-22T04:00:00Z')
    await tick()

    const [run] = await nights.runs()
    expect(run).toMatchObject({
      feed: 'roster',
      state: 'finished',
      verification: { listed: 2, lost: 1, changed: 0, foreign: 0, people: { lost: ['E0002'] } },
    })
    expect([...(await peopleOn(client)).keys()].sort()).toEqual(['E0001', 'E0002', 'E0003'])
  })

  test('starts both if they are due at the same time', async () => {
    const both = berlin('0 4 * * 0')
    await using nights = await openNights({ ...nightly, schedule: both }, { ...weekly, schedule: both })
    nights.at('2026-11-19T12:00:00Z')
    await nights.startDaemon()()

    nights.at('2026-11-22T03:00:00Z')
    await nights.startDaemon()()

    const runs = await nights.runs()
    expect(runs.map(({ feed }) => feed).sort()).toEqual(['roster', 'source'])
  })

  test('continues if the slot of another connection cannot be claimed, and that slot stays due', async () => {
    await using nights = await openNights()
    const { db } = nights.world.sync.store
    const failed: unknown[] = []
    const takeDueSlots = createSchedules([nightly, { ...nightly, connection: 'beta' }], {
      ...scheduleTasks(nights.world.sync),
      failed: (error) => failed.push(error),
    })
    nights.at('2026-11-19T12:00:00Z')
    await takeDueSlots()
    nights.at('2026-11-20T12:00:00Z')
    await refuse(db, 'insert on slots', sql`new.connection = 'acme'`)

    await takeDueSlots()
    const first = await listRuns(db, { limit: 10 })
    await sql`drop trigger refused on slots`.execute(db)
    await takeDueSlots()

    expect(failed).toMatchObject([{ message: 'refused' }])
    expect(first.map(({ connection }) => connection)).toEqual(['beta'])
    expect((await listRuns(db, { limit: 10 })).map(({ connection }) => connection).sort()).toEqual(['acme', 'beta'])
  })

  test('does not confuse the history of one with that of the other', async () => {
    await using nights = await openNights(nightly, weekly)
    nights.at('2026-11-19T12:00:00Z')
    await createSchedules([nightly], scheduleTasks(nights.world.sync))()

    nights.at('2026-11-22T12:00:00Z')
    await nights.startDaemon()()

    const runs = await nights.runs()
    expect(runs.map(({ feed }) => feed)).toEqual(['source'])
    expect(nights.missed).toEqual(['2026-11-22T02:30'])
  })

  test('says which of them a missed slot belongs to', async () => {
    await using nights = await openNights(nightly, weekly)
    nights.at('2026-11-19T12:00:00Z')
    await createSchedules([weekly], scheduleTasks(nights.world.sync))()

    nights.at('2026-11-22T12:00:00Z')
    await createSchedules([weekly], scheduleTasks(nights.world.sync))()

    expect(nights.world.events).toContainEqual(
      expect.objectContaining({ event: 'schedule.missed', connection: 'acme', slot: 'verify 2026-11-22T04:00' }),
    )
  })
})

test('the slots within a period are those that begin one after the other', () => {
  const period = { from: new Date('2026-10-19T05:00:00Z'), to: new Date('2026-10-27T06:00:00Z'), max: 200 }
  const schedules: readonly Schedule[] = [
    berlin('0 2 * * *'),
    berlin('0 8 * * 1-5'),
    berlin('0 * * * *'),
    { ...berlin('0 2 * * *'), jitter: { minutes: 90, of: 'acme' } },
    { ...berlin('0 * * * *'), blackouts: [{ from: '22:00', to: '08:30', timeZone: 'UTC' }] },
  ]
  const within = slotsWithin(period)
  const oneByOne = (schedule: Schedule) => {
    const slots: Date[] = []
    let next = nextSlotAt(schedule, new Date(period.from.getTime() - 1))
    while (next !== null && next < period.to) {
      slots.push(next)
      next = nextSlotAt(schedule, next)
    }
    return slots
  }

  for (const schedule of schedules) expect(within(schedule)).toEqual(oneByOne(schedule))
  expect(within(berlin('*/30 * * * *'))).toBeNull()
})
