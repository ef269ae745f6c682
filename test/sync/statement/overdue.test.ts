import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makePersonDue } from '../../../src/store/hold-backs.ts'
import { addWaitingRun } from '../../../src/store/runs/runs.ts'
import { makeStatement } from '../../../src/store/statement/make.ts'
import { type Host, openWorld, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

type Waiting = (day: string) => RawBuilder<unknown>

/** How a departure of E0002 waits for a day. */
const waiting: readonly (readonly [about: string, wait: Waiting, part: 'deferred' | 'excluded'])[] = [
  [
    'a deferred date without its instant',
    (day) => sql`update roster set deferred_to = ${day}, deferred_zone = 'UTC' where identity_id = 'E0002'`,
    'deferred',
  ],
  [
    'a row that takes effect later',
    (day) => sql`
      insert into waiting_rows (connection, identity_id, effective_on, due_at, observation)
      values ('acme', 'E0002', ${day}::date, ${`${day}T00:00:00Z`}, '{"statesDeparture": true}')`,
    'deferred',
  ],
  [
    'a departure that is held back',
    (day) => sql`
      update roster set due_at = ${`${day}T00:00:00Z`}, held_departure = ${JSON.stringify({ until: day })}::jsonb
      where identity_id = 'E0002'`,
    'excluded',
  ],
]

test.each(waiting)(
  '%s counts while its day is to come, and is unaccounted for once no run served it',
  async (_, wait, part) => {
    const { client } = await host.tenant()
    await using world = await openWorld({ client })
    const { db } = world.sync.store
    const { id: runId } = await world.night(staff(12))
    const day = new Date(world.clock.now.getTime() + 24 * 3_600_000).toISOString().slice(0, 10)
    await wait(day).execute(db)
    const stateAfter = async (hours: number) => {
      const now = new Date(world.clock.now.getTime() + hours * 3_600_000)
      return await db
        .transaction()
        .execute((tx) => makeStatement(tx, { runId, connection: 'acme', removes: false, separatesAbsent: true, now }))
    }

    const before = await stateAfter(1)
    const onTheDay = await stateAfter(24)
    const run = { connection: 'acme', trigger: 'schedule', options: {} } as const
    const now = new Date(world.clock.now.getTime() + 71 * 3_600_000)
    await addWaitingRun(db, { ...run, feed: 'roster', now })
    const beforeRun = await stateAfter(72)
    await db.deleteFrom('runs').where('state', '=', 'waiting').execute()
    await addWaitingRun(db, { ...run, feed: 'webhook', now })
    const after = await stateAfter(72)

    expect([before, onTheDay, beforeRun].map(({ stated, addsUp }) => [stated.parts[part], addsUp])).toEqual([
      [1, true],
      [1, true],
      [1, true],
    ])
    expect(after).toMatchObject({ addsUp: false, unaccounted: ['E0002'] })
  },
)

test('somebody who left and is in sync stays accounted for, though a run was asked for and found nothing to change', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  await world.night(staff(12))
  const { id: runId } = await world.night(without(staff(12), 'E0002'), { asOf: '2026-11-21T01:00:00.000Z' })
  const now = new Date(world.clock.now.getTime() + 72 * 3_600_000)

  expect(await makePersonDue(db, { connection: 'acme', identityId: 'E0002', now: world.clock.now })).toBe(true)
  const statement = await db
    .transaction()
    .execute((tx) => makeStatement(tx, { runId, connection: 'acme', removes: false, separatesAbsent: true, now }))

  expect(statement).toMatchObject({ addsUp: true, unaccounted: [], platform: { parts: { leftEarlier: 1 } } })
})
