import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { personOf, rejectsOf } from '../../../src/store/history/history.ts'
import { dismissEvents, listEvents } from '../../../src/store/inbox/review.ts'
import { removeExpired } from '../../../src/store/retention/retain.ts'
import { approveRun, requestDueRuns } from '../../../src/sync/sync.ts'
import {
  type HrEvent,
  heldRun,
  lastRun,
  later,
  receive,
  terminated,
  updated,
  webhookFeed,
} from '../../helpers/events.ts'
import { type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open(webhook = webhookFeed()) {
  const stack = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = stack.use(await openWorld({ client, webhook }))
  const person = async (id: string) => (await peopleOn(client)).get(id)
  await world.night(staff(20))
  return { world, person, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** Moves the clock to an instant, and does what the daemon does every few seconds. */
async function tick(world: World, instant: string): Promise<void> {
  world.clock.now = new Date(instant)
  await requestDueRuns(world.sync)
  await later(world, 6)
}

async function alerts({ sync, clock }: World) {
  const settings = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map(), now: clock.now }
  return await conditions(sync.store.db, { connections: ['acme'], ...settings })
}

function leaves(id: string, at: string, employee: HrEvent['employee'] = {}): HrEvent {
  return { type: 'terminated', at, employee: { id, ...employee } }
}

describe('a departure event dated ahead', () => {
  test('waits for its day, and is sent then without a further event', async () => {
    await using opened = await open()
    const { world, person } = opened
    await receive(world, leaves('E0003', '2026-11-30T12:00:00.000Z'))
    await later(world, 6)
    const known = await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0003' })
    await tick(world, '2026-11-29T23:59:00.000Z')
    const before = await person('E0003')
    await tick(world, '2026-11-30T00:00:00.000Z')

    expect(known?.entry).toMatchObject({ deferredTo: '2026-11-30', desired: { separatedAt: null } })
    expect(before?.separatedAt).toBeNull()
    expect((await person('E0003'))?.separatedAt).toBe('2026-11-30T00:00:00.000Z')
    expect(await listEvents(world.sync.store.db, { connection: 'acme', state: 'rejected' })).toEqual([])
  })

  test('from a clock that is hours ahead separates on its stated day', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, person } = opened
    await receive(world, leaves('E0003', '2026-11-20T09:00:00.000Z'), leaves('E0004', '2026-11-21T01:00:00.000Z'))
    await later(world, 6)
    const today = [await person('E0003'), await person('E0004')]
    await tick(world, '2026-11-21T00:00:00.000Z')

    expect(today.map((one) => one?.separatedAt)).toEqual(['2026-11-20T00:00:00.000Z', null])
    expect((await person('E0004'))?.separatedAt).toBe('2026-11-21T00:00:00.000Z')
  })

  test('with a leaving date uses that date', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, person } = opened
    await receive(world, terminated('E0003', '2026-11-25', '2026-12-01T00:00:00.000Z'))
    await receive(world, terminated('E0004', '2026-11-19', '2026-12-01T00:00:00.000Z'))
    await later(world, 6)
    const before = [await person('E0003'), await person('E0004')]
    await tick(world, '2026-11-25T00:00:00.000Z')

    expect(before.map((one) => one?.separatedAt)).toEqual([null, '2026-11-19T00:00:00.000Z'])
    expect((await person('E0003'))?.separatedAt).toBe('2026-11-25T00:00:00.000Z')
  })

  test('states only what was known at its time, however late it is read', async () => {
    await using opened = await open()
    const { world, person } = opened
    await receive(world, leaves('E0003', '2026-11-21T12:00:00.000Z'))
    world.clock.now = new Date('2026-11-25T03:00:00.000Z')
    await world.night(staff(20), { asOf: '2026-11-25T01:00:00.000Z' })
    await receive(world, { type: 'hired', at: '2026-11-20T12:00:00.000Z', employee: { id: 'E0003' } })
    await later(world, 6)

    expect((await person('E0003'))?.separatedAt).toBeNull()
  })
})

describe('an event that is dated ahead and is not about a departure', () => {
  test('is rejected with its person, and is retried automatically when its time comes', async () => {
    await using opened = await open()
    const { world, person } = opened
    const { db } = world.sync.store
    await receive(world, updated('E0003', 'Head of Payments', '2026-12-24T12:00:00.000Z'))
    await later(world, 6)
    const run = await lastRun(world)
    const rejected = await listEvents(db, { connection: 'acme', state: 'rejected' })
    await tick(world, '2026-12-24T11:50:00.000Z')
    const before = await person('E0003')
    await tick(world, '2026-12-24T12:00:00.000Z')

    expect(await rejectsOf(db, run.id)).toMatchObject([
      { reject: { event: '1', identityId: 'E0003', mayLeave: false } },
    ])
    expect(rejected).toMatchObject([
      { reason: expect.stringMatching(/^item 1: it is dated 2026-12-24T12:00:00\.000Z, .*; it is read again then$/) },
    ])
    expect(before?.jobTitle).toBe('Engineer')
    expect((await person('E0003'))?.jobTitle).toBe('Head of Payments')
    expect(await listEvents(db, { connection: 'acme' })).toMatchObject([{ state: 'settled' }])
  })

  test('is retried once for each of its items, and no other run undoes that meanwhile', async () => {
    await using opened = await open(webhookFeed({ events: '/items' }))
    const { world, person } = opened
    const title = (name: string, at: string) => ({ type: 'updated', at, employee: { id: 'E0003', title: name } })
    const items = [title('Lead', '2026-11-20T02:10:00.000Z'), title('Head', '2026-11-22T00:00:00.000Z')]
    await receive(world, JSON.stringify({ items: [...items, title('Director', '2026-11-24T00:00:00.000Z')] }))
    await later(world, 6)
    const titles = [(await person('E0003'))?.jobTitle]
    for (const day of ['2026-11-21', '2026-11-22', '2026-11-24']) {
      await tick(world, `${day}T00:00:00.000Z`)
      titles.push((await person('E0003'))?.jobTitle)
    }

    expect(titles).toEqual(['Lead', 'Lead', 'Head', 'Director'])
  })

  test('is retried automatically even if another part of it was held and approved', { tags: ['full'] }, async () => {
    await using opened = await open(webhookFeed({ events: '/items' }))
    const { world, person } = opened
    const items = [
      { type: 'purged', at: '2026-11-20T02:10:00.000Z', employee: { id: 'E0004' } },
      updated('E0003', 'Head of Payments', '2026-12-24T12:00:00.000Z'),
    ]
    await receive(world, JSON.stringify({ items }), updated('E0005', 'Lead', '2026-11-20T02:10:00.000Z'))
    await later(world, 6)
    const { id, digest } = await heldRun(world)
    await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
    await world.drain()
    const before = await person('E0003')
    await tick(world, '2026-12-24T12:00:00.000Z')

    expect(await person('E0004')).toBeUndefined()
    expect([before?.jobTitle, (await person('E0003'))?.jobTitle]).toEqual(['Engineer', 'Head of Payments'])
  })

  test('keeps its body until then, and is not retried once an operator dismisses it', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, person } = opened
    const { db } = world.sync.store
    await receive(world, updated('E0003', 'Head', '2027-06-01T00:00:00.000Z'))
    await receive(world, updated('E0004', 'Head', '2027-06-01T00:00:00.000Z'))
    await later(world, 6)
    await dismissEvents(db, { connection: 'acme', ids: ['2'], by: 'ops' })

    await removeExpired(db, { valuesDays: 90, historyDays: 400 }, new Date('2027-05-31T00:00:00.000Z'))
    await tick(world, '2027-06-01T00:00:00.000Z')

    expect((await person('E0003'))?.jobTitle).toBe('Head')
    expect((await person('E0004'))?.jobTitle).toBe('Engineer')
  })
})

describe('a rejected event about leaving', () => {
  test('raises an alert, with or without a readable key', async () => {
    await using opened = await open()
    const { world } = opened
    await receive(world, leaves('E0003', 'yesterday'), leaves('', '2026-11-20T02:10:00.000Z'))
    await receive(world, updated('E0005', 'Lead', 'yesterday'))
    await later(world, 6)

    const rejects = await rejectsOf(world.sync.store.db, (await lastRun(world)).id)
    expect(rejects.map(({ reject }) => [reject.identityId, reject.mayLeave])).toEqual(
      expect.arrayContaining([
        ['E0003', true],
        [null, true],
        ['E0005', false],
      ]),
    )
    expect(await alerts(world)).toMatchObject([{ kind: 'blockedPeople', people: 2 }])
  })

  test('raises an alert if its action is unknown and its cells are about leaving', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const employee = { id: 'E0003', left: '2026-11-19' }
    await receive(world, JSON.stringify({ type: 'offboarded', at: '2026-11-20T02:10:00.000Z', employee }))
    await later(world, 6)

    expect(await alerts(world)).toMatchObject([{ kind: 'blockedPeople', people: 1 }])
  })
})

test('lists all bad items of an event', async () => {
  await using opened = await open(webhookFeed({ events: '/items' }))
  const { world } = opened
  const items = [{ type: 'updated', employee: { id: '' } }, leaves('E0003', 'yesterday')]
  const many = Array.from({ length: 22 }, () => ({ type: 'moved', employee: { id: 'E0004' } }))
  await receive(world, JSON.stringify({ items }))
  await receive(world, JSON.stringify({ items: many }))
  await later(world, 6)

  expect(await listEvents(world.sync.store.db, { connection: 'acme', state: 'rejected' })).toMatchObject([
    { reason: expect.stringMatching(/^item 1: employee\.id: .*; item 2: \/at holds no time/) },
    { reason: expect.stringMatching(/^item 1: .*; item 2: .*; item 20: .*; and 2 more$/) },
  ])
})
