import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Connector } from '../../../src/connectors/connector.ts'
import { Failure } from '../../../src/errors.ts'
import { pendingCount } from '../../../src/store/inbox/inbox.ts'
import { listEvents } from '../../../src/store/inbox/review.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { approveRun, rejectRun } from '../../../src/sync/sync.ts'
import { lastRun, later, receive, webhookFeed } from '../../helpers/events.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const changed = (id: string) => JSON.stringify({ type: 'employee.changed', id })

/** Runs something before HR's answer, until it is removed. */
function beforeReading(world: World, happens: () => Promise<void>): Disposable {
  const connector = world.connection.feeds.source?.connector
  if (!connector) throw new Error('no source')
  const { open } = connector
  const hooked: Connector['open'] = async (options) => {
    await happens()
    return await open(options)
  }
  Object.assign(connector, { open: hooked })
  return { [Symbol.dispose]: () => Object.assign(connector, { open }) }
}

async function states(world: World): Promise<string[]> {
  return (await listEvents(world.sync.store.db, { connection: 'acme' })).map(({ state }) => state)
}

describe.each(databases)('events that only say that something changed, on $name', ({ createDatabase }) => {
  async function open() {
    const stack = new AsyncDisposableStack()
    const { at } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(await openWorld({ at, client, webhook: webhookFeed({ thin: true }) }))
    await world.night(staff(20))
    return { world, client, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('cause a run of the source, and are closed once its plan is accepted', async () => {
    await using opened = await open()
    const { world, client } = opened
    world.setExport(change(staff(20), { id: 'E0003', title: 'Lead' }), '2026-11-20T03:00:00.000Z')

    await receive(world, changed('E0003'))
    await later(world, 6)

    expect(await lastRun(world)).toMatchObject({ feed: 'source', trigger: 'webhook', state: 'finished' })
    expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('Lead')
    expect(await states(world)).toEqual(['settled'])
  })

  test('are closed also if somebody else requested the run that read the source after them', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world } = opened
    await receive(world, changed('E0003'))

    await world.night(staff(20))
    await later(world, 6)

    expect(await states(world)).toEqual(['settled'])
    const runs = await listRuns(world.sync.store.db, { limit: 10 })
    expect(runs.map(({ feed, trigger }) => `${feed} ${trigger}`)).toEqual(['source operator', 'source operator'])
  })

  test('wait while HR is unreachable, and cause a run once it is back: no leaver is lost', async () => {
    await using opened = await open()
    const { world, client } = opened
    world.setExport(change(staff(20), { id: 'E0003', leavingDate: '2026-11-19' }), '2026-11-20T03:00:00.000Z')
    await receive(world, changed('E0003'))
    const away = beforeReading(world, async () => {
      throw new Failure('source_unreachable', 'HR does not answer')
    })

    await later(world, 6)
    while ((await lastRun(world)).state === 'reading') await world.minute()
    const failed = await lastRun(world)
    const waiting = await pendingCount(world.sync.store.db, 'acme')
    away[Symbol.dispose]()
    await later(world, 6)
    const tooEarly = await lastRun(world)
    await later(world, 5 * 60)

    expect(failed).toMatchObject({ state: 'failed', failure: 'source_unreachable', trigger: 'webhook' })
    expect(waiting).toBe(1)
    expect(tooEarly.id).toBe(failed.id)
    expect(await lastRun(world)).toMatchObject({ feed: 'source', trigger: 'webhook', state: 'finished' })
    expect((await peopleOn(client)).get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    expect(await states(world)).toEqual(['settled'])
  })

  test('that arrive while the source is being read cause another run', async () => {
    await using opened = await open()
    const { world, client } = opened
    await receive(world, changed('E0003'))
    const coming = beforeReading(world, async () => {
      coming[Symbol.dispose]()
      await receive(world, changed('E0004'))
    })

    await later(world, 6)
    const between = await states(world)
    world.setExport(change(staff(20), { id: 'E0004', title: 'Lead' }), '2026-11-20T03:00:00.000Z')
    await later(world, 6)

    expect(between).toEqual(['settled', 'pending'])
    expect(await states(world)).toEqual(['settled', 'settled'])
    expect((await peopleOn(client)).get('E0004')?.jobTitle).toBe('Lead')
  })

  describe('whose run is held', () => {
    async function openHeld() {
      const opened = await open()
      const { world } = opened
      world.setExport(staff(20).slice(6), '2026-11-20T03:00:00.000Z')
      await receive(world, changed('E0001'))
      await later(world, 6)
      return { ...opened, held: await lastRun(world) }
    }

    test('wait for the decision, and those that come meanwhile do not void the plan', async () => {
      await using opened = await openHeld()
      const { world, held } = opened
      await receive(world, changed('E0002'))
      await later(world, 60)
      const before = await states(world)
      world.setExport(without(staff(20).slice(6), 'E0010'), '2026-11-20T03:30:00.000Z')

      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()
      const between = await states(world)
      await later(world, 6)

      expect(held).toMatchObject({ state: 'held', feed: 'source', trigger: 'webhook' })
      expect(before).toEqual(['pending', 'pending'])
      expect(between).toEqual(['settled', 'pending'])
      expect(await lastRun(world)).toMatchObject({ feed: 'source', state: 'finished', counts: { leave: 1 } })
      expect(await states(world)).toEqual(['settled', 'settled'])
    })

    test('are closed once an operator rejects it', { tags: ['full'] }, async () => {
      await using opened = await openHeld()
      const { world, held } = opened

      await rejectRun(world.sync, { runId: held.id, by: 'ops' })
      await later(world, 60)

      expect(await states(world)).toEqual(['settled'])
      expect((await lastRun(world)).id).toBe(held.id)
    })

    test('move to the newer export that replaces it', async () => {
      await using opened = await openHeld()
      const { world, held } = opened

      await world.night(staff(20), { asOf: '2026-11-20T04:00:00.000Z' })

      expect((await world.runOf(held.id)).state).toBe('superseded')
      expect(await states(world)).toEqual(['settled'])
    })
  })
})
