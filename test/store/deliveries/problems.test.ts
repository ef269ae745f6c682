import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { listProblems, noProblems, problemCounts } from '../../../src/store/deliveries/problems.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { nobody, reach, refusing, withWrongKey } from '../../helpers/reach.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { change, type Host, openWorld, staff, startHost, type World, without } from '../../helpers/world.ts'

const minuteMs = 60_000
const nextNight = '2026-11-21T01:00:00.000Z'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe.each(databases)('problems on $name', ({ createDatabase }) => {
  async function open(connection: Parameters<typeof openWorld>[0]['connection'] = {}) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, connection }))
    return {
      world,
      sound: client,
      problems: () => listProblems(world.sync.store.db, { now: world.clock.now }),
      tally: async () => (await problemCounts(world.sync.store.db, { now: world.clock.now })).get('acme') ?? noProblems,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }

  test('begin a quarter of an hour after a delivery starts to fail, and end when it succeeds', async () => {
    await using opened = await open()
    const { world, sound, problems, tally } = opened
    reach(world, nobody())
    const run = await world.night(staff(3))
    const failedAt = world.clock.now.toISOString()

    const counts: number[] = []
    for (const minutes of [14, 1]) {
      wait(world, minutes)
      counts.push((await problems()).length)
    }
    const listed = await problems()
    const tallied = await tally()
    reach(world, sound)
    wait(world, 60)
    await world.minute()

    expect(counts).toEqual([0, 3])
    expect(listed[0]).toMatchObject({
      connection: 'acme',
      identityId: 'E0001',
      state: 'undelivered',
      runId: run.id,
      kind: 'join',
      leaver: false,
      status: null,
      code: 'not_connected',
      message: 'the platform cannot be reached (connect: connection refused)',
      firstAt: failedAt,
      times: 1,
    })
    expect(Date.parse(listed[0]?.nextAt ?? '')).toBeGreaterThan(Date.parse(failedAt))
    expect(tallied).toEqual({ refused: { people: 0, leavers: 0 }, undelivered: { people: 3, leavers: 0 } })
    expect(await problems()).toEqual([])
  })

  test('include people behind a block at once, with its reason and the time of the next probe', async () => {
    await using opened = await open()
    const { world, problems, tally } = opened
    await world.night(staff(5))
    reach(world, withWrongKey(host))

    await world.night(change(without(staff(5), 'E0004'), { id: 'E0002', title: 'Lead' }), { asOf: nextNight })
    const blockedAt = world.clock.now.toISOString()
    const listed = await problems()

    expect(listed).toMatchObject([
      { identityId: 'E0002', kind: 'update', leaver: false },
      { identityId: 'E0004', kind: 'leave', leaver: true },
    ])
    for (const problem of listed) {
      expect(problem).toMatchObject({ state: 'undelivered', status: 401, code: 'key_refused', firstAt: blockedAt })
      expect(problem.message).toContain('the platform does not accept the API key (401)')
      expect(problem.nextAt).toBe(new Date(world.clock.now.getTime() + 15 * minuteMs).toISOString())
    }
    expect(await tally()).toEqual({ refused: { people: 0, leavers: 0 }, undelivered: { people: 2, leavers: 1 } })
  })

  test('are no older than the change that an active block delays', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, problems } = opened
    reach(world, withWrongKey(host))
    const first = await world.night(staff(2))
    await world.sync.store.db.updateTable('runs').set({ state: 'cancelled' }).where('id', '=', first.id).execute()
    wait(world, 7 * 24 * 60)

    world.setExport(staff(2), '2026-11-27T01:00:00.000Z')
    const second = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    await world.drain()
    const listed = await problems()

    const { startedAt } = await world.runOf(second.id)
    const [connection] = await connectionStates(world.sync.store.db)
    expect(Date.parse(connection?.blocked?.since ?? '')).toBeLessThan(Date.parse(startedAt ?? ''))
    expect(listed.map(({ firstAt }) => firstAt)).toEqual([startedAt, startedAt])
  })

  test('contain the code of the answer if the platform refused somebody', async () => {
    await using opened = await open()
    const { world, sound, problems, tally } = opened
    reach(world, refusing(sound, 'E0002'))

    await world.night(staff(3))

    expect(await problems()).toMatchObject([
      {
        identityId: 'E0002',
        state: 'refused',
        kind: 'join',
        status: 400,
        code: 'item_refused',
        message: 'this will not do',
        nextAt: null,
        times: 1,
      },
    ])
    expect(await tally()).toEqual({ refused: { people: 1, leavers: 0 }, undelivered: { people: 0, leavers: 0 } })
  })

  test('list a refused person with an undelivered newer change once', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, sound, problems, tally } = opened
    await world.night(staff(3))
    reach(world, refusing(sound, 'E0002'))
    await world.night(change(staff(3), { id: 'E0002', email: 'other@acme.example' }), { asOf: nextNight })
    const before = await problems()
    reach(world, nobody())

    await world.night(without(staff(3), 'E0002'), { asOf: '2026-11-22T01:00:00.000Z' })
    wait(world, 20)

    expect(before).toMatchObject([{ identityId: 'E0002', state: 'refused', kind: 'update' }])
    expect(await problems()).toMatchObject([
      { identityId: 'E0002', state: 'undelivered', kind: 'leave', leaver: true, code: 'not_connected' },
    ])
    expect(await tally()).toEqual({ refused: { people: 0, leavers: 0 }, undelivered: { people: 1, leavers: 1 } })
  })

  test('exclude people of a run whom the platform has taken', async () => {
    await using opened = await open({ delivery: { batchSize: 2, batchBytes: 1_000_000, updateWave: 100 } })
    const { world, sound, problems, tally } = opened
    const away = nobody()
    const { upsertHrisUserIdentities } = away
    reach(world, {
      ...sound,
      upsertHrisUserIdentities: async (input, options) => {
        const handlers = JSON.stringify(input.body).includes('E0003') ? { upsertHrisUserIdentities } : sound
        return await handlers.upsertHrisUserIdentities(input, options)
      },
    })

    await world.night(staff(6))
    wait(world, 20)

    expect((await problems()).map(({ identityId }) => identityId)).toEqual(['E0003', 'E0004'])
    expect(await tally()).toMatchObject({ undelivered: { people: 2 } })
  })

  test('are listed page by page, by connection and key, whatever their state', async () => {
    await using opened = await open()
    const { world } = opened
    reach(world, withWrongKey(host))
    const { id } = await world.night(staff(3))
    await alsoRefused(world, id, ['acme', 'A1'], ['acme', 'E0002b'], ['beta', 'E0001'], ['beta', 'E0002'])
    const { db } = world.sync.store

    const pages: string[][] = []
    let after: { connection: string; identityId: string } | undefined
    do {
      const page = await listProblems(db, { now: world.clock.now, limit: 2, ...(after && { after }) })
      pages.push(page.map(({ connection, identityId }) => `${connection} ${identityId}`))
      after = page.length < 2 ? undefined : page.at(-1)
    } while (after)
    const ofOne = await listProblems(db, { now: world.clock.now, connection: 'beta' })

    expect(pages).toEqual([
      ['acme A1', 'acme E0001'],
      ['acme E0002', 'acme E0002b'],
      ['acme E0003', 'beta E0001'],
      ['beta E0002'],
    ])
    expect(ofOne.map(({ identityId }) => identityId)).toEqual(['E0001', 'E0002'])
  })
})

function wait(world: World, minutes: number): void {
  world.clock.now = new Date(world.clock.now.getTime() + minutes * minuteMs)
}

/** Records refusals as the deliveries of a run would. */
async function alsoRefused(world: World, runId: string, ...people: readonly (readonly [string, string])[]) {
  const { db } = world.sync.store
  const at = world.clock.now
  for (const [connection, identityId] of people) {
    await ensureConnection(db, connection)
    const about = { connection, identity_id: identityId, run_id: runId, kind: 'update', status: 400, message: 'no' }
    await db
      .insertInto('problems')
      .values({ ...about, first_at: at, last_at: at, times: 1 })
      .execute()
  }
}
