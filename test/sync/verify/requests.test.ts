import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { approveRun, requestRun } from '../../../src/sync/sync.ts'
import {
  between,
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
} from '../../helpers/world.ts'

const size = 1200
const batchSize = 60
const batches = size / batchSize
/** Of the platform's list. */
const pages = Math.ceil(size / 500)
/** Requests that are made once, or for a few people. */
const few = 25

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Five of twelve have left: in each batch more than are looked up one by one. */
function mixed(): HrPerson[] {
  return staff(size).map((person, at) =>
    at % 12 < 5 ? { ...person, leavingDate: leavingDateOf(at), status: 'Inactive' } : person,
  )
}

function leavingDateOf(at: number): string {
  return Temporal.PlainDate.from('2026-10-01')
    .subtract({ days: at % 300 })
    .toString()
}

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({
    client,
    connection: { delivery: { batchSize, batchBytes: 1_000_000, updateWave: 100 } },
  })
  const requests = { made: 0 }
  between(world, (real) => {
    const counting = Object.entries(real).map(([name, call]) => [
      name,
      (...input: unknown[]) => {
        requests.made++
        return (call as (...passed: unknown[]) => unknown)(...input)
      },
    ])
    return Object.fromEntries(counting)
  })
  /** Runs to the end, and returns how many requests it made. */
  async function count(work: () => Promise<{ readonly id: string }>): Promise<number> {
    const before = requests.made
    const { id } = await work()
    const run = await world.runOf(id)
    if (run.state === 'held') {
      await approveRun(world.sync, { runId: id, digest: run.digest ?? '', by: 'ana' })
      await world.drain()
    }
    expect(['finished', 'unchanged']).toContain((await world.runOf(id)).state)
    return requests.made - before
  }
  return { world, client, count, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function repair(world: World) {
  const { id } = await requestRun(world.sync, { connection: 'acme', feed: 'roster', trigger: 'repair', options: {} })
  await world.drain()
  return { id }
}

test('the requests of each kind of run are limited by its batches and the pages of the platform', async () => {
  await using opened = await open()
  const { world, count } = opened

  const first = await count(() => world.night(mixed()))
  const again = await count(() => world.night(mixed(), { asOf: '2026-11-21T01:00:00.000Z' }))
  const full = await count(() => world.night(mixed(), { asOf: '2026-11-22T01:00:00.000Z', full: true }))
  const verifying = await count(() => world.night(mixed(), { asOf: '2026-11-23T01:00:00.000Z', verify: true }))
  await sql`update roster set uncertain = true`.execute(world.sync.store.db)
  const repairing = await count(() => repair(world))

  expect(first).toBeLessThanOrEqual(batches + few)
  expect(again).toBe(0)
  expect(full).toBeLessThanOrEqual(batches + pages + few)
  // It looks at departures as well: in a list, and at twenty people one by one.
  expect(verifying).toBeLessThanOrEqual(2 * pages + 2 * few)
  expect(repairing).toBeLessThanOrEqual(pages + 2)
})

test('a run that is repeated after lost answers makes few additional requests', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client, count } = opened
  const line = { losing: 4 }
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      const answer = await real.upsertHrisUserIdentities(input, options)
      if (line.losing === 0) return answer
      line.losing--
      return { status: 'unreachable', reason: 'reset', message: 'killed', sent: true }
    },
  }))

  const made = await count(async () => {
    const run = await world.night(mixed())
    for (let minute = 0; minute < 3; minute++) {
      world.clock.now = new Date(world.clock.now.getTime() + 60_000)
      await world.minute()
    }
    return run
  })

  expect(made).toBeLessThanOrEqual(batches + 4 * (1 + pages) + few)
  expect((await peopleOn(client)).size).toBe(size)
})
