import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { byIdentityId } from '../../../src/contract/platform/hris-user-identities.ts'
import { scheduleTasks } from '../../../src/daemon/schedules/scheduled-runs.ts'
import { createSchedules } from '../../../src/daemon/schedules/schedules.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { sampleKeys } from '../../../src/store/roster/sample.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { noLimits } from '../../helpers/guards/no-limits.ts'
import { between, change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open() {
  const { client } = await host.tenant()
  return { client, world: await openWorld({ client, connection: { guards: noLimits } }) }
}

const dayMs = 24 * 60 * 60_000
const daily = { cron: '0 5 * * *', timeZone: 'UTC' }

function passDays({ clock }: World, days: number): void {
  clock.now = new Date(clock.now.getTime() + days * dayMs)
}

async function readSample(world: World) {
  const { id } = await requestRun(world.sync, {
    connection: 'acme',
    feed: 'roster',
    trigger: 'schedule',
    options: { sample: true },
  })
  await world.drain()
  return await world.runOf(id)
}

/** Of the platform's people of this account. */
async function onPlatform(world: World) {
  const [state] = await connectionStates(world.sync.store.db)
  return (identityId: string) => ({
    connectionId: state?.targetId ?? 0,
    userIdentityId: byIdentityId(identityId),
  })
}

describe('a sample', () => {
  test('contains the leavers of the last 30 days first, and other people who differ each day', async () => {
    const { world } = await open()
    await using _world = world
    await world.night(staff(60))
    await world.night(change(staff(60), { id: 'E0050', leavingDate: '2026-11-01' }), {
      asOf: '2026-11-21T01:00:00.000Z',
    })
    passDays(world, 29)
    const { db } = world.sync.store
    const pick = (seed: string, now = world.clock.now) => sampleKeys(db, { connection: 'acme', others: 10, seed, now })

    const [first, again, other] = [await pick('monday'), await pick('monday'), await pick('tuesday')]
    passDays(world, 10)
    const later = await pick('monday')

    expect(first).toHaveLength(11)
    expect(first[0]).toBe('E0050')
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
    expect(later).toHaveLength(10)
  })

  test('of few people is looked up one by one, and differences are listed and repaired', async () => {
    const { world, client } = await open()
    await using _world = world
    await world.night(change(staff(8), { id: 'E0003', leavingDate: '2026-11-10' }))
    const at = await onPlatform(world)
    await client.updateHrisUserIdentity({ params: at('E0003'), body: { separatedAt: null } })
    await client.deleteHrisUserIdentity({ params: at('E0005') })
    const lookedUpKeys: string[] = []
    between(world, (real) => ({
      async getHrisUserIdentity(input, options) {
        lookedUpKeys.push(String(input.params.userIdentityId))
        return await real.getHrisUserIdentity(input, options)
      },
    }))

    const run = await readSample(world)
    const people = await peopleOn(client)

    expect(lookedUpKeys).toHaveLength(8)
    expect(run).toMatchObject({
      state: 'finished',
      verification: {
        asked: 8,
        listed: 7,
        lost: 1,
        changed: 1,
        foreign: 0,
        people: { lost: ['E0005'], changed: ['E0003'] },
      },
    })
    expect(people.get('E0003')?.separatedAt).toBe('2026-11-10T00:00:00.000Z')
    expect(people.size).toBe(8)
  })

  test('is read from the list if that costs fewer requests, and everybody is compared', {
    tags: ['full'],
  }, async () => {
    const { world, client } = await open()
    await using _world = world
    await world.night(staff(30))
    const at = await onPlatform(world)
    await client.deleteHrisUserIdentity({ params: at('E0030') })

    const run = await readSample(world)

    expect(run.verification).toMatchObject({ listed: 29, lost: 1 })
    expect(run.verification).not.toHaveProperty('asked')
    expect((await peopleOn(client)).size).toBe(30)
  })
})

test('a platform that answers 200 and stores nothing is found within a day, and each day until it stores', async () => {
  const { world, client } = await open()
  await using _world = world
  const takeDueSlots = createSchedules(
    [{ connection: 'acme', purpose: 'sample', schedule: daily }],
    scheduleTasks(world.sync),
  )
  await takeDueSlots()
  await world.night(staff(12))
  const { platform } = world.sync
  between(world, () => ({
    upsertHrisUserIdentities: async ({ body }) => ({
      status: 200,
      body: (body as { identityId: string }[]).map(() => ({ statusCode: 200, data: null })),
      headers: {},
    }),
    updateHrisUserIdentity: async ({ params, body }, options) => {
      const stored = await platform.client.getHrisUserIdentity({ params }, options)
      if (stored.status !== 200) throw new Error('not there')
      return { ...stored, body: { ...stored.body, ...(body as object) } }
    },
  }))
  const rows = change(staff(12), { id: 'E0007', leavingDate: '2026-11-19' }, { id: 'E0002', title: 'Director' })
  const run = await world.night(rows, { asOf: '2026-11-20T01:30:00.000Z' })

  const verifications = []
  for (let day = 0; day < 2; day++) {
    passDays(world, 1)
    await takeDueSlots()
    await world.drain()
    verifications.push((await listRuns(world.sync.store.db, { limit: 1 }))[0]?.verification)
  }
  Object.assign(world.sync, { platform })
  passDays(world, 1)
  await takeDueSlots()
  await world.drain()

  expect(run.state).toBe('finished')
  const both = { changed: 2, people: { changed: ['E0007', 'E0002'] } }
  expect(verifications).toMatchObject([both, both])
  expect((await peopleOn(client)).get('E0007')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
  const slots = await sql<{ slot: string }>`select slot from slots order by slot`.execute(world.sync.store.db)
  expect(slots.rows.map(({ slot }) => slot).at(-1)).toBe('sample 2026-11-22T05:00')
})
