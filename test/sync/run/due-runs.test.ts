import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import { personOf } from '../../../src/store/history/history.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import type { SourceFeed } from '../../../src/sync/context/context.ts'
import { approveRun, previewPart, rejectRun, requestDueRuns, requestRun } from '../../../src/sync/sync.ts'
import { lastRun, later, receive, webhookFeed } from '../../helpers/events.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { refuse } from '../../helpers/servers/refuse.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const berlin: Partial<SourceFeed> = { timeZone: 'Europe/Berlin' }

describe.each(databases)('on $name', ({ createDatabase }) => {
  async function open(feed: Partial<SourceFeed> = berlin, webhook = webhookFeed()) {
    const stack = new AsyncDisposableStack()
    const { at } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(await openWorld({ at, client, feed, webhook }))
    const separatedAt = async (id: string) => (await peopleOn(client)).get(id)?.separatedAt ?? null
    return { world, client, separatedAt, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  /** Moves the clock to an instant, and does what the daemon does every few seconds. */
  async function tick(world: World, instant: string): Promise<void> {
    world.clock.now = new Date(instant)
    await requestDueRuns(world.sync)
    await world.drain()
  }

  function breakSource(world: World): void {
    const connector = world.connection.feeds.source?.connector ?? {}
    Object.assign(connector, { open: () => Promise.reject(new Failure('source_unreadable', 'there is no export')) })
  }

  const leaving = (...ids: readonly string[]) =>
    change(staff(20), ...ids.map((id) => ({ id, leavingDate: '2026-11-23', status: 'Active' })))

  /** The runs in the order in which they were begun. */
  const started = (world: World) =>
    world.events.flatMap((event) =>
      'event' in event && event.event === 'run.started' && 'runId' in event ? [event.runId] : [],
    )

  const runsOf = (world: World) => listRuns(world.sync.store.db, { connection: 'acme', limit: 20 })

  test('a request fails if the run of the due leaving dates cannot be added', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, separatedAt } = opened
    const { db } = world.sync.store
    await world.night(leaving('E0003'))
    world.clock.now = new Date('2026-11-23T23:00:00.000Z')
    await refuse(db, 'insert on runs', sql`new.feed = 'roster'`)

    await expect(requestRun(world.sync, { connection: 'acme', trigger: 'operator' })).rejects.toThrow('refused')
    await requestDueRuns(world.sync)
    await sql`drop trigger refused on runs`.execute(db)
    await tick(world, '2026-11-23T23:01:00.000Z')

    expect(world.events.filter((event) => 'during' in event)).toMatchObject([{ during: 'due leavers' }])
    expect(await separatedAt('E0003')).toBe('2026-11-23T00:00:00.000Z')
  })

  describe('a leaving date that waits for its day', () => {
    test('is sent in the first minute of that day in the zone of the source, without a file', async () => {
      await using opened = await open()
      const { world, separatedAt } = opened
      await world.night(leaving('E0003'))
      breakSource(world)

      await tick(world, '2026-11-22T22:59:59.999Z')
      const before = await separatedAt('E0003')
      await tick(world, '2026-11-22T23:00:00.000Z')

      expect(before).toBeNull()
      expect(await separatedAt('E0003')).toBe('2026-11-23T00:00:00.000Z')
      expect(await lastRun(world)).toMatchObject({ feed: 'roster', trigger: 'schedule', counts: { leave: 1 } })
    })

    test('begins in the time zone of its row', async () => {
      const webhook = webhookFeed()
      Object.assign(webhook.mapping, { rowTimeZone: { column: 'employee.zone' } })
      await using opened = await open({ timeZone: 'UTC' }, webhook)
      const { world, separatedAt } = opened
      await world.night(staff(20))
      const employee = { id: 'E0003', left: '2026-11-23', zone: 'Pacific/Auckland' }
      await receive(world, { type: 'terminated', at: '2026-11-20T02:10:00.000Z', employee })
      await receive(world, {
        type: 'terminated',
        at: '2026-11-20T02:10:00.000Z',
        employee: { id: 'E0004', left: '2026-11-23', zone: 'America/Lima' },
      })
      await requestRun(world.sync, { connection: 'acme', feed: 'webhook', trigger: 'operator' })
      await world.drain()

      await tick(world, '2026-11-22T11:00:00.000Z')
      const auckland = [await separatedAt('E0003'), await separatedAt('E0004')]
      await tick(world, '2026-11-23T04:59:00.000Z')
      const early = await separatedAt('E0004')
      await tick(world, '2026-11-23T05:00:00.000Z')

      expect(auckland).toEqual(['2026-11-23T00:00:00.000Z', null])
      expect(early).toBeNull()
      expect(await separatedAt('E0004')).toBe('2026-11-23T00:00:00.000Z')
    })

    test('begins at one o’clock if the clock goes forward at midnight', { tags: ['full'] }, async () => {
      await using opened = await open({ timeZone: 'America/Santiago' })
      const { world, separatedAt } = opened
      world.clock.now = new Date('2026-09-01T03:00:00.000Z')
      await world.night(change(staff(20), { id: 'E0003', leavingDate: '2026-09-06' }), {
        asOf: '2026-09-01T01:00:00.000Z',
      })

      await tick(world, '2026-09-06T03:59:59.000Z')
      const before = await separatedAt('E0003')
      await tick(world, '2026-09-06T04:00:00.000Z')

      expect(before).toBeNull()
      expect(await separatedAt('E0003')).toBe('2026-09-06T00:00:00.000Z')
    })

    test('is sent before a requested run reads the source, even if the source is missing', async () => {
      await using opened = await open()
      const { world, separatedAt } = opened
      await world.night(leaving('E0003'))
      breakSource(world)
      world.clock.now = new Date('2026-11-24T03:00:00.000Z')

      const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
      // Whatever a queue brings first.
      world.jobs.unshift({ name: 'run', payload: { runId: id }, id: 'early' })
      await world.drain()

      expect(await world.runOf(id)).toMatchObject({ feed: 'source', state: 'failed', failure: 'source_unreadable' })
      expect(await separatedAt('E0003')).toBe('2026-11-23T00:00:00.000Z')
      const [due] = (await runsOf(world)).filter(({ feed }) => feed === 'roster')
      expect(started(world).slice(-2)).toEqual([due?.id, id])
    })

    test('is sent beside a held export, which loses nothing', async () => {
      await using opened = await open()
      const { world, separatedAt } = opened
      await world.night(leaving('E0003'))
      const held = await world.night(
        without(
          leaving('E0003'),
          ...staff(10)
            .slice(3)
            .map(({ id }) => id),
        ),
        {
          asOf: '2026-11-21T01:00:00.000Z',
        },
      )

      await tick(world, '2026-11-22T23:00:00.000Z')
      const between = [await separatedAt('E0003'), await separatedAt('E0004')]
      const untouched = await world.runOf(held.id)
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()

      expect(held).toMatchObject({ state: 'held', counts: { leave: 7 } })
      expect(untouched).toMatchObject({ state: 'held', moved: null })
      expect(between).toEqual(['2026-11-23T00:00:00.000Z', null])
      expect(await separatedAt('E0004')).toBe('2026-11-21T00:00:00.000Z')
      expect(await separatedAt('E0003')).toBe('2026-11-23T00:00:00.000Z')
    })

    test('causes a held export with the same person to be planned again on approval', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, separatedAt } = opened
      await world.night(leaving('E0003'))
      const people = without(
        leaving('E0003'),
        ...staff(10)
          .slice(3)
          .map(({ id }) => id),
      )
      const held = await world.night(change(people, { id: 'E0003', title: 'Former' }), {
        asOf: '2026-11-21T01:00:00.000Z',
      })
      await tick(world, '2026-11-22T23:00:00.000Z')

      const again = await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()
      const between = await separatedAt('E0003')
      const anew = await world.runOf(again.id)
      if (anew.state === 'held') await approveRun(world.sync, { runId: anew.id, digest: anew.digest ?? '', by: 'ops' })
      await world.drain()

      expect(again.id).not.toBe(held.id)
      expect(between).toBe('2026-11-23T00:00:00.000Z')
      expect(await separatedAt('E0003')).toBe('2026-11-23T00:00:00.000Z')
      expect(await separatedAt('E0004')).toBe('2026-11-21T00:00:00.000Z')
    })
  })

  test('too many leaving dates on one day wait for an approval', async () => {
    await using opened = await open()
    const { world, separatedAt } = opened
    const ids = staff(6).map(({ id }) => id)
    await world.night(leaving(...ids))

    await tick(world, '2026-11-22T23:00:00.000Z')
    const held = await lastRun(world)
    await tick(world, '2026-11-22T23:00:05.000Z')
    const none = await separatedAt('E0001')
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
    await world.drain()

    expect(held).toMatchObject({ feed: 'roster', state: 'held', counts: { leave: 6 } })
    expect(held.reason).toContain('6 of 20 people would be separated; the limit is 5')
    expect(none).toBeNull()
    expect(await separatedAt('E0001')).toBe('2026-11-23T00:00:00.000Z')
    expect((await runsOf(world)).filter(({ feed }) => feed === 'roster').length).toBe(1)
  })

  test('a plan of which a part was approved is made again each time it has expired', async () => {
    await using opened = await open()
    const { world, separatedAt } = opened
    const ids = staff(6).map(({ id }) => id)
    await world.night(leaving(...ids))
    await tick(world, '2026-11-22T23:00:00.000Z')
    const held = await lastRun(world)
    const part = { people: ['E0001', 'E0002'] }
    const { digest } = await previewPart(world.sync, { runId: held.id, selection: part })
    await approveRun(world.sync, { runId: held.id, digest, part, by: 'ops' })
    await world.drain()

    await tick(world, '2026-11-25T23:00:01.000Z')
    await tick(world, '2026-11-28T23:00:02.000Z')

    const whole = (await runsOf(world)).filter(({ feed, partOf }) => feed === 'roster' && partOf === null)
    const states = whole.map(({ state, counts }) => [state, counts?.leave]).toSorted()
    expect(states).toEqual([
      ['held', 4],
      ['superseded', 4],
      ['superseded', 4],
      ['unchanged', 0],
      ['unchanged', 0],
    ])
    expect([await separatedAt('E0002'), await separatedAt('E0003')]).toEqual(['2026-11-23T00:00:00.000Z', null])
  })

  test('a rejected plan of due leavers is made again only when another date comes', async () => {
    await using opened = await open()
    const { world } = opened
    const ids = staff(6).map(({ id }) => id)
    await world.night(change(leaving(...ids), { id: 'E0010', leavingDate: '2026-11-24' }))
    await tick(world, '2026-11-22T23:00:00.000Z')

    await rejectRun(world.sync, { runId: (await lastRun(world)).id, by: 'ops' })
    await tick(world, '2026-11-23T12:00:00.000Z')
    const quiet = (await runsOf(world)).filter(({ feed }) => feed === 'roster').length
    await tick(world, '2026-11-23T23:00:00.000Z')

    expect(quiet).toBe(1)
    expect(await lastRun(world)).toMatchObject({ feed: 'roster', state: 'held', counts: { leave: 7 } })
  })

  test('a run of due leavers that failed is tried again after five minutes', async () => {
    await using opened = await open()
    const { world, separatedAt } = opened
    await world.night(leaving('E0003'))
    const { feeds } = world.connection
    const { source, webhook } = feeds
    Object.assign(world.connection, { feeds: {} })
    await tick(world, '2026-11-22T23:00:00.000Z')
    Object.assign(world.connection, { feeds: { source, webhook } })

    await tick(world, '2026-11-22T23:00:05.000Z')
    const tooSoon = await lastRun(world)
    await tick(world, '2026-11-22T23:05:05.000Z')

    expect(tooSoon).toMatchObject({ feed: 'roster', state: 'failed' })
    expect(await lastRun(world)).toMatchObject({ feed: 'roster', state: 'finished' })
    expect(await separatedAt('E0003')).toBe('2026-11-23T00:00:00.000Z')
  })

  test('due departures do not hold an event on the same day', { tags: ['full'] }, async () => {
    await using opened = await open({ timeZone: 'UTC' })
    const { world, client } = opened
    await world.night(leaving(...staff(6).map(({ id }) => id)))
    world.clock.now = new Date('2026-11-23T00:00:00.000Z')
    await receive(world, {
      type: 'terminated',
      at: '2026-11-22T12:00:00.000Z',
      employee: { id: 'E0010', left: '2026-11-22' },
    })

    await later(world, 6)
    await tick(world, '2026-11-23T00:00:10.000Z')

    const leavers = [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null)
    expect(leavers.map(({ identityId }) => identityId)).toEqual(['E0010'])
    const due = (await runsOf(world)).filter(({ feed }) => feed === 'roster')
    expect(due).toMatchObject([{ state: 'held', counts: { leave: 6 } }])
  })

  test('no run is added if nobody is due', async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(leaving('E0003'))
    const before = (await runsOf(world)).length

    await tick(world, '2026-11-22T12:00:00.000Z')

    expect((await runsOf(world)).length).toBe(before)
    const known = await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0003' })
    expect(known?.entry).toMatchObject({ deferredTo: '2026-11-23', deferredZone: 'Europe/Berlin' })
  })
})
