import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { personOf } from '../../../src/store/history/history.ts'
import { dismissEvents, listEvents } from '../../../src/store/inbox/review.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import { storedData } from '../../../src/store/retention/stored-data.ts'
import { rosterEntry } from '../../../src/store/roster/roster.ts'
import { addMembers, membersOf } from '../../../src/store/scim/members.ts'
import { ensureScimConnection, findResource, insertResource } from '../../../src/store/scim/resources.ts'
import { approveRun, rejectRun, requestRun, restorePerson, retractPerson } from '../../../src/sync/sync.ts'
import { heldRun, later, receive, updated, webhookFeed } from '../../helpers/events.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const canary = {
  id: 'E0002',
  email: 'canary@acme.example',
  first: 'Canary',
  title: 'Canary keeper',
  start: '2020-01-06',
}

/** A company in which one person has a unique name. */
function people(count = 4) {
  return change(staff(count), canary)
}

function forget(world: World, identityId = canary.id): Promise<number> {
  const about = { connection: 'acme', identityId, reason: 'asked for', by: 'Ada', today: '2026-11-20' }
  return forgetPerson(world.sync.store.db, { ...about, now: world.clock.now })
}

/** A day that cannot be read, which reasons quote. Its year is looked for as a word, since a digest may hold the digits by chance. */
const badDay = '31.31.7371'

/** The tables that contain the canary. */
async function whereCanary(world: World): Promise<string[]> {
  const tables = await Promise.all(
    Object.keys(storedData).map(async (table) => {
      const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(table)} t`.execute(
        world.sync.store.db,
      )
      return rows.some(({ row }) => /canary|616e617279|(?<!\w)7371(?!\w)|2e37333731/i.test(row)) ? [table] : []
    }),
  )
  return tables.flat()
}

test('a person who has left is forgotten everywhere, and no later export makes a joiner of them', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  await world.night(people())
  const gone = { ...canary, leavingDate: '2026-11-19', status: 'Inactive' }
  const departureRun = await world.night(change(people(), gone), { asOf: '2026-11-20T01:20:00.000Z' })
  const account = JSON.stringify({ person: { identityId: canary.id, rows: ['Canary'] } })
  await db.insertInto('run_accounts').values({ run_id: departureRun.id, account }).execute()
  await db
    .insertInto('inbox')
    .values({
      connection: 'acme',
      dedup_key: 'a',
      received_at: world.clock.now,
      body: Buffer.from('Canary'),
      state: 'rejected',
    })
    .execute()
  await sql`
    insert into rejects (run_id, line, reason, identity_id, event, cell_only, may_leave, fingerprint)
    select ${departureRun.id}, 1, 'bad', 'E0002', id::text, false, true, 'f' from inbox`.execute(db)
  const before = await whereCanary(world)

  const changes = await forget(world)

  expect(before).toEqual(expect.arrayContaining(['roster', 'changes', 'inbox']))
  expect(await whereCanary(world)).toEqual([])
  expect(changes).toBe(2)
  const known = await personOf(db, { connection: 'acme', identityId: 'E0002' })
  expect(known).toMatchObject({
    entry: { desired: { identityId: 'E0002', separatedAt: '2026-11-19T00:00:00.000Z' }, forgotten: true },
    changes: [
      { change: { kind: 'leave', fields: { separatedAt: { to: '2026-11-19T00:00:00.000Z' } } } },
      { change: { kind: 'join' } },
    ],
  })

  const named = await world.night(change(people(), gone), { asOf: '2026-11-20T02:00:00.000Z' })
  const full = await world.night(change(people(), gone), { asOf: '2026-11-20T02:10:00.000Z', full: true })
  const unnamed = await world.night(without(people(), 'E0002'), { asOf: '2026-11-20T02:20:00.000Z' })
  expect([named.state, full.state, unnamed.state]).toEqual(['unchanged', 'finished', 'unchanged'])
  expect(await whereCanary(world)).toEqual([])
  expect((await peopleOn(client)).get('E0002')).toMatchObject({
    firstName: 'Canary',
    separatedAt: '2026-11-19T00:00:00.000Z',
  })
})

test('unreadable data of a person is forgotten, in rows and in their own events, and faults of others stay', async () => {
  const { client } = await host.tenant()
  const webhook = webhookFeed({ events: '/items', time: '/at' })
  await using world = await openWorld({ client, webhook })
  const { db } = world.sync.store
  await world.night(people())
  const gone = { ...canary, leavingDate: '2026-11-19', start: badDay, status: 'Inactive' }
  await world.night(change(people(), gone), { asOf: '2026-11-20T01:20:00.000Z' })
  const updateOf = (id: string, start: string) => ({ type: 'updated', employee: { id, start } })
  const at = '2026-11-20T02:20:00.000Z'
  await receive(world, JSON.stringify({ at, items: [updateOf('E0002', badDay)] }))
  await receive(world, JSON.stringify({ at, items: [updateOf('E0002', badDay), updateOf('E0003', '32.01.2026')] }))
  await later(world, 60)
  await whereCanary(world).then((tables) =>
    expect(tables).toEqual(expect.arrayContaining(['known_faults', 'rejects', 'inbox'])),
  )

  await forget(world)

  const events = await listEvents(db, { connection: 'acme' })
  expect(events).toMatchObject([
    { state: 'rejected', bytes: 0, reason: 'its body was removed with the person' },
    { state: 'rejected', reason: expect.stringMatching(/^item 2: .*32\.01\.2026/) },
  ])
  expect(events[1]?.bytes).toBeGreaterThan(0)
  await dismissEvents(db, { connection: 'acme', ids: events.map(({ id }) => id), by: 'Ada' })
  expect(await whereCanary(world)).toEqual([])
  expect(await db.selectFrom('known_faults').select(['identity_id', 'reason']).execute()).toEqual([
    { identity_id: 'E0002', reason: 'its reason was removed with the values' },
  ])
})

test('a cell of a forgotten person does not come back with the next export', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(people())
  const gone = { ...canary, leavingDate: '2026-11-19', start: badDay, status: 'Inactive' }
  await world.night(change(people(), gone), { asOf: '2026-11-20T01:20:00.000Z' })
  await forget(world)

  const run = await world.night(change(people(), { ...gone, title: 'Keeper' }), { asOf: '2026-11-21T01:20:00.000Z' })

  const faults = world.sync.store.db.selectFrom('known_faults').select(['identity_id', 'reason', 'cell', 'run_id'])
  expect(await faults.execute()).toEqual([
    { identity_id: 'E0002', reason: 'its reason was removed with the values', cell: null, run_id: run.id },
  ])
})

test('the event of a rejected plan that is about nobody else is forgotten with the person', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, webhook: webhookFeed() })
  await world.night(people())
  await world.night(change(people(), { ...canary, leavingDate: '2026-11-19' }), { asOf: '2026-11-20T01:20:00.000Z' })
  await receive(world, { ...updated('E0002', 'Canary', '2026-11-20T02:20:00.000Z'), type: 'purged' })
  await later(world, 60)
  await rejectRun(world.sync, { runId: (await heldRun(world)).id, by: 'Ada', reason: 'no' })

  await forget(world)

  expect(await listEvents(world.sync.store.db, { connection: 'acme' })).toMatchObject([{ state: 'rejected', bytes: 0 }])
  expect(await whereCanary(world)).toEqual([])
})

test('a forgotten person whom HR states again returns, counted by the guards', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(people())
  await world.night(change(people(), { ...canary, leavingDate: '2026-11-19' }), { asOf: '2026-11-20T01:20:00.000Z' })
  await forget(world)

  const back = { ...canary, start: '2026-11-20', status: 'Active' }
  const run = await world.night(change(people(), back), { asOf: '2026-11-20T02:00:00.000Z' })

  expect(run).toMatchObject({ state: 'finished', counts: { return: 1, join: 0 } })
  expect((await peopleOn(client)).get('E0002')).toMatchObject({ firstName: 'Canary', separatedAt: null })
  const entry = await rosterEntry(world.sync.store.db, { connection: 'acme', identityId: 'E0002' })
  expect(entry?.desired).toMatchObject({ email: 'canary@acme.example' })
  expect(entry?.forgotten).toBeUndefined()
})

test('a retracted person is forgotten, and joins again only when the retraction is withdrawn', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(people())
  const run = await retractPerson(world.sync, {
    connection: 'acme',
    identityId: 'E0002',
    reason: 'Canary by mistake',
    by: 'Ada',
  })
  await expect(forget(world)).rejects.toThrow(`waits in the plan of run ${run.id}`)
  await approveRun(world.sync, { runId: run.id, digest: run.digest ?? '', by: 'Ada' })
  await world.drain()

  await forget(world)
  await world.night(people(), { asOf: '2026-11-20T02:00:00.000Z' })
  const withheld = [...(await peopleOn(client)).keys()]
  const kepts = await whereCanary(world)
  await restorePerson(world.sync, { connection: 'acme', identityId: 'E0002', by: 'Ada' })
  await world.drain()

  expect(withheld).toEqual(['E0001', 'E0003', 'E0004'])
  // The reason that a person typed is part of the record of what was decided.
  expect(kepts).toEqual(['runs', 'audit_pending'])
  expect((await peopleOn(client)).get('E0002')).toMatchObject({ firstName: 'Canary', separatedAt: null })
})

test('people who are employed, unknown, waiting or not acknowledged are not forgotten', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(people(12))

  await expect(forget(world)).rejects.toThrow('person E0002 is employed')
  await expect(forget(world, 'E9999')).rejects.toThrow('has no person E9999')

  const held = await world.night(people(12).slice(6), { asOf: '2026-11-20T02:00:00.000Z' })
  expect(held.state).toBe('held')
  await expect(forget(world)).rejects.toThrow(`waits in the plan of run ${held.id}`)
  await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  await world.sync.store.db.updateTable('runs').set({ state: 'reading' }).where('state', '=', 'waiting').execute()
  await expect(forget(world)).rejects.toThrow('is active')
})

test('what a sender pushed of a person who is forgotten is removed, and only that', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  await world.night(people())
  await world.night(change(people(), { ...canary, leavingDate: '2026-11-19', status: 'Inactive' }), {
    asOf: '2026-11-20T01:20:00.000Z',
  })
  await ensureScimConnection(db, 'acme')
  const user = { connection: 'acme', kind: 'User', at: world.clock.now, isActive: false } as const
  const [canaryId, otherId, groupId] = [randomUUID(), randomUUID(), randomUUID()]
  await insertResource(db, {
    ...user,
    id: canaryId,
    name: canary.email,
    externalId: 'c',
    identityId: canary.id,
    body: canary,
  })
  await insertResource(db, { ...user, id: otherId, name: 'other', externalId: null, identityId: 'E0003', body: {} })
  const members = [canaryId, otherId].map((value) => ({ value, display: value === canaryId ? 'Canary' : null }))
  await addMembers(db, { connection: 'acme', groupId }, members)
  const group = { connection: 'acme', kind: 'Group', at: world.clock.now, isActive: true, identityId: null } as const
  await insertResource(db, { ...group, id: groupId, name: 'staff', externalId: null, body: {} })
  const usersOfCanary = db.updateTable('scim_resources').where('id', '=', canaryId)

  // The sender would get 404 for a deactivation that comes later.
  await usersOfCanary.set({ is_active: true }).execute()
  await expect(forget(world)).rejects.toThrow('deactivate the user there first')
  await usersOfCanary.set({ is_active: false }).execute()
  const event = { connection: 'acme', dedup_key: 'r', event_id: canaryId, received_at: world.clock.now }
  await db
    .insertInto('inbox')
    .values({ ...event, body: Buffer.from('{}'), state: 'pending' })
    .execute()
  await expect(forget(world)).rejects.toThrow('waits to be planned')
  await db.deleteFrom('inbox').execute()
  await forget(world)

  expect(await whereCanary(world)).toEqual([])
  expect(await findResource(db, user, canaryId)).toBeNull()
  expect(await findResource(db, group, groupId)).toMatchObject({ version: 2 })
  expect(await findResource(db, user, otherId)).toMatchObject({ identityId: 'E0003' })
  expect((await membersOf(db, { connection: 'acme', groupIds: [groupId] })).get(groupId)).toEqual([
    { value: otherId, display: null, kind: 'User' },
  ])
})
