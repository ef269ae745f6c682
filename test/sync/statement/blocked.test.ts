import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { makeStatement } from '../../../src/store/statement/make.ts'
import { makeOwedStatements, requestDueRuns, requestPerson, requestRun } from '../../../src/sync/sync.ts'
import { statementsOf } from '../../helpers/statements.ts'
import { firstOf } from '../../helpers/tier.ts'
import { between, change, type Host, openWorld, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const people = staff(12)
const refused = { status: 403, headers: {}, error: { statusCode: 403, message: 'no', code: 1 } } as never

/** A connection that the platform blocks after the first night, until `isBlocked` is false. */
async function openBlocked({ leavesLater = '' } = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  const state = { isBlocked: true }
  await world.night(change(people, { id: 'E0009', leavingDate: leavesLater }))
  between(world, (real) => ({
    upsertHrisUserIdentities: async (...input) =>
      state.isBlocked ? refused : await real.upsertHrisUserIdentities(...input),
    updateHrisUserIdentity: async (...input) =>
      state.isBlocked ? refused : await real.updateHrisUserIdentity(...input),
  }))
  world.clock.now = new Date('2026-11-21T03:00:00.000Z')
  world.setExport(
    change(people, { id: 'E0003', leavingDate: '2026-11-19' }, { id: 'E0009', leavingDate: leavesLater }),
    '2026-11-21T01:00:00.000Z',
  )
  return { world, state, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

const passHours = (world: World, hours: number) => {
  world.clock.now = new Date(world.clock.now.getTime() + hours * 3_600_000)
}

async function passHoursWithRuns(world: World, hours: number): Promise<void> {
  passHours(world, hours)
  await requestDueRuns(world.sync)
  await world.minute()
}

async function alertsOf({ sync, clock }: World): Promise<readonly string[]> {
  const settings = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
  const current = await conditions(sync.store.db, { ...settings, connections: ['acme'], now: clock.now })
  return current.map(({ kind, reason }) => `${kind}: ${reason}`)
}

test('a run that is blocked for more than a day has one statement a day, and one when it ends', async () => {
  await using opened = await openBlocked()
  const { world, state } = opened
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await world.drain()
  await passHoursWithRuns(world, 23)
  const before = (await statementsOf(world)).length
  passHours(world, 1)
  await Promise.all([makeOwedStatements(world.sync), makeOwedStatements(world.sync)])
  await passHoursWithRuns(world, 1)
  const during = (await statementsOf(world)).slice(1)
  state.isBlocked = false
  await passHoursWithRuns(world, 1)
  const after = (await statementsOf(world)).filter(({ runId }) => runId === id)

  expect(before).toBe(1)
  expect(during).toMatchObject([{ runId: id, addsUp: true, stated: { parts: { employed: 11, onTheWay: 1 } } }])
  expect(await world.runOf(id)).toMatchObject({ state: 'finished' })
  expect(after.map(({ stated }) => [stated.parts.onTheWay, stated.parts.left])).toEqual([
    [1, 0],
    [0, 1],
  ])
})

test('whoever had to leave while the connection is blocked waits for it after a day, and is delivered when it ends', async () => {
  await using opened = await openBlocked({ leavesLater: '2026-11-22' })
  const { world, state } = opened
  const { db } = world.sync.store
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await world.drain()
  for (const _night of [1, 2]) await passHoursWithRuns(world, 24)
  await passHoursWithRuns(world, 1)
  const during = (await statementsOf(world)).at(-1)
  const own = db.selectFrom('accounted_people').selectAll().where('identity_id', '=', 'E0009')
  const leaver = await own.where('until', 'is', null).executeTakeFirst()
  const alerts = await alertsOf(world)
  state.isBlocked = false
  for (const _hour of [1, 2]) await passHoursWithRuns(world, 1)

  expect(during).toMatchObject({ addsUp: true, unaccounted: [], stated: { parts: { blocked: 1, onTheWay: 1 } } })
  expect(leaver).toMatchObject({ part: 'blocked', detail: `run ${id} is blocked since 2026-11-21` })
  expect(alerts).toEqual(['blocked: the API key lacks a permission (403): no'])
  expect((await statementsOf(world)).at(-1)).toMatchObject({ addsUp: true, stated: { parts: { left: 2 } } })
})

test.each(
  firstOf(1, [
    ['no run waits behind the blocked one', sql`delete from runs where state = 'waiting'`],
    ['nothing blocks the run that delivers', sql`update connections set blocked_at = null`],
  ]),
)('whoever had to leave more than a day ago is unaccounted for if %s, and raises the alert', async (_, loss) => {
  await using opened = await openBlocked({ leavesLater: '2026-11-22' })
  const { world } = opened
  const { db } = world.sync.store
  const { id: runId } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await world.drain()
  for (const _night of [1, 2]) await passHoursWithRuns(world, 24)
  await loss.execute(db)
  const now = world.clock.now
  await db
    .transaction()
    .execute((tx) => makeStatement(tx, { runId, connection: 'acme', removes: false, separatesAbsent: true, now }))

  expect((await statementsOf(world)).at(-1)).toMatchObject({ addsUp: false, unaccounted: ['E0009'] })
  expect(await alertsOf(world)).toContain(
    'unaccounted: the population statement does not add up: people unaccounted for: 1',
  )
})

test('a statement that cannot be made during a blocked run raises the alert until one is made', async () => {
  await using opened = await openBlocked()
  const { world } = opened
  const { db } = world.sync.store
  await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await world.drain()
  await sql`alter table accounted_people rename to accounted_people_away`.execute(db)
  await passHoursWithRuns(world, 25)
  const soon = await alertsOf(world)
  await passHoursWithRuns(world, 1)
  const late = await alertsOf(world)
  await sql`alter table accounted_people_away rename to accounted_people`.execute(db)
  await passHoursWithRuns(world, 1)

  const blocked = 'blocked: the API key lacks a permission (403): no'
  expect(soon).toEqual([blocked])
  expect(late).toEqual([blocked, 'unaccounted: no population statement could be made'])
  expect(await alertsOf(world)).toEqual([blocked])
})

test('a run of one person that was blocked has its own statement within an hour after it', {
  tags: ['full'],
}, async () => {
  await using opened = await openBlocked()
  const { world, state } = opened
  const { id } = await requestPerson(world.sync, { connection: 'acme', person: 'E0003', by: 'ana' })
  await world.drain()
  await passHoursWithRuns(world, 25)
  state.isBlocked = false
  await passHoursWithRuns(world, 1)
  await passHoursWithRuns(world, 1)

  const statements = (await statementsOf(world)).filter(({ runId }) => runId === id)
  expect(statements.map(({ stated }) => [stated.parts.onTheWay, stated.parts.left])).toEqual([
    [1, 0],
    [0, 1],
  ])
})
