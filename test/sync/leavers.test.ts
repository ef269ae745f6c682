import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conditions } from '../../src/store/alerts/conditions.ts'
import { listLeavers } from '../../src/store/leavers/list.ts'
import { approveRun, cancelRun, rejectRun, requestDueRuns, retractPerson } from '../../src/sync/sync.ts'
import { heldRun, later, receive, terminated, updated, webhookFeed } from '../helpers/events.ts'
import { createPgliteDatabase } from '../helpers/servers/databases.ts'
import { isFull } from '../helpers/tier.ts'
import { between, change, type Host, openWorld, staff, startHost, type World, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open(options: Partial<Parameters<typeof openWorld>[0]> = {}) {
  const { client } = await host.tenant()
  return await openWorld({ client, feed: { timeZone: 'Europe/Berlin' }, webhook: webhookFeed(), ...options })
}

/** The clocks of one person, the newest first. */
async function clocks(world: World, identityId: string) {
  return await listLeavers(world.sync.store.db, { connections: ['acme'], identityId, now: world.clock.now })
}

async function tick(world: World, instant: string): Promise<void> {
  world.clock.now = new Date(instant)
  await requestDueRuns(world.sync)
  await world.drain()
}

const people = staff(20)
const leaves = (id: string, leavingDate = '2026-11-19') => change(people, { id, leavingDate: leavingDate })
const nearlyAll = without(people, ...people.slice(0, 8).map(({ id }) => id))

describe('the clock of a leaver', () => {
  test('shows the day in the zone of the source, and when it was stated, seen, sent and acknowledged', async () => {
    await using world = await open(isFull ? { at: (await createPgliteDatabase()).at } : {})
    await world.night(people)

    const run = await world.night(leaves('E0003'), { asOf: '2026-11-20T02:30:00.000Z' })

    expect(await clocks(world, 'E0003')).toMatchObject([
      {
        state: 'acknowledged',
        runId: run.id,
        effectiveOn: '2026-11-19',
        effectiveAt: '2026-11-19T23:00:00.000Z',
        inferred: false,
        joinedLeft: false,
        statedAt: '2026-11-20T02:30:00.000Z',
        firstSeenAt: '2026-11-20T03:02:00.000Z',
        acceptedAt: '2026-11-20T03:02:00.000Z',
        sentAt: '2026-11-20T03:02:00.000Z',
        acknowledgedAt: '2026-11-20T03:02:00.000Z',
        visibleAt: null,
        formerDates: [],
      },
    ])
    expect(await clocks(world, 'E0004')).toEqual([])
  })

  test('starts with the first plan, even if that is held, rejected and made again', async () => {
    await using world = await open()
    await world.night(people)

    const held = await world.night(nearlyAll, { asOf: '2026-11-21T01:00:00.000Z' })
    const [whileHeld] = await clocks(world, 'E0003')
    await rejectRun(world.sync, { runId: held.id, by: 'ana' })
    const [dropped] = await clocks(world, 'E0003')
    const again = await world.night(nearlyAll, { asOf: '2026-11-22T01:00:00.000Z' })
    await approveRun(world.sync, { runId: again.id, digest: again.digest ?? '', by: 'ana' })
    await world.drain()

    expect(whileHeld).toMatchObject({ state: 'held', inferred: true, acceptedAt: null })
    expect(dropped).toMatchObject({ state: 'dropped', runId: held.id })
    const [now] = await clocks(world, 'E0003')
    expect(now).toMatchObject({ state: 'acknowledged', runId: again.id, effectiveOn: '2026-11-22' })
    expect(now?.firstSeenAt).toBe(whileHeld?.firstSeenAt)
    expect(now?.formerDates).toMatchObject([{ on: '2026-11-21', inferred: true }])
  })

  test('ends unsent if the plans that stated it were dropped, and the next export has the person', {
    tags: ['full'],
  }, async () => {
    await using world = await open()
    await world.night(people)
    const held = await world.night(nearlyAll, { asOf: '2026-11-21T01:00:00.000Z' })
    await rejectRun(world.sync, { runId: held.id, by: 'ana' })

    await world.night(people, { asOf: '2026-11-22T01:00:00.000Z' })

    expect(await clocks(world, 'E0003')).toMatchObject([{ state: 'withdrawn', sentAt: null }])
  })

  test('keeps previous dates, also of a departure that the platform has', { tags: ['full'] }, async () => {
    await using world = await open()
    await world.night(people)
    await world.night(leaves('E0003', '2026-11-17'), { asOf: '2026-11-20T02:00:00.000Z' })

    await world.night(leaves('E0003', '2026-11-18'), { asOf: '2026-11-20T02:30:00.000Z' })

    const [clock, ...others] = await clocks(world, 'E0003')
    expect(others).toEqual([])
    expect(clock).toMatchObject({
      effectiveOn: '2026-11-18',
      effectiveAt: '2026-11-18T23:00:00.000Z',
      acknowledgedAt: '2026-11-20T03:02:00.000Z',
      formerDates: [{ on: '2026-11-17', inferred: false, until: '2026-11-20T03:03:00.000Z' }],
    })
  })

  test('waits for its day, is sent then, and ends if HR withdraws the date before', async () => {
    await using world = await open()
    const ahead = change(people, { id: 'E0003', leavingDate: '2026-11-23' }, { id: 'E0004', leavingDate: '2026-11-23' })
    await world.night(ahead)
    const [waiting] = await clocks(world, 'E0003')

    await world.night(change(people, { id: 'E0003', leavingDate: '2026-11-23' }), { asOf: '2026-11-20T02:00:00.000Z' })
    await tick(world, '2026-11-22T23:00:00.000Z')

    expect(waiting).toMatchObject({ state: 'waiting', firstSeenAt: '2026-11-20T03:01:00.000Z', sentAt: null })
    expect(await clocks(world, 'E0003')).toMatchObject([
      {
        state: 'acknowledged',
        effectiveAt: '2026-11-23T23:00:00.000Z',
        firstSeenAt: '2026-11-20T03:01:00.000Z',
        sentAt: '2026-11-22T23:00:00.000Z',
      },
    ])
    expect(await clocks(world, 'E0004')).toMatchObject([{ state: 'withdrawn' }])
  })

  test('begins with the arrival of the event that states it', async () => {
    await using world = await open()
    await world.night(people)
    await receive(world, terminated('E0003', '2026-11-20', '2026-11-20T02:55:00.000Z'))

    await later(world, 40)

    expect(await clocks(world, 'E0003')).toMatchObject([
      {
        statedAt: '2026-11-20T02:55:00.000Z',
        firstSeenAt: '2026-11-20T03:01:00.000Z',
        acknowledgedAt: '2026-11-20T03:01:40.000Z',
      },
    ])
  })

  test('runs for people of events that a guard holds', { tags: ['full'] }, async () => {
    await using world = await open()
    await world.night(people)
    await receive(
      world,
      ...people.slice(0, 8).map((person) => terminated(person.id, '2026-11-20', '2026-11-20T02:55:00.000Z')),
    )

    await later(world, 40)

    const { id } = await heldRun(world)
    expect(await clocks(world, 'E0008')).toMatchObject([{ state: 'held', runId: id }])
  })

  test('continues behind a held plan while other facts about the person are accepted, and ends with a later statement of HR', async () => {
    await using world = await open()
    await world.night(people)
    await world.night(nearlyAll, { asOf: '2026-11-20T02:30:00.000Z' })
    const [begun] = await clocks(world, 'E0003')

    await receive(world, updated('E0003', 'Boss', '2026-11-20T02:40:00.000Z'))
    await later(world, 40)
    const [afterTitle] = await clocks(world, 'E0003')
    await receive(world, { ...updated('E0003', 'Boss', '2026-11-20T02:50:00.000Z'), type: 'hired' })
    await later(world, 40)

    expect(begun).toMatchObject({ state: 'held' })
    expect(afterTitle).toEqual(begun)
    expect(await clocks(world, 'E0003')).toMatchObject([{ state: 'withdrawn' }])
    expect(await clocks(world, 'E0004')).toMatchObject([{ state: 'held' }])
  })

  test('continues behind held events while an older export is accepted', { tags: ['full'] }, async () => {
    await using world = await open()
    await world.night(people)
    const leaving = people.slice(0, 8).map(({ id }) => terminated(id, '2026-11-20', '2026-11-20T02:55:00.000Z'))
    await receive(world, ...leaving)
    await later(world, 40)

    const run = await world.night(change(people, { id: 'E0003', title: 'Boss' }), { asOf: '2026-11-20T02:00:00.000Z' })

    expect(run).toMatchObject({ state: 'finished', counts: { update: 1 } })
    expect(await clocks(world, 'E0003')).toMatchObject([{ state: 'held' }])
    expect(await clocks(world, 'E0004')).toMatchObject([{ state: 'held' }])
  })

  test('starts again if a person returns and leaves again', { tags: ['full'] }, async () => {
    await using world = await open()
    await world.night(people)
    await world.night(leaves('E0003', '2026-11-17'), { asOf: '2026-11-20T02:00:00.000Z' })

    await world.night(people, { asOf: '2026-11-20T02:10:00.000Z' })
    await world.night(leaves('E0003', '2026-11-19'), { asOf: '2026-11-20T02:20:00.000Z' })

    expect(await clocks(world, 'E0003')).toMatchObject([
      { state: 'acknowledged', effectiveOn: '2026-11-19' },
      { state: 'returned', effectiveOn: '2026-11-17', endedAt: '2026-11-20T03:03:00.000Z' },
    ])
  })

  test('starts again if the leaving day of a leaver moves to a later day', { tags: ['full'] }, async () => {
    await using world = await open()
    await world.night(people)
    await world.night(leaves('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })

    await world.night(leaves('E0003', '2026-11-25'), { asOf: '2026-11-20T02:30:00.000Z' })
    const before = await clocks(world, 'E0003')
    await tick(world, '2026-11-25T23:00:00.000Z')
    const after = await clocks(world, 'E0003')

    expect(before).toMatchObject([
      { effectiveOn: '2026-11-25', sentAt: null, acknowledgedAt: null, endedAt: null, formerDates: [] },
      { effectiveOn: '2026-11-19', acknowledgedAt: expect.any(String), state: 'returned' },
    ])
    expect(after).toMatchObject([
      { state: 'acknowledged', effectiveOn: '2026-11-25', acknowledgedAt: '2026-11-25T23:00:00.000Z' },
      { state: 'returned' },
    ])
  })

  test('shows that a person had left before HR stated them, and ends with their retraction', {
    tags: ['full'],
  }, async () => {
    await using world = await open()
    await world.night(change(people, { id: 'E0003', leavingDate: '2024-06-30' }))
    const [joined] = await clocks(world, 'E0003')

    const { id, digest } = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'E0003',
      reason: 'sent in error',
      by: 'ana',
    })
    await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ana' })
    await world.drain()

    expect(joined).toMatchObject({ state: 'acknowledged', joinedLeft: true })
    expect(await clocks(world, 'E0003')).toMatchObject([{ state: 'retracted' }])
  })

  test('is not stopped by a refusal, and stops when the platform takes a wave as a whole', {
    tags: ['full'],
  }, async () => {
    await using world = await open({
      connection: { delivery: { batchSize: 1000, batchBytes: 1_000_000, updateWave: 1 } },
    })
    await world.night(people)
    let refuses = true
    between(world, (client) => ({
      async updateHrisUserIdentity(input, options) {
        if (!refuses) return await client.updateHrisUserIdentity(input, options)
        const error = { statusCode: 400, message: 'no', code: 1, name: 'BadRequest' }
        return { status: 400, error, headers: {} }
      },
    }))

    await world.night(leaves('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })
    const [refused] = await clocks(world, 'E0003')
    refuses = false
    await world.night(change(leaves('E0003'), { id: 'E0004', leavingDate: '2026-11-19' }), {
      asOf: '2026-11-20T02:10:00.000Z',
    })

    expect(refused).toMatchObject({ state: 'sending', sentAt: '2026-11-20T03:02:00.000Z', acknowledgedAt: null })
    expect(await clocks(world, 'E0003')).toMatchObject([
      {
        state: 'acknowledged',
        firstSeenAt: '2026-11-20T03:02:00.000Z',
        sentAt: '2026-11-20T03:02:00.000Z',
        acknowledgedAt: '2026-11-20T03:03:00.000Z',
      },
    ])
    expect(await clocks(world, 'E0004')).toMatchObject([{ state: 'acknowledged' }])
  })

  test('stops when a look-up shows that the platform has it, even if the run that sent it was cancelled', {
    tags: ['full'],
  }, async () => {
    await using world = await open()
    await world.night(people)
    between(world, (client) => ({
      async updateHrisUserIdentity(input, options) {
        await client.updateHrisUserIdentity(input, options)
        return { status: 'unreachable', reason: 'timeout', message: 'no answer', sent: true }
      },
    }))
    const { id } = await world.night(leaves('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })
    await cancelRun(world.sync, { runId: id, by: 'ana' })
    const [unknown] = await clocks(world, 'E0003')

    await world.night(leaves('E0003'), { asOf: '2026-11-20T02:10:00.000Z' })

    expect(unknown).toMatchObject({ state: 'sending', acknowledgedAt: null })
    expect(await clocks(world, 'E0003')).toMatchObject([
      { state: 'acknowledged', acknowledgedAt: '2026-11-20T03:03:00.000Z' },
    ])
  })

  test('raises an alert while a departure is late, also behind a hold, until it is acknowledged or rejected', async () => {
    await using world = await open()
    const late = async (instant: string) => {
      world.clock.now = new Date(instant)
      const settings = {
        connections: ['acme'],
        overdueMinutes: 60,
        pausedHours: 24,
        maxLeaverHours: new Map([['acme', 24]]),
      }
      const current = await conditions(world.sync.store.db, { ...settings, freshness: [], now: world.clock.now })
      return current.filter(({ kind }) => kind === 'leaver_late')
    }
    await world.night(people)
    const held = await world.night(nearlyAll, { asOf: '2026-11-20T02:00:00.000Z' })

    const within = await late('2026-11-21T22:59:59.000Z')
    const over = await late('2026-11-21T23:00:00.000Z')
    await rejectRun(world.sync, { runId: held.id, by: 'ana' })
    const rejected = await late('2026-11-21T23:01:00.000Z')
    const again = await world.night(nearlyAll, { asOf: '2026-11-21T01:00:00.000Z' })
    const seenAgain = await late('2026-11-24T20:00:00.000Z')
    await approveRun(world.sync, { runId: again.id, digest: again.digest ?? '', by: 'ana' })
    await world.drain()
    const acknowledged = await late('2026-11-24T20:01:00.000Z')

    expect([within, rejected, acknowledged]).toEqual([[], [], []])
    expect(over).toMatchObject([
      {
        runId: held.id,
        people: 8,
        reason: '8 people left, and the platform has not acknowledged it within 24 hours',
        since: new Date('2026-11-21T23:00:00.000Z'),
      },
    ])
    expect(seenAgain).toMatchObject([{ runId: again.id, people: 8 }])
  })
})
