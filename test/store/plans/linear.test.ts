import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { deleteAnswered, deleteAnsweredOf } from '../../../src/store/deliveries/outcomes.ts'
import {
  acceptLeavers,
  acknowledgeVerifiedLeavers,
  recordLeavers,
} from '../../../src/store/leavers/record-departures.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { commitPlan, refreshStatistics } from '../../../src/store/plans/plans.ts'
import { addWaitingRun, ensureConnection } from '../../../src/store/runs/runs.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { explaining, type StatementCost } from '../../helpers/explaining.ts'
import { databases } from '../../helpers/servers/databases.ts'

const now = new Date('2026-11-20T03:00:00.000Z')
const known = 4000
const changed = 1000
/** Maximum number of rows that a statement may read for each row of the plan. Comparing all pairs would be a thousand. */
const maxRowsEach = 40

describe.each(databases)('accepting a plan on $name', ({ createDatabase }) => {
  test.each([
    { entries: 'of their own', follows: false },
    { entries: 'that follow from its changes', follows: true },
  ])(
    'no statement looks at more rows than those of a plan with entries $entries, though the statistics know nothing of it',
    async ({ follows }) => {
      await using where = await createDatabase()
      await using store = await openDatabase<StoreSchema>({ at: where.at, schemas: ['rollcall'], migrations })
      const { db } = store
      await ensureConnection(db, 'acme')
      const first = await lookedAtBy(db, await planned(db, { people: known, kind: 'join', follows }))
      await sql`update deliveries set state = 'done', answer = '{"status": 200}'`.execute(db)
      await sql`update runs set state = 'finished'`.execute(db)
      await sql`analyze`.execute(db)
      const runId = await planned(db, { people: changed, kind: 'leave', follows })

      const second = await lookedAtBy(db, runId)

      expect(first.filter(({ rows }) => rows > maxRowsEach * known)).toEqual([])
      expect(second.filter(({ rows }) => rows > maxRowsEach * changed + known)).toEqual([])
      expect(second.length).toBeGreaterThan(15)
      const { rows: due } = await sql<{ people: number }>`
      select people from deliveries where run_id = ${runId} order by batch`.execute(db)
      expect(due.map(({ people }) => people)).toEqual(Array.from({ length: 20 }, () => 50))
    },
  )

  test('finds the few remaining people by index, although the statistics expect many', async () => {
    await using where = await createDatabase()
    await using store = await openDatabase<StoreSchema>({ at: where.at, schemas: ['rollcall'], migrations })
    const { db } = store
    await ensureConnection(db, 'acme')
    const runId = await planned(db, { people: known, kind: 'join' })
    await acceptAll(db, runId)
    await sql`update deliveries set state = 'done', answer = '{"status": 200}'`.execute(db)
    await sql`analyze`.execute(db)
    await deleteAnsweredOf(db, { runId, connection: 'acme' })
    await sql`
      insert into acknowledged (connection, identity_id, run_id)
      select 'acme', identity_id, run_id from changes order by identity_id limit 5`.execute(db)
    const { explained, costs: result } = explaining(db)

    await deleteAnswered(explained, 'acme')

    const remaining = await sql`select from acknowledged`.execute(db)
    expect(remaining.rows).toEqual([])
    expect(result.map(({ rows }) => rows)).toEqual([5])
  })

  test('refreshes the statistics of a table if a plan brings a tenth of it, and not for less', async () => {
    await using where = await createDatabase()
    await using store = await openDatabase<StoreSchema>({ at: where.at, schemas: ['rollcall'], migrations })
    const { db } = store
    await ensureConnection(db, 'acme')
    const statisticsAfter = async (people: number) => {
      const runId = await planned(db, { people, kind: 'join' })
      await acceptAll(db, runId)
      await sql`update runs set state = 'finished' where id = ${runId}`.execute(db)
      await refreshStatistics(db, runId)
      const { rows } = await sql<{ rows: number }>`
        select reltuples::float8 as rows from pg_class where oid = 'changes'::regclass`.execute(db)
      return rows[0]?.rows
    }

    expect(await statisticsAfter(1000)).toBe(1000)
    expect(await statisticsAfter(99)).toBe(1000)
    expect(await statisticsAfter(101)).toBe(1200)
  })

  const lookedAtBy = (db: Db, runId: string): Promise<readonly StatementCost[]> =>
    db.transaction().execute(async (tx) => {
      const { explained, costs: result } = explaining(tx)
      await acceptAll(explained, runId)
      return result
    })

  async function acceptAll(tx: Db, runId: string): Promise<void> {
    const stating = { runId, connection: 'acme', timeZone: 'UTC', now }
    await recordLeavers(tx, stating)
    await acceptLeavers(tx, stating)
    const limits = { batchSize: 50, batchBytes: 1_000_000 }
    await commitPlan(tx, { runId, connection: 'acme', limits, speaksOfAbsent: true, now })
    await acknowledgeVerifiedLeavers(tx, stating)
  }

  /** A run of an export with changes for this many people. Their entries follow from the changes or are stored. */
  async function planned(
    db: Db,
    { people, kind, follows = false }: { people: number; kind: 'join' | 'leave'; follows?: boolean },
  ): Promise<string> {
    const runId = await addWaitingRun(db, {
      connection: 'acme',
      feed: 'source',
      trigger: 'operator',
      options: {},
      now,
    })
    await sql`update runs set state = 'planned', mode = 'snapshot', as_of = ${now} where id = ${runId}`.execute(db)
    const separatedAt = kind === 'leave' ? '2026-11-19T00:00:00.000Z' : null
    const record = sql`jsonb_build_object('identityId', 'E' || n, 'firstName', 'Ana', 'separatedAt', ${separatedAt}::text)`
    if (!follows)
      await sql`
      insert into plan_entries (run_id, identity_id, desired, inferred, as_of, employment_as_of, absences)
      select ${runId}, 'E' || n, ${record}, false, ${now}, ${now}, 0 from generate_series(1, ${people}::int) n`.execute(
        db,
      )
    await sql`
      insert into changes (run_id, identity_id, kind, record, separated_at, fields, state, is_entry)
      select ${runId}, 'E' || n, ${kind}, ${record}::json, ${separatedAt}, '{"firstName": {"from": null, "to": "Ana"}}', 'due', ${follows}
      from generate_series(1, ${people}::int) n`.execute(db)
    return runId
  }
})
