import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { makeStatement } from '../../../src/store/statement/make.ts'
import { everybodyIn, statementAt } from '../../../src/store/statement/read.ts'
import { answerKeys } from '../../../src/sync/requests/key-answers.ts'
import { statementsOf } from '../../helpers/statements.ts'
import { change, type Host, openWorld, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const people = staff(12)
const secondNight = '2026-11-21T01:00:00.000Z'

/** A world in which E0002 differs from the platform, and no plan ever sends it. */
async function openWithLostPerson(): Promise<World> {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  const { db } = world.sync.store
  const { id } = await world.night(people)
  await sql`insert into acknowledged (connection, identity_id, confirmed, run_id) values ('acme', 'E0002', '{}', null)`.execute(
    db,
  )
  await sql`create function lose_change() returns trigger language plpgsql as $$ begin return null; end $$`.execute(db)
  await sql`create trigger lose_change before insert on changes for each row when (new.identity_id = 'E0002') execute function lose_change()`.execute(
    db,
  )
  await sql`update changes set state = 'dropped' where run_id = ${id} and identity_id = 'E0002'`.execute(db)
  return world
}

/** Adds a waiting run that does not start. */
async function addRun(world: World, { feed, hours }: { feed: string; hours: number }): Promise<void> {
  const at = new Date(world.clock.now.getTime() - hours * 3_600_000)
  await sql`insert into runs (id, connection, feed, trigger, state, options, requested_by, created_at, lease)
    values (gen_random_uuid(), 'acme', ${feed}, 'operator', 'waiting', '{}', '[]', ${at}, ${world.sync.lease.id})`.execute(
    world.sync.store.db,
  )
}

/** Where the statement of a night on which another person changes has E0002. */
async function partOfLostPerson(world: World) {
  const { id } = await world.night(change(people, { id: 'E0005', title: 'Manager' }), { asOf: secondNight })
  const statement = (await statementsOf(world)).find(({ runId }) => runId === id)
  const { parts } = statement?.stated ?? {}
  return { unaccounted: statement?.unaccounted, excluded: parts?.excluded, onTheWay: parts?.onTheWay }
}

test.each<[about: string, state: string]>([
  ['was cancelled before', 'cancelled'],
  ['failed', 'failed'],
])('a person whose run %s, and whom no later plan sends, is unaccounted for', async (_, state) => {
  await using world = await openWithLostPerson()
  await sql`update runs set state = ${state}, finished_at = ${world.clock.now}`.execute(world.sync.store.db)

  expect(await partOfLostPerson(world)).toEqual({ unaccounted: ['E0002'], excluded: 0, onTheWay: 0 })
})

test.each<[about: string, run: { feed: string; hours: number }]>([
  ['has waited for more than a day', { feed: 'webhook', hours: 30 }],
  ['is about one other person', { feed: 'person', hours: 0 }],
])('a waiting run that %s excuses nobody', async (_, run) => {
  await using world = await openWithLostPerson()
  await addRun(world, run)

  expect(await partOfLostPerson(world)).toEqual({ unaccounted: ['E0002'], excluded: 0, onTheWay: 0 })
})

test('a departure that the platform has takes effect on its day, although HR withdrew it and nothing else changes', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const { id: runId } = await world.night(people)
  const confirmed = JSON.stringify({ identityId: 'E0002', separatedAt: '2026-11-22T00:00:00.000Z' })
  await sql`insert into acknowledged (connection, identity_id, confirmed, run_id) values ('acme', 'E0002', ${confirmed}, null)`.execute(
    db,
  )
  const stateOn = async (day: string) => {
    const input = { runId, connection: 'acme', removes: false, separatesAbsent: true, now: new Date(day) }
    await db.transaction().execute((tx) => makeStatement(tx, input))
    const statement = (await statementAt(db, { connection: 'acme' }))?.id ?? 0
    const everybody = await everybodyIn(db, { connection: 'acme', statement })
    return everybody.find(({ identityId }) => identityId === 'E0002')?.onPlatform
  }

  expect(await stateOn('2026-11-21T03:00:00Z')).toBe('employed')
  expect(await stateOn('2026-11-22T03:00:00Z')).toBe('left')
})

test('a record that others created under the new key of a known person is accounted for', {
  tags: ['full'],
}, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(people)
  await answerKeys(world.sync, { connection: 'acme', former: 'E0009', identityId: 'N9', same: true, by: 'ana' })
  await sql`
    insert into foreign_people (connection, identity_id, is_separated, first_at, last_at)
    values ('acme', 'N9', false, now(), now())`.execute(world.sync.store.db)

  await world.night(
    people.map((person) => (person.id === 'E0009' ? { ...person, id: 'N9' } : person)),
    { asOf: secondNight },
  )

  expect((await statementsOf(world)).at(-1)).toMatchObject({ differences: [], platform: { records: 13 } })
})

test('whoever the next run will send is on the way', { tags: ['full'] }, async () => {
  await using world = await openWithLostPerson()
  await addRun(world, { feed: 'webhook', hours: 1 })

  expect(await partOfLostPerson(world)).toEqual({ unaccounted: [], excluded: 0, onTheWay: 1 })
})

test('a row that retracts or lets leave somebody unknown raises no alarm, on this and on later nights', async () => {
  const { client } = await host.tenant()
  const mapping = Mapping.parse({
    fields: { identityId: 'Worker ID', email: 'Email', firstName: 'First Name', separatedAt: 'Leaving Date' },
    action: { column: 'Status', join: ['new'], change: ['change'], leave: ['gone'], retract: ['mistake'] },
  })
  await using world = await openWorld({ client, feed: { mapping } })
  const { connector } = world.connection.feeds.source ?? {}
  if (!connector) throw new Error('a world without a source')
  const { open } = connector
  Object.assign(connector, {
    open: async (...options: Parameters<typeof open>) => ({ ...(await open(...options)), mode: 'delta' }),
  })
  const joined = people.map((person) => ({ ...person, status: 'new' }))
  await world.night(joined)
  const unknown = { ...people[0], email: 'x@acme.example' }

  await world.night(
    [
      { ...unknown, id: 'U1', status: 'mistake' },
      { ...unknown, id: 'U2', email: 'y@acme.example', status: 'gone', leavingDate: '2026-11-19' },
    ],
    { asOf: secondNight },
  )
  await world.night([{ id: 'E0003', title: 'Manager', status: 'change' }], { asOf: '2026-11-22T01:00:00.000Z' })

  const statements = await statementsOf(world)
  expect(statements.map(({ differences, unaccounted }) => [differences, unaccounted])).toEqual([
    [[], []],
    [[], []],
    [[], []],
  ])
  expect(statements.at(-1)?.stated.parts).toMatchObject({ excluded: 1 })
})
