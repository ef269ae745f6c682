import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { connectionStates } from '../../src/store/connections/connections.ts'
import { recordLearned } from '../../src/store/connections/installation.ts'
import { rosterEntries } from '../../src/store/roster/roster.ts'
import { approveRun, restorePerson, retractPerson } from '../../src/sync/sync.ts'
import { change, openWorld, staff, startHost, type World } from '../helpers/world.ts'

/** How many people are kept as desired, and have left: as the process remembers it, and counted anew. */
async function headcounts({ sync }: World) {
  const { db } = sync.store
  const [state] = await connectionStates(db)
  const { rows } = await sql<{ people: number; separated: number }>`
    select (count(*) filter (where desired is not null))::int as people,
      (count(*) filter (where desired ->> 'separatedAt' is not null))::int as separated
    from roster where retracted_at is null`.execute(db)
  return { cached: [state?.people, state?.separated], actual: [rows[0]?.people, rows[0]?.separated] }
}

test('the cached headcount equals the roster after everything that changes it', async () => {
  await using stack = new AsyncDisposableStack()
  const host = stack.use(await startHost())
  const { client } = await host.tenant()
  const world = stack.use(await openWorld({ client }))
  const { db } = world.sync.store
  const by = 'ana'
  const results = [await headcounts(world)]
  const look = async () => void results.push(await headcounts(world))

  await world.night(staff(30), { asOf: '2026-11-18T01:00:00.000Z' })
  await look()
  await world.night(change(staff(31), { id: 'E0003', leavingDate: '2026-11-18' }), { asOf: '2026-11-19T01:00:00.000Z' })
  await look()
  const held = await retractPerson(world.sync, { connection: 'acme', identityId: 'E0001', reason: 'a test', by })
  await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by })
  await look()
  await world.drain()
  await restorePerson(world.sync, { connection: 'acme', identityId: 'E0001', by })
  await look()
  const entries = await rosterEntries(db, { connection: 'acme', identityIds: ['E0005'] })
  const record = { ...entries.get('E0005')?.desired, separatedAt: '2026-11-19' }
  const learned = [{ identityId: 'E0005', record, isNewLeaver: true }] as unknown as Parameters<
    typeof recordLearned
  >[1]['learned']
  const knownUntil = world.clock.now
  await db
    .transaction()
    .execute((tx) => recordLearned(tx, { connection: 'acme', learned, canStateDepartures: true, knownUntil }))
  await look()

  for (const { cached, actual } of results.slice(1)) expect(cached).toEqual(actual)
  expect(results.map(({ cached }) => cached)).toEqual([
    [undefined, undefined],
    [30, 0],
    [31, 1],
    [30, 1],
    [31, 1],
    [31, 2],
  ])
})
