import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DueDelivery } from '../../../src/store/deliveries/due.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import { deliveryJob } from '../../../src/sync/context/enqueue.ts'
import { requestRun, sweep } from '../../../src/sync/sync.ts'
import { storeRun } from '../../helpers/stored-runs.ts'
import { type Host, openWorld, startHost, type World } from '../../helpers/world.ts'

const day = new Date('2026-11-19T03:00:00.000Z')

describe('the position of a batch', () => {
  const due = (batch: number, kind: DueDelivery['kind'], isLong = true): DueDelivery => {
    return { runId: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f', batch, kind, jobId: `${batch}`, isLong }
  }

  test('puts the departures of a large run first and its joiners round by round', () => {
    const jobs = [due(1, 'upsert'), due(2, 'upsert'), due(70, 'update'), due(71, 'delete')].map(deliveryJob)

    expect(jobs.map(({ line, round }) => [line, round])).toEqual([
      ['long batches', 1],
      ['long batches', 2],
      ['long batches', 0],
      ['long batches', 0],
    ])
  })

  test('puts a small run ahead of runs that have not begun', () => {
    const jobs = [due(1, 'upsert', false), due(4, 'update', false)].map(deliveryJob)

    expect(jobs.map(({ line, round = 0 }) => [line, round])).toEqual([
      ['short', 0],
      ['short', 0],
    ])
  })
})

describe('what is due', () => {
  let host: Host
  let world: World
  beforeAll(async () => {
    host = await startHost()
    const { client } = await host.tenant()
    world = await openWorld({ client })
    await ensureConnection(world.sync.store.db, 'acme')
    await ensureConnection(world.sync.store.db, 'globex')
  })
  afterAll(async () => {
    await world[Symbol.asyncDispose]()
    await host[Symbol.asyncDispose]()
  })

  const linesOf = () => world.jobs.map(({ payload, line = 'short' }) => [payload.runId, line])

  test('a request enqueues what is due of its connection, and leaves other connections to the sweep', async () => {
    const { db } = world.sync.store
    const other = await storeRun(db, { connection: 'globex', state: 'waiting', at: day, digest: null })

    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    const requested = linesOf()
    await sweep(world.sync)

    expect(requested).toEqual([[id, 'long runs']])
    expect(linesOf()).toContainEqual([other, 'long runs'])
  })

  test('a run is ordered by the rows of the last run: many, few or unknown', async () => {
    const { db } = world.sync.store
    await sql`delete from runs`.execute(db)
    const waiting = { state: 'waiting', at: world.clock.now, digest: null } as const
    const requestRunOf = async (connection: string, rows: number | null) => {
      await ensureConnection(db, connection)
      if (rows !== null) {
        const former = await storeRun(db, { connection, state: 'finished', at: day })
        await db.updateTable('runs').set({ rows }).where('id', '=', former).execute()
      }
      return await storeRun(db, { ...waiting, connection })
    }
    const long = await requestRunOf('acme', 5000)
    const events = await storeRun(db, { ...waiting, feed: 'webhook' })
    const short = await requestRunOf('globex', 4999)
    const first = await requestRunOf('initech', null)
    world.jobs.length = 0

    await sweep(world.sync)

    const positions = world.jobs.map(({ payload, line, round = 0 }) => [payload.runId, [line, round]])
    expect(Object.fromEntries(positions)).toEqual({
      [long]: ['long runs', 1],
      [events]: ['short', 1],
      [short]: ['short', 1],
      [first]: ['long runs', 0],
    })
  })
})
