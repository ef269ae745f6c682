import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  claimTarget,
  connectionStates,
  releaseTarget,
  setTarget,
  targetOf,
} from '../../../src/store/connections/connections.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'
import { resolveTarget, saveTarget } from '../../../src/sync/target/target.ts'
import { between, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

const unknownKey = {
  status: 401,
  error: { message: 'the key is not known', code: null, name: null },
  headers: {},
} as const

/** What each worker does before it sends, with the target that its batch was claimed with. */
async function lookUpOf({ sync }: World) {
  const [connection] = sync.connections.values()
  if (!connection) throw new Error('the world has no connection')
  await ensureConnection(sync.store.db, connection.name)
  const known = await saveTarget(sync, connection)
  return () => resolveTarget(sync, connection, { known, signal: new AbortController().signal })
}

test('workers that need a connection of the platform at the same time wait for the one that looks it up and creates it', async () => {
  await using opened = await open()
  const { world, client } = opened
  const lookUp = await lookUpOf(world)

  const results = await Promise.all([1, 2, 3, 4, 5].map(lookUp))

  const made = await client.listCustomConnections({ query: {} })
  const ids = made.status === 200 ? made.body.data.map(({ id }) => id) : []
  expect(ids).toEqual([expect.any(Number)])
  expect(results).toEqual(results.map(() => ({ connectionId: ids[0], records: null })))
})

test('a late worker uses the target that was found, and forgets nobody who was confirmed there', async () => {
  await using opened = await open()
  const { sync } = opened.world
  const { db } = sync.store
  const [connection] = sync.connections.values()
  if (!connection) throw new Error('the world has no connection')
  const { name } = connection
  await ensureConnection(db, name)
  await setTarget(db, name, { key: 'another platform', id: 7, resource: null })
  const former = await targetOf(db, name)
  await sql`insert into roster (connection, identity_id, desired, as_of) values (${name}, 'E1', '{"identityId": "E1"}', now())`.execute(
    db,
  )

  const { key } = await saveTarget(sync, connection, former)
  await setTarget(db, name, { key: key ?? '', id: 8, resource: null })
  const forgotten = await db.deleteFrom('acknowledged').returning('identity_id').execute()
  const late = await saveTarget(sync, connection, former)

  expect(forgotten).toEqual([{ identity_id: 'E1' }])
  expect(late).toMatchObject({ key, id: 8 })
  expect(await db.selectFrom('acknowledged').select('identity_id').execute()).toEqual([])
})

test('a worker that waits for a failed look-up retries, and does not report it', async () => {
  await using opened = await open()
  const { world } = opened
  const lookUp = await lookUpOf(world)
  between(world, () => ({ listCustomConnections: async () => unknownKey }))

  const results = await Promise.all([1, 2, 3].map(lookUp))

  expect(results.map((stop) => 'code' in stop && stop.code).toSorted()).toEqual([
    'being_looked_up',
    'being_looked_up',
    'key_refused',
  ])
})

test('a verification creates no connection: a missing one has no people, and the delivery creates it', async () => {
  await using opened = await open()
  const { world, client } = opened
  const made: string[] = []
  between(world, (real) => ({
    createCustomConnection: async (input, options) => {
      const [run] = await world.sync.store.db.selectFrom('runs').select('state').execute()
      made.push(run?.state ?? '')
      return await real.createCustomConnection(input, options)
    },
  }))

  const run = await world.night(staff(5), { verify: true })

  expect(run).toMatchObject({ state: 'finished', verification: { listed: 0, lost: 0 } })
  expect(made).toEqual(['delivering'])
  expect((await peopleOn(client)).size).toBe(5)
})

test('a connection with the same name and another type stays unchanged, and one of the right type is created', async () => {
  await using opened = await open()
  const { world, client } = opened
  const other = await client.createCustomConnection({ body: { name: 'Acme HRIS', providerTypes: ['MDM'] } })

  const run = await world.night(staff(5))

  const [connection] = await connectionStates(world.sync.store.db)
  expect(run.state).toBe('finished')
  expect(other.status === 201 && other.body.id).not.toBe(connection?.targetId)
})

test('two connections with the same name block the delivery until one is named by id', async () => {
  await using opened = await open()
  const { world, client } = opened
  for (const _ of [1, 2]) await client.createCustomConnection({ body: { name: 'Acme HRIS', providerTypes: ['HRIS'] } })

  const run = await world.night(staff(5))

  expect(run.state).toBe('delivering')
  expect((await connectionStates(world.sync.store.db))[0]?.blocked?.reason).toMatch(
    /2 HRIS connections named "Acme HRIS"/,
  )
})

test.each([
  ['does not exist', async () => 999_999, /has no custom connection 999999/],
  [
    'is of another type',
    async (client: PlatformClient) => {
      const made = await client.createCustomConnection({ body: { name: 'Devices', providerTypes: ['MDM'] } })
      return made.status === 201 ? made.body.id : 0
    },
    /is of type MDM, not HRIS/,
  ],
] as const)('a connection id that %s blocks the delivery and changes nothing', async (_name, idOf, reason) => {
  const { client } = await host.tenant()
  const id = await idOf(client)
  await using world = await openWorld({ client, connection: { target: { id } } })

  const run = await world.night(staff(5))

  expect(run.state).toBe('delivering')
  expect((await connectionStates(world.sync.store.db))[0]?.blocked?.reason).toMatch(reason)
})

test('a process whose claim to create the connection was taken over creates none, and keeps the claim of the other', async () => {
  await using opened = await open()
  const { world, client } = opened
  const { sync } = world
  const { db } = sync.store
  await using other = await takeLease(sync.store)
  const lookUp = await lookUpOf(world)
  const { name } = world.connection
  between(world, (real) => ({
    // While this process was stopped in its look-up, another one took it for dead.
    listCustomConnections: async (input, options) => {
      const answer = await real.listCustomConnections(input, options)
      await db.updateTable('connections').set({ target_lease: other.id }).where('name', '=', name).execute()
      return answer
    },
  }))

  const result = await lookUp()
  const isFree = await claimTarget(db, { connection: name, lease: sync.lease })
  await releaseTarget(db, { connection: name, lease: other })

  const made = await client.listCustomConnections({ query: {} })
  expect(result).toMatchObject({ kind: 'wait', code: 'being_looked_up' })
  expect(made.status === 200 ? made.body.data : null).toEqual([])
  expect(isFree).toBe(false)
  expect(await claimTarget(db, { connection: name, lease: sync.lease })).toBe(true)
})
