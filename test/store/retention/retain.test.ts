import { rm } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folderConnector } from '../../../src/connectors/folder/open.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { personOf, rejectsOf } from '../../../src/store/history/history.ts'
import { dismissEvents, retryEvents } from '../../../src/store/inbox/review.ts'
import { removeExpired } from '../../../src/store/retention/retain.ts'
import { storedData } from '../../../src/store/retention/stored-data.ts'
import { type Purpose, takeSlot } from '../../../src/store/runs/slots.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { lastRun, later, receive, updated, webhookFeed } from '../../helpers/events.ts'
import { explaining } from '../../helpers/explaining.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { csvOf } from '../../helpers/sources/source-workplace.ts'
import {
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const days = (count: number) => count * 24 * 60 * 60_000
/** A day that cannot be read, which reasons quote. Its year is looked for as a word, since a digest may hold the digits by chance. */
const badDay = '31.31.7371'
const settings = { valuesDays: 30, historyDays: 1095 }

async function afterDays(world: World, count: number): Promise<Date> {
  world.clock.now = new Date(world.clock.now.getTime() + days(count))
  return world.clock.now
}

/** Everything in the store, as one text. */
async function wholeStore(world: World, except: readonly string[] = []): Promise<string> {
  const { db } = world.sync.store
  const texts = await Promise.all(
    Object.keys(storedData)
      .filter((table) => !except.includes(table))
      .map(async (table) => {
        const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(table)} t`.execute(db)
        return rows.map(({ row }) => row).join('\n')
      }),
  )
  return texts.join('\n')
}

test('every column of every table of the store is listed with its retention', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { rows } = await sql<{ location: string }>`
    select c.table_name || '.' || c.column_name as location from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'rollcall' and t.table_type = 'BASE TABLE' order by 1`.execute(world.sync.store.db)

  const listed = Object.entries(storedData).flatMap(([table, groups]) =>
    groups.flatMap(({ columns }) => columns.map((column) => `${table}.${column}`)),
  )

  expect(listed.toSorted()).toEqual(rows.map(({ location }) => location).toSorted())
})

test('values of finished runs go after their time, and keys, counts and dates of leaving stay', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const bad = { id: 'E0000', start: '2026-02-31' }
  await world.night([bad, ...staff(5)])
  const departureRun = await world.night([bad, ...without(staff(5), 'E0002')], { asOf: '2026-11-20T02:00:00.000Z' })
  const early = await removeExpired(db, settings, await afterDays(world, 29))
  const before = await personOf(db, { connection: 'acme', identityId: 'E0002' })

  const removed = await removeExpired(db, settings, await afterDays(world, 2))
  const again = await removeExpired(db, settings, world.clock.now)

  const after = await personOf(db, { connection: 'acme', identityId: 'E0002' })
  expect(early).toEqual({ runs: 0, values: 0, events: 0, history: 0 })
  expect(removed).toMatchObject({ runs: 2, history: 0 })
  expect(again).toEqual({ runs: 0, values: 0, events: 0, history: 0 })
  expect(before?.changes[1]?.change).toMatchObject({ fields: { email: { from: null, to: 'e2@acme.example' } } })
  expect(after?.changes).toMatchObject([
    {
      runId: departureRun.id,
      state: 'confirmed',
      change: { kind: 'leave', fields: { separatedAt: { to: '2026-11-20T00:00:00.000Z' } } },
    },
    { state: 'confirmed', change: { kind: 'join', fields: { email: { from: null, to: null, gone: true } } } },
  ])
  expect(await world.runOf(departureRun.id)).toMatchObject({
    valuesRemovedAt: '2026-12-21T03:02:00.000Z',
    counts: { leave: 1 },
    confirmed: 1,
    digest: departureRun.digest,
  })
  expect(await wholeStore(world, ['roster'])).not.toMatch(/@acme\.example|Person \d|Engineer/)
  const next = await world.night([bad, ...without(staff(5), 'E0002')], { asOf: '2026-12-20T02:00:00.000Z' })
  expect(next.state).toBe('unchanged')
})

test('an unusable event stays listed and loses its body', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  await world.night(staff(1))
  await db
    .insertInto('inbox')
    .values({
      connection: 'acme',
      dedup_key: 'a',
      received_at: world.clock.now,
      body: Buffer.from('Ann'),
      state: 'rejected',
      reason: 'no key',
    })
    .execute()

  const removed = await removeExpired(db, settings, await afterDays(world, 31))

  const event = await db.selectFrom('inbox').select(['body', 'reason', 'state']).executeTakeFirst()
  expect(removed.events).toBe(1)
  expect(event).toEqual({
    body: null,
    state: 'rejected',
    reason: 'it could not be used, and its body was removed after 30 days',
  })
  expect(await retryEvents(db, { connection: 'acme' })).toBe(0)
})

test('an unreadable departure stays listed when its values are removed, until the event is dismissed', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, webhook: webhookFeed() })
  const { db } = world.sync.store
  const blockedPeople = async () =>
    (
      await conditions(db, {
        ...{ connections: ['acme'], overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() },
        now: world.clock.now,
      })
    ).filter(({ kind }) => kind === 'blockedPeople')
  await world.night(staff(3))
  await receive(world, updated('E0002', 'Boss', '2026-11-20T02:20:00.000Z', { left: badDay, start: badDay }))
  await later(world, 60)
  const { id } = await lastRun(world)
  const before = await blockedPeople()

  const removed = await removeExpired(db, settings, await afterDays(world, 31))
  const again = await removeExpired(db, settings, world.clock.now)

  expect(before).toMatchObject([{ people: 1, leavers: 1 }])
  expect(await blockedPeople()).toEqual(before)
  expect(removed).toMatchObject({ runs: 2, events: 1 })
  expect(again).toEqual({ runs: 0, values: 0, events: 0, history: 0 })
  expect(await rejectsOf(db, id)).toMatchObject([
    { reject: { identityId: 'E0002', mayLeave: false, reason: 'its reason was removed with the values' } },
    { reject: { identityId: 'E0002', mayLeave: true, reason: 'its reason was removed with the values' } },
  ])
  expect(await wholeStore(world)).not.toMatch(/(?<!\w)7371(?!\w)|2e37333731/)
  await dismissEvents(db, { connection: 'acme', ids: ['1'], by: 'Ada' })
  expect(await blockedPeople()).toEqual([])
})

test('quotes in the faults of an export are removed with the values of the last run that met them', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, feed: { absence: 'ignore' } })
  const { db } = world.sync.store
  const bad = { id: 'E0001', start: badDay, leavingDate: badDay }
  await world.night([bad, ...staff(3).slice(1)])
  const before = await wholeStore(world)

  await removeExpired(db, settings, await afterDays(world, 31))

  expect(before).toMatch(/(?<!\w)7371(?!\w)|2e37333731/)
  expect(await wholeStore(world)).not.toMatch(/(?<!\w)7371(?!\w)|2e37333731/)
  expect(await db.selectFrom('known_faults').select(['identity_id', 'may_leave', 'field']).execute()).toHaveLength(2)
  const next = await world.night([bad, ...staff(3).slice(1)], { asOf: '2026-12-20T02:00:00.000Z' })
  expect(next.state).toBe('unchanged')
})

test('old runs are deleted, except for the last hundred and those that are still referenced', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const first = await world.night(staff(2))
  await sql`
    insert into runs (id, connection, feed, trigger, options, state, created_at, finished_at)
    select gen_random_uuid(), 'acme', 'source', 'schedule', '{}', 'unchanged', ${world.clock.now}::timestamptz + n * interval '1 hour',
      ${world.clock.now}::timestamptz + n * interval '1 hour' from generate_series(1, 105) n`.execute(db)
  await sql`insert into problems (connection, identity_id, run_id, kind, message, first_at, last_at) values ('acme', 'E0001', ${first.id}, 'join', '', now(), now())`.execute(
    db,
  )

  const removed = await removeExpired(db, settings, await afterDays(world, 1200))

  expect(removed.history).toBe(5)
  expect((await world.runOf(first.id)).state).toBe('finished')
})

test('a large run loses its values and is then deleted in portions, each of which reads only its own rows', {
  tags: ['full'],
}, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const run = await world.night(staff(1))
  await sql`
    insert into changes (run_id, identity_id, kind, record, fields, state, batch)
    select ${run.id}, 'F' || n, 'join', '{"identityId": "F"}', '{"email": {"from": null, "to": "f@acme.example"}}', 'due', 1
    from generate_series(1, 9000) n`.execute(db)
  await sql`analyze changes`.execute(db)
  await sql`
    insert into runs (id, connection, feed, trigger, options, state, created_at, finished_at)
    select gen_random_uuid(), 'acme', 'source', 'schedule', '{}', 'unchanged', ${world.clock.now}::timestamptz + n * interval '1 hour',
      ${world.clock.now}::timestamptz + n * interval '1 hour' from generate_series(1, 100) n`.execute(db)
  const remaining = async () => {
    const { rows } = await sql<{ values: number; changes: number; runs: number }>`
      select count(record)::int as values, count(*)::int as changes, (select count(*)::int from runs where id = ${run.id}) as runs
      from changes where run_id = ${run.id}`.execute(db)
    return rows[0]
  }
  const looked: number[] = []
  const turn = async (portions: number) => {
    const { explained, costs } = explaining(db)
    await removeExpired(explained, { ...settings, portions }, world.clock.now)
    looked.push(...costs.filter(({ statement }) => statement.includes('changes')).map(({ rows }) => rows))
    return await remaining()
  }

  await afterDays(world, 31)
  const remainingValues = [await turn(2), await turn(2), await turn(2)].map((after) => after?.values)
  await removeExpired(db, settings, world.clock.now)
  await afterDays(world, 1200)
  const remainingChanges = [await turn(2), await turn(2), await turn(10)]

  expect(remainingValues).toEqual([5001, 1001, 0])
  expect(remainingChanges).toEqual([
    { values: 0, changes: 5001, runs: 1 },
    { values: 0, changes: 1001, runs: 1 },
    { values: 0, changes: 0, runs: 0 },
  ])
  // The second and the third turn pass over what was removed before, each of them once.
  expect(looked.filter((rows) => rows > 2000)).toEqual([6000, 9001])
})

test('a decided export is known for as long as it is in the folder, and deleted after its retention', async () => {
  await using folder = await exportFolder()
  const { client } = await host.tenant()
  const options = { baseDir: folder.path, spoolDir: `${folder.path}/spool`, secret: () => null }
  const csvSource = FolderSource.parse({
    ...{ type: 'csv', path: 'people-*.csv', mode: 'snapshot', take: 'each' },
    complete: { quietSeconds: 0 },
  })
  await using world = await openWorld({ client, feed: { connector: folderConnector(csvSource, options as never) } })
  const { db } = world.sync.store
  const arrives = async (name: string, people: readonly HrPerson[]) =>
    await folder.write(name, csvOf(people), { modifiedAt: new Date(world.clock.now.getTime() - days(1)) })
  const read = async () => {
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await world.drain()
    return await world.runOf(id)
  }
  const taken = async () => {
    const rows = await db.selectFrom('decided_sources').select('source').orderBy('decided_at').execute()
    return rows.map(({ source }) => source.name)
  }
  const retention = { valuesDays: 30, historyDays: 90 }
  await arrives('people-1.csv', staff(40))
  await read()
  await afterDays(world, 1)
  await arrives('people-2.csv', without(staff(40), 'E0002'))
  await read()

  // Nobody has looked into the folder for a long time; then a new export arrives.
  await removeExpired(db, retention, await afterDays(world, 100))
  await arrives('people-3.csv', without(staff(40), 'E0002', 'E0003'))
  const third = await read()
  await removeExpired(db, retention, world.clock.now)
  const listed = await taken()
  await rm(`${folder.path}/people-1.csv`)
  await afterDays(world, 60)
  const nothing = await read()
  await removeExpired(db, retention, await afterDays(world, 60))

  expect(third).toMatchObject({ state: 'finished', source: { name: 'people-3.csv' }, counts: { leave: 1 } })
  expect(listed).toEqual(['people-1.csv', 'people-2.csv', 'people-3.csv'])
  expect(nothing).toMatchObject({ state: 'unchanged', source: null })
  expect(await taken()).toEqual(['people-2.csv', 'people-3.csv'])
  expect((await peopleOn(client)).get('E0003')?.separatedAt).not.toBeNull()
})

test('an export that was not yet archived is not deleted', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  await world.night(staff(1))
  await sql`update decided_sources set archived_at = null`.execute(db)
  await afterDays(world, 2000)
  await world.night(staff(1), { asOf: world.clock.now.toISOString() })
  await sql`update decided_sources set archived_at = null where decided_at < ${world.clock.now}`.execute(db)

  await removeExpired(db, settings, world.clock.now)

  expect(await db.selectFrom('decided_sources').select('version').execute()).toHaveLength(2)
})

test('the newest slot of each purpose stays, because a schedule without any would skip its next one', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const take = async (purpose: Purpose, slot: string) =>
    await takeSlot(db, { connection: 'acme', purpose, slot, now: world.clock.now })
  await take('verify', '2026-11-18T04:00')
  await take('read', '2026-11-19T03:00')
  await afterDays(world, 1)
  await take('read', '2026-11-20T03:00')
  await afterDays(world, 1)
  await take('sample', '2026-11-21T03:00')
  await afterDays(world, 2000)
  await take('sample', '2032-11-21T03:00')

  await removeExpired(db, settings, world.clock.now)

  const slots = await db.selectFrom('slots').select('slot').orderBy('taken_at').execute()
  expect(slots.map(({ slot }) => slot)).toEqual([
    'verify 2026-11-18T04:00',
    '2026-11-20T03:00',
    'sample 2032-11-21T03:00',
  ])
})
