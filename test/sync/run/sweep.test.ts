import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { requestEventRuns, requestRun, sweep } from '../../../src/sync/sync.ts'
import { receive, updated, webhookFeed } from '../../helpers/events.ts'
import { refuse } from '../../helpers/servers/refuse.ts'
import { type Host, openWorld, startHost, type World } from '../../helpers/world.ts'

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

test('the queue repeats a run whose last attempt failed after its pause, unless the sweep finds that the queue lost it', async () => {
  const id = await begun(null)
  world.jobs.length = 0

  await sweep(world.sync, { retries: false })
  const between = world.jobs.length
  await sweep(world.sync)

  expect(between).toBe(0)
  expect(world.jobs).toMatchObject([{ name: 'run', payload: { runId: id } }])
})

test('a run that this process could not release gets another job, because the queue may keep the first one for a while', async () => {
  const id = await begun(world.sync.lease.id)
  const [first] = world.jobs

  await sweep(world.sync, { retries: false })

  expect(first?.id).toBe(id)
  expect(world.jobs.map(({ payload }) => payload)).toEqual([{ runId: id }, { runId: id }])
})

test('a starting process keeps waiting jobs, and adds another one for a job that is unavailable', async () => {
  const waiting = await begun(null)
  world.jobs.length = 0

  await sweep(world.sync)
  const [job] = world.jobs
  await sweep(world.sync, { unavailableJobs: async () => new Set(['another']) })
  await sweep(world.sync, { unavailableJobs: async () => new Set([job?.id ?? '']) })

  expect(world.jobs.map(({ id }) => id)).toEqual([job?.id, `${job?.id}-by-${world.sync.lease.id}`])
  expect(world.jobs.map(({ payload }) => payload)).toEqual(Array(2).fill({ runId: waiting }))
})

test('a process that starts while the queue is unreachable continues', async () => {
  const id = await begun(null)
  world.jobs.length = 0

  await sweep(world.sync, {
    unavailableJobs: () => Promise.reject(new Failure('queue_unreachable', 'The queue does not answer')),
  })

  expect(world.jobs).toMatchObject([{ payload: { runId: id } }])
})

test('a run that cannot be closed, and a connection whose run cannot be requested, do not delay others', async () => {
  const { client } = await host.tenant()
  const webhook = webhookFeed()
  await using other = await openWorld({ client, webhook })
  const { db } = other.sync.store
  const beta = { ...other.connection, name: 'beta' }
  Object.assign(other.sync, { connections: new Map([...other.sync.connections, ['beta', beta]]) })
  for (const connection of [other.connection, beta])
    await receive({ ...other, connection }, updated('E0001', 'Boss', '2026-11-20T02:00:00.000Z'))
  other.clock.now = new Date(other.clock.now.getTime() + 600_000)

  await refuse(db, 'insert on runs', sql`new.connection = 'acme'`)
  await requestEventRuns(other.sync)
  const requested = await listRuns(db, { limit: 10 })
  await sql`drop trigger refused on runs`.execute(db)
  await requestEventRuns(other.sync)
  await sql`update runs set state = 'delivering'`.execute(db)
  await refuse(db, 'update on runs', sql`new.connection = 'acme'`)
  await sweep(other.sync)

  expect(requested.map(({ connection }) => connection)).toEqual(['beta'])
  const states = (await listRuns(db, { limit: 10 })).map(({ connection, state }) => `${connection} ${state}`)
  expect(states.sort()).toEqual(['acme delivering', 'beta finished'])
  expect(other.events.filter((fields) => 'during' in fields)).toMatchObject([
    { during: 'event-runs' },
    { during: 'sweep' },
  ])
})
