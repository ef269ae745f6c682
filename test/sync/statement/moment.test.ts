import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeStatement } from '../../../src/store/statement/make.ts'
import { statementAt, statementPeople } from '../../../src/store/statement/read.ts'
import { type Host, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('the counts of a statement and the people behind them are of one moment, though people change meanwhile', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const { id: runId } = await world.night(staff(12))
  const retract = (key: string) =>
    sql`update roster set retracted_at = now(), retracted_reason = 'mistake' where identity_id = ${key}`.execute(db)
  await retract('E0002')

  const locking = await db.startTransaction().execute()
  await sql`lock table accounted_people in access exclusive mode`.execute(locking)
  const made = db
    .transaction()
    .execute((tx) =>
      makeStatement(tx, { runId, connection: 'acme', removes: false, separatesAbsent: true, now: world.clock.now }),
    )
  const isWaiting = sql<{ count: number }>`
    select count(*)::int as count from pg_locks where not granted and relation = 'accounted_people'::regclass`
  await expect.poll(async () => (await isWaiting.execute(db)).rows[0]?.count).toBe(1)
  await retract('E0003')
  await locking.commit().execute()

  const { stated } = await made
  const statement = await statementAt(db, { connection: 'acme' })
  const listed = await statementPeople(db, {
    ...{
      connection: 'acme',
      statement: statement?.id ?? 0,
      side: 'stated',
      part: 'excluded',
      limit: 10,
      values: false,
    },
  })
  expect(listed.map(({ identityId }) => identityId)).toHaveLength(stated.parts.excluded)
})
