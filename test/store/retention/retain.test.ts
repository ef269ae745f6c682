import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { personOf } from '../../../src/store/audit/history.ts'
import { retryEvents } from '../../../src/store/inbox/review.ts'
import { kept } from '../../../src/store/retention/kept.ts'
import { retain } from '../../../src/store/retention/retain.ts'
import { explaining } from '../../helpers/explaining.ts'
import { type Host, openWorld, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const days = (count: number) => count * 24 * 60 * 60_000
const settings = { valuesDays: 30, historyDays: 1095 }

async function afterDays(world: World, count: number): Promise<Date> {
  world.clock.now = new Date(world.clock.now.getTime() + days(count))
  return world.clock.now
}

/** Everything in the store, as one text. */
async function wholeStore(world: World, except: readonly string[] = []): Promise<string> {
  const { db } = world.sync.store
  const texts = await Promise.all(
    Object.keys(kept)
      .filter((table) => !except.includes(table))
      .map(async (table) => {
        const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(table)} t`.execute(db)
        return rows.map(({ row }) => row).join('\n')
      }),
  )
  return texts.join('\n')
}

test('every column of every table of the store is listed with how long it is kept', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { rows } = await sql<{ place: string }>`
    select c.table_name || '.' || c.column_name as place from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'rollcall' and t.table_type = 'BASE TABLE' order by 1`.execute(world.sync.store.db)

  const listed = Object.entries(kept).flatMap(([table, groups]) =>
    groups.flatMap(({ columns }) => columns.map((column) => `${table}.${column}`)),
  )

  expect(listed.toSorted()).toEqual(rows.map(({ place }) => place).toSorted())
})

test('values of finished runs go after their time, and keys, counts and dates of leaving stay', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const bad = { id: 'E0000', start: '2026-02-31' }
  await world.night([bad, ...staff(5)])
  const left = await world.night([bad, ...without(staff(5), 'E0002')], { asOf: '2026-11-20T02:00:00.000Z' })
  const early = await retain(db, settings, await afterDays(world, 29))
  const before = await personOf(db, { connection: 'acme', identityId: 'E0002' })

  const removed = await retain(db, settings, await afterDays(world, 2))
  const again = await retain(db, settings, world.clock.now)

  const after = await personOf(db, { connection: 'acme', identityId: 'E0002' })
  expect(early).toEqual({ runs: 0, values: 0, events: 0, history: 0 })
  expect(removed).toMatchObject({ runs: 2, history: 0 })
  expect(again).toEqual({ runs: 0, values: 0, events: 0, history: 0 })
  expect(before?.changes[1]?.change).toMatchObject({ fields: { email: { from: null, to: 'e2@acme.example' } } })
  expect(after?.changes).toMatchObject([
    {
      runId: left.id,
      state: 'confirmed',
      change: { kind: 'leave', fields: { separatedAt: { to: '2026-11-20T00:00:00.000Z' } } },
    },
    { state: 'confirmed', change: { kind: 'join', fields: { email: { from: null, to: null, gone: true } } } },
  ])
  expect(await world.runOf(left.id)).toMatchObject({
    valuesRemovedAt: '2026-12-21T03:02:00.000Z',
    counts: { leave: 1 },
    confirmed: 1,
    digest: left.digest,
  })
  expect(await wholeStore(world, ['roster'])).not.toMatch(/@acme\.example|Person \d|Engineer/)
  const next = await world.night([bad, ...without(staff(5), 'E0002')], { asOf: '2026-12-20T02:00:00.000Z' })
  expect(next.state).toBe('unchanged')
})

test('an event that could not be used keeps its place and loses its body', async () => {
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

  const removed = await retain(db, settings, await afterDays(world, 31))

  const event = await db.selectFrom('inbox').select(['body', 'reason', 'state']).executeTakeFirst()
  expect(removed.events).toBe(1)
  expect(event).toEqual({ body: null, state: 'rejected', reason: 'no key; its body was removed after 30 days' })
  expect(await retryEvents(db, { connection: 'acme' })).toBe(0)
})

test('runs of long ago go, but for the last hundred and those of which something still stands', async () => {
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

  const removed = await retain(db, settings, await afterDays(world, 1200))

  expect(removed.history).toBe(5)
  expect((await world.runOf(first.id)).state).toBe('finished')
})

test('a large run loses its values and then itself in portions, each of which looks at no more than its own rows', async () => {
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
  const left = async () => {
    const { rows } = await sql<{ values: number; changes: number; runs: number }>`
      select count(record)::int as values, count(*)::int as changes, (select count(*)::int from runs where id = ${run.id}) as runs
      from changes where run_id = ${run.id}`.execute(db)
    return rows[0]
  }
  const looked: number[] = []
  const turn = async (portions: number) => {
    const { explained, found } = explaining(db)
    await retain(explained, { ...settings, portions }, world.clock.now)
    looked.push(...found.filter(({ statement }) => statement.includes('changes')).map(({ rows }) => rows))
    return await left()
  }

  await afterDays(world, 31)
  const valuesLeft = [await turn(2), await turn(2), await turn(2)].map((after) => after?.values)
  await retain(db, settings, world.clock.now)
  await afterDays(world, 1200)
  const changesLeft = [await turn(2), await turn(2), await turn(10)]

  expect(valuesLeft).toEqual([5001, 1001, 0])
  expect(changesLeft).toEqual([
    { values: 0, changes: 5001, runs: 1 },
    { values: 0, changes: 1001, runs: 1 },
    { values: 0, changes: 0, runs: 0 },
  ])
  // The second and the third turn pass over what was removed before, each of them once.
  expect(looked.filter((rows) => rows > 2000)).toEqual([6000, 9001])
})
