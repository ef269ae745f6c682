import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import type { PlannedPerson } from '../../../src/identity/decide/planned.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { batchNumbers } from '../../../src/store/plans/batches.ts'
import { commitPlan, stagePeople, unstagePeople } from '../../../src/store/plans/plans.ts'
import { addWaitingRun, ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { databases, emptyTables } from '../../helpers/servers/databases.ts'

const now = new Date('2026-11-20T03:00:00.000Z')
const limits = { batchSize: 3, batchBytes: 1000 }
const long = 'x'.repeat(400)

describe.each(databases)('the batches of a plan on $name', ({ createDatabase }) => {
  let lifetime: AsyncDisposableStack
  let store: Database<StoreSchema>
  let runId: string

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    store = lifetime.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
  })

  beforeEach(async () => {
    await emptyTables(store, 'rollcall')
    await ensureConnection(store.db, 'acme')
    const request = { connection: 'acme', feed: 'source', trigger: 'operator', options: {}, now } as const
    runId = await addWaitingRun(store.db, request)
  })

  afterAll(() => lifetime.disposeAsync())

  const change = (key: string, kind: 'join' | 'leave' | 'retract' = 'join', jobTitle = ''): PlannedPerson => {
    const base = { identityId: key, carried: false }
    const record = { identityId: key, jobTitle }
    return {
      identityId: key,
      entry: null,
      change:
        kind === 'retract'
          ? { ...base, kind, reason: 'a test' }
          : { ...base, kind, record, fields: {}, inferred: false },
      origin: null,
    }
  }

  const joiners = (people: number) => Array.from({ length: people }, (_, index) => change(`E${index + 1}`))

  const stage = (people: readonly PlannedPerson[], numbers = batchNumbers(limits)) =>
    stagePeople(store.db, runId, people, { numbers })

  const commit = (within = limits) =>
    store.db
      .transaction()
      .execute((tx) => commitPlan(tx, { runId, connection: 'acme', limits: within, speaksOfAbsent: true, now }))

  /** Who is in which batch. */
  async function batches(): Promise<string[]> {
    const { rows } = await sql<{ text: string }>`
      select deliveries.batch || ' ' || deliveries.kind || ' ' || deliveries.people || ': '
        || string_agg(changes.identity_id, ' ' order by changes.identity_id) as text
      from deliveries left join changes using (run_id, batch) group by deliveries.run_id, deliveries.batch
      order by deliveries.batch`.execute(store.db)
    return rows.map(({ text }) => text)
  }

  /** By which transaction each change was written last. */
  async function written(): Promise<string[]> {
    const { rows } = await sql<{ text: string }>`
      select identity_id || ' ' || xmin::text as text from changes order by identity_id`.execute(store.db)
    return rows.map(({ text }) => text)
  }

  test('are those of its staging, and no change is written again', async () => {
    const numbers = batchNumbers(limits)
    await stage(joiners(2), numbers)
    await stage([change('E5'), change('E3'), change('E4')], numbers)
    const before = await written()

    const count = await commit()

    expect(count).toBe(2)
    expect(await batches()).toEqual(['1 upsert 3: E1 E2 E5', '2 upsert 2: E3 E4'])
    expect(await written()).toEqual(before)
  })

  test('stay within the maximum bytes, except for a single person', async () => {
    await stage([
      change('E1', 'join', long),
      change('E2', 'join', long),
      change('E3', 'join', long.repeat(3)),
      change('E4'),
    ])

    await commit()

    expect(await batches()).toEqual(['1 upsert 2: E1 E2', '2 upsert 1: E3', '3 upsert 1: E4'])
  })

  test('have one kind each, those that create people first and those that delete last', async () => {
    await stage([change('E1', 'retract'), change('E2', 'leave'), change('E3'), change('E4', 'leave'), change('E5')])

    await commit()

    expect(await batches()).toEqual(['1 upsert 2: E3 E5', '2 update 2: E2 E4', '3 delete 1: E1'])
  })

  test('are new ones if the limits are lower now', async () => {
    await stage(joiners(4))

    await commit({ ...limits, batchSize: 2 })

    expect(await batches()).toEqual(['1 upsert 2: E1 E2', '2 upsert 2: E3 E4'])
  })

  test('are new ones if most people were dropped from the plan', async () => {
    await stage(joiners(9))
    await unstagePeople(store.db, runId, ['E2', 'E3', 'E5', 'E6', 'E7', 'E8'])

    await commit()

    expect(await batches()).toEqual(['1 upsert 3: E1 E4 E9'])
  })

  test('are new ones if some people have none yet', async () => {
    await stage(joiners(2))
    await stagePeople(store.db, runId, [change('E0'), change('E9', 'leave')])

    await commit()

    expect(await batches()).toEqual(['1 upsert 3: E0 E1 E2', '2 update 1: E9'])
  })

  test('are new ones within the maximum bytes, also if a large record follows small ones', async () => {
    const sizes = { E1: 260, E2: 260, E3: 260, E4: 860, E5: 150, E6: 2000 }
    const people = Object.entries(sizes).map(([key, size]) => change(key, 'join', 'x'.repeat(size)))
    await stagePeople(store.db, runId, people)

    await commit({ ...limits, batchSize: 10 })

    expect(await batches()).toEqual(['1 upsert 2: E1 E2', '2 upsert 2: E3 E5', '3 upsert 1: E4', '4 upsert 1: E6'])
  })

  test('are none if there is nothing to send', async () => {
    const count = await commit()

    expect(count).toBe(0)
    expect(await batches()).toEqual([])
  })
})
