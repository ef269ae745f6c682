import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { requestRun, sweep } from '../../src/sync/sync.ts'
import { type Host, openWorld, startHost, type World } from '../helpers/world.ts'

let host: Host
let world: World
beforeAll(async () => {
  host = await startHost()
  const { client } = await host.tenant()
  world = await openWorld({ client })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** A run of which an attempt has begun; its job is the queue's. */
async function begun(lease: number | null): Promise<string> {
  const { db } = world.sync.store
  await sql`delete from runs`.execute(db)
  world.jobs.length = 0
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await sql`update runs set state = 'reading', attempt = 1, lease = ${lease} where id = ${id}`.execute(db)
  return id
}

test('a run whose last attempt failed is left to the pause of the queue, until the sweep of the minute finds that the queue lost it', async () => {
  const id = await begun(null)
  world.jobs.length = 0

  await sweep(world.sync, { retries: false })
  const between = world.jobs.length
  await sweep(world.sync)

  expect(between).toBe(0)
  expect(world.jobs).toMatchObject([{ name: 'run', payload: { runId: id } }])
})

test('a run that this process could not let go of gets another job, since the queue may keep the first one for a while', async () => {
  const id = await begun(world.sync.lease.id)
  const [first] = world.jobs

  await sweep(world.sync, { retries: false })

  expect(first?.id).toBe(id)
  expect(world.jobs.map(({ payload }) => payload)).toEqual([{ runId: id }, { runId: id }])
})

test('a process that starts leaves a job that waits as it is, and makes another one of a job that the queue has held', async () => {
  const waiting = await begun(null)
  world.jobs.length = 0

  await sweep(world.sync)
  const [job] = world.jobs
  await sweep(world.sync, { held: async () => new Set(['another']) })
  await sweep(world.sync, { held: async () => new Set([job?.id ?? '']) })

  expect(world.jobs.map(({ id }) => id)).toEqual([job?.id, `${job?.id}-by-${world.sync.lease.id}`])
  expect(world.jobs.map(({ payload }) => payload)).toEqual(Array(2).fill({ runId: waiting }))
})

test('a process that starts while the queue is away goes on', async () => {
  const id = await begun(null)
  world.jobs.length = 0

  await sweep(world.sync, {
    held: () => Promise.reject(new Failure('queue_unreachable', 'The queue does not answer')),
  })

  expect(world.jobs).toMatchObject([{ payload: { runId: id } }])
})
