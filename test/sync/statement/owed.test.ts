import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endLearning, recordRestore } from '../../../src/store/connections/installation.ts'
import { runsWithoutStatement } from '../../../src/store/statement/owed.ts'
import { cancelRun, makeOwedStatements, requestPerson, requestRun, sweep } from '../../../src/sync/sync.ts'
import { statementsOf } from '../../helpers/statements.ts'
import { change, type Host, openWorld, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const people = staff(12)

/** A world after a night, and a run of one person whose title has changed since. */
async function openAfterPerson(): Promise<{ readonly world: World; readonly runId: string }> {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  await world.night(people)
  passMinutes(world, 5)
  world.setExport(change(people, { id: 'E0002', title: 'Manager' }), '2026-11-20T02:00:00.000Z')
  const { id } = await requestPerson(world.sync, { connection: 'acme', person: 'E0002', by: 'ana' })
  await world.drain()
  expect(await world.runOf(id)).toMatchObject({ state: 'finished', confirmed: 1 })
  return { world, runId: id }
}

const runsStated = async (world: World) => (await statementsOf(world)).map(({ runId }) => runId)
const passMinutes = (world: World, minutes: number) => {
  world.clock.now = new Date(world.clock.now.getTime() + minutes * 60_000)
}

test('a run of one person has its statement within the hour, and one only', async () => {
  const { world, runId } = await openAfterPerson()
  await using _ = world

  passMinutes(world, 54)
  await world.minute()
  expect(await runsStated(world)).not.toContain(runId)
  passMinutes(world, 1)
  await sweep(world.sync)
  expect(await runsStated(world)).not.toContain(runId)
  await Promise.all([makeOwedStatements(world.sync), makeOwedStatements(world.sync)])
  passMinutes(world, 90)
  await world.minute()

  expect((await runsStated(world)).slice(1)).toEqual([runId])
  expect((await statementsOf(world)).at(-1)).toMatchObject({ addsUp: true, stated: { parts: { employed: 12 } } })
})

test('a run has one statement, though the clock was put back after it', { tags: ['full'] }, async () => {
  const { world, runId } = await openAfterPerson()
  await using _ = world
  passMinutes(world, 60)
  await world.minute()
  passMinutes(world, -62)
  const { id } = await world.night(people, { asOf: '2026-11-21T01:00:00.000Z' })

  passMinutes(world, 90)
  await world.minute()

  expect((await runsStated(world)).slice(1)).toEqual([runId, id])
})

test('after a restore, no statement is made before the connection has learned from the platform', async () => {
  const { world, runId } = await openAfterPerson()
  await using _ = world
  const { db } = world.sync.store
  const until = world.clock.now
  passMinutes(world, 60)
  await recordRestore(db, { until, now: world.clock.now })

  await makeOwedStatements(world.sync)
  expect(await runsStated(world)).not.toContain(runId)
  await endLearning(db, 'acme')
  await makeOwedStatements(world.sync)

  expect((await runsStated(world)).at(-1)).toBe(runId)
})

test('a statement waits for the run that is active, and finds what was lost by then', async () => {
  const { world, runId } = await openAfterPerson()
  await using _ = world
  const { db } = world.sync.store
  passMinutes(world, 60)
  await db.updateTable('runs').set({ state: 'reading', lease: world.sync.lease.id }).where('id', '=', runId).execute()
  await db.deleteFrom('roster').where('identity_id', '=', 'E0012').execute()

  await world.minute()
  expect(await runsStated(world)).toHaveLength(1)
  await db.updateTable('runs').set({ state: 'finished', lease: null }).where('id', '=', runId).execute()
  await world.minute()

  expect(await world.runOf(runId)).toMatchObject({
    state: 'finished_with_problems',
    reason: 'the population statement does not add up: people unaccounted for: 1',
  })
  expect(world.events).toContainEqual(expect.objectContaining({ event: 'statement.differs', runId, people: 1 }))
})

/** Cancels the run of a second night while it delivers. */
async function cancelWhileDelivering(world: World): Promise<string> {
  await world.night(people)
  passMinutes(world, 5)
  world.setExport(
    [...change(people, { id: 'E0002', title: 'Manager' }), ...staff(13).slice(12)],
    '2026-11-21T01:00:00.000Z',
  )
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  const job = world.jobs.shift()
  if (job) await world.workOn(job)
  await cancelRun(world.sync, { runId: id, by: 'ops' })
  world.jobs.length = 0
  return id
}

test('a run that is cancelled while it delivers has its statement at once', { tags: ['full'] }, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const id = await cancelWhileDelivering(world)

  passMinutes(world, 1)
  await makeOwedStatements(world.sync)
  passMinutes(world, 1)
  await makeOwedStatements(world.sync)

  expect((await runsStated(world)).slice(1)).toEqual([id])
  expect((await statementsOf(world)).at(-1)).toMatchObject({
    addsUp: true,
    stated: { exported: 13, parts: { excluded: 2 } },
  })
})

test('a statement that cannot be made after a cancelled run is known until one is made', {
  tags: ['full'],
}, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const id = await cancelWhileDelivering(world)
  await sql`alter table accounted_people rename to accounted_people_away`.execute(db)

  await makeOwedStatements(world.sync)
  await sql`alter table accounted_people_away rename to accounted_people`.execute(db)

  expect(await runsWithoutStatement(db, ['acme'], { now: world.clock.now })).toMatchObject([{ runId: id }])
  expect(await world.runOf(id)).toMatchObject({ state: 'cancelled' })
  passMinutes(world, 61)
  await makeOwedStatements(world.sync)
  expect(await runsWithoutStatement(db, ['acme'], { now: world.clock.now })).toEqual([])
})
