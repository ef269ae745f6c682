import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import type { OwnField } from '../../../src/identity/record.ts'
import type { Property } from '../../../src/identity/shape/property.ts'
import { compileShape } from '../../../src/identity/shape/shape.ts'
import { claimRun } from '../../../src/store/runs/claims.ts'
import { addWaitingRun, ensureConnection, listRuns } from '../../../src/store/runs/runs.ts'
import type { SyncConnection } from '../../../src/sync/context/context.ts'
import { settleSources } from '../../../src/sync/plan/feeds.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { liveRecords, workspaceOf } from '../../helpers/custom-records.ts'
import { type Host, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const schema = { type: 'object', properties: { name: { type: 'string' }, title: { type: 'string' } } }
const property: Property = { type: 'string', isList: false, mayBeNull: false }

/** People, and a connection of records that rides along. */
async function open() {
  await using opening = new AsyncDisposableStack()
  const { client, name } = await host.tenant()
  const workspaceId = await workspaceOf(host, name)
  const settled: string[] = []
  const listed: string[] = []
  let opens = 0
  const world = opening.use(await openWorld({ client }))
  const source = world.connection.feeds.source
  if (!source) throw new Error('the world has a source')
  const connector = {
    open: async (options: Parameters<typeof source.connector.open>[0]) => {
      opens += 1
      await options.taken(listed)
      return await source.connector.open(options)
    },
  }
  const shape = compileShape(
    schema,
    new Map<OwnField, Property>([
      ['.name', property],
      ['.title', property],
    ]),
  )
  const mapping = Mapping.parse({
    fields: { identityId: 'Worker ID' },
    record: { name: { column: 'First Name', property }, title: { column: 'Job Title', property } },
  })
  const people: SyncConnection = {
    ...world.connection,
    feeds: {
      source: {
        ...source,
        connector: { ...connector, settle: async ({ name: file }) => void settled.push(file) },
      },
    },
  }
  const rider: SyncConnection = {
    ...world.connection,
    name: 'records',
    guards: structuredClone(world.connection.guards),
    target: { name: 'Records', type: 'CUSTOM', workspaces: [workspaceId], displayNameKey: 'name', schema },
    records: { shape, deliver: 'bySource' },
    rides: 'acme',
    feeds: { source: { ...source, mapping, shape, connector } },
  }
  Object.assign(world.sync, { connections: new Map([people, rider].map((one) => [one.name, one])) })
  const opened = opening.move()
  return {
    client,
    world,
    settled,
    listed,
    opens: () => opens,
    lastOf: async (connection: string) => (await listRuns(world.sync.store.db, { connection, limit: 1 }))[0] ?? null,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

test('an export is read once for all that ride along, and each of them is planned and delivered by itself', async () => {
  await using opened = await open()
  const { world, client } = opened

  const run = await world.night(staff(30))
  const rider = await opened.lastOf('records')

  expect(opened.opens()).toBe(1)
  expect(run).toMatchObject({ state: 'finished', also: [{ id: rider?.id, connection: 'records' }] })
  expect(rider).toMatchObject({ state: 'finished', ridesWith: run.id, confirmed: 30 })
  expect((await peopleOn(client)).size).toBe(30)
  expect([...(await liveRecords(client)).values()][0]).toEqual({ id: 'E0001', name: 'Person 1', title: 'Engineer' })
  expect(opened.settled).toEqual(['people.csv'])
})

test('what the source still lists is noted for all that ride along, so that none of them reads it again', async () => {
  await using opened = await open()
  const { world, listed } = opened
  const { db } = world.sync.store
  await world.night(staff(3))
  const rows = await db.selectFrom('taken_sources').select('version').distinct().execute()
  listed.push(...rows.map(({ version }) => version))

  await world.night(staff(3), { asOf: '2026-11-21T01:00:00.000Z' })

  const noted = await db.selectFrom('taken_sources').select('connection').where('listed_at', 'is not', null).execute()
  expect(noted.map(({ connection }) => connection).toSorted()).toEqual(['acme', 'records'])
})

test('the one is held while the other goes on, and the export is put away only when both are decided', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(30))
  const guards = world.sync.connections.get('records')?.guards
  Object.assign(guards ?? {}, { joiners: { count: 0, share: 0 } })
  const before = opened.settled.length

  const run = await world.night(staff(31), { asOf: '2026-11-21T01:00:00.000Z' })
  const rider = await opened.lastOf('records')

  expect(run.state).toBe('finished')
  expect(rider?.state).toBe('held')
  expect((await peopleOn(client)).size).toBe(31)
  expect((await liveRecords(client)).size).toBe(30)
  expect(opened.settled.length).toBe(before)
})

test('one that is at work already reads for itself afterwards', async () => {
  await using opened = await open()
  const { world, client } = opened
  const { db } = world.sync.store
  await ensureConnection(db, 'records')
  const busy = await addWaitingRun(db, {
    connection: 'records',
    feed: 'source',
    trigger: 'operator',
    options: {},
    now: world.clock.now,
  })
  await claimRun(db, { id: busy, lease: world.sync.lease, now: world.clock.now })

  const run = await world.night(staff(30))
  await db.updateTable('runs').set({ lease: null }).where('id', '=', busy).execute()
  await world.minute()
  await world.minute()

  expect(run.state).toBe('finished')
  expect(opened.opens()).toBeGreaterThan(1)
  expect((await liveRecords(client)).size).toBe(30)
})

test('what one fails with does not concern the other, and is made up for', async () => {
  await using opened = await open()
  const { world, client } = opened
  const { db } = world.sync.store
  await world.night(staff(30))
  // Whatever the other writes into its plan is refused by the database.
  await db.schema
    .alterTable('changes')
    .addCheckConstraint('broken', sql`record ->> '.title' is null or identity_id <> 'E0031'`)
    .execute()

  const run = await world.night(staff(31), { asOf: '2026-11-21T01:00:00.000Z' })
  const between = (await liveRecords(client)).size
  await db.schema.alterTable('changes').dropConstraint('broken').execute()
  await world.minute()

  expect(run.state).toBe('finished')
  expect((await peopleOn(client)).size).toBe(31)
  expect(between).toBe(30)
  expect((await liveRecords(client)).size).toBe(31)
})

test('an export stays where it is while the last run of one that rides along has failed: it has not read it', async () => {
  await using opened = await open()
  const { world, client } = opened
  const { db } = world.sync.store
  const people = world.sync.connections.get('acme')
  if (!people) throw new Error('no connection')
  await world.night(staff(30))
  const before = opened.settled.length
  await db.schema
    .alterTable('changes')
    .addCheckConstraint('broken', sql`record ->> '.title' is null or identity_id <> 'E0031'`)
    .execute()

  await world.night(staff(31), { asOf: '2026-11-21T01:00:00.000Z' })
  while ((await opened.lastOf('records'))?.state === 'reading') await world.minute()
  const failed = await opened.lastOf('records')
  await settleSources(world.sync, people)
  const meanwhile = opened.settled.length
  await db.schema.alterTable('changes').dropConstraint('broken').execute()
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)
  await requestRun(world.sync, { connection: 'records', trigger: 'operator' })
  await world.drain()

  expect(failed?.state).toBe('failed')
  expect(meanwhile).toBe(before)
  expect(world.events).toContainEqual(
    expect.objectContaining({
      event: 'source.unsettled',
      connection: 'acme',
      reason: expect.stringMatching(/the last run of records failed.*"rollcall sync records" repeats it/),
    }),
  )
  expect((await liveRecords(client)).size).toBe(31)
  expect(opened.settled.length).toBe(before + 1)
})

test('one that is asked for by itself reads the source of the other and leaves it alone', async () => {
  await using opened = await open()
  const { world, client } = opened
  world.hrSays(staff(30))

  await requestRun(world.sync, { connection: 'records', trigger: 'operator' })
  await world.drain()

  expect((await liveRecords(client)).size).toBe(30)
  expect(await opened.lastOf('acme')).toBeNull()
  expect(opened.settled).toEqual([])
})
