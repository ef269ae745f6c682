import { type CompiledQuery, Kysely, PostgresAdapter, PostgresQueryCompiler, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { acceptLeavers, noteLeavers, settleLeavers } from '../../../src/store/leavers/clock.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { commitPlan } from '../../../src/store/plans/plans.ts'
import { addWaitingRun, ensureConnection } from '../../../src/store/runs/runs.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { bothDatabases } from '../../helpers/servers/databases.ts'

const now = new Date('2026-11-20T03:00:00.000Z')
const known = 4000
const changed = 1000
/** A statement may look at so many rows for each row of the plan. Each with all others would be a thousand. */
const mostRowsEach = 40

type Node = {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

describe.each(bothDatabases)('accepting a plan on $name', ({ place }) => {
  test('no statement looks at more rows than those of the plan, though the statistics know nothing of it', async () => {
    await using where = await place()
    await using store = await openDatabase<StoreSchema>({ at: where.at, schemas: ['rollcall'], migrations })
    const { db } = store
    await ensureConnection(db, 'acme')
    const first = await lookedAtBy(db, await planned(db, { people: known, kind: 'join' }))
    await sql`update deliveries set state = 'done', answer = '{"status": 200}'`.execute(db)
    await sql`update runs set state = 'finished'`.execute(db)
    await sql`analyze`.execute(db)
    const runId = await planned(db, { people: changed, kind: 'leave' })

    const second = await lookedAtBy(db, runId)

    expect(first.filter(({ rows }) => rows > mostRowsEach * known)).toEqual([])
    expect(second.filter(({ rows }) => rows > mostRowsEach * changed + known)).toEqual([])
    expect(second.length).toBeGreaterThan(15)
    const { rows: due } = await sql<{ people: number }>`
      select people from deliveries where run_id = ${runId} order by batch`.execute(db)
    expect(due.map(({ people }) => people)).toEqual(Array.from({ length: 20 }, () => 50))
  })

  const lookedAtBy = (db: Db, runId: string): Promise<Looked[]> =>
    db.transaction().execute(async (tx) => {
      const { explained, found } = explaining(tx)
      await acceptAll(explained, runId)
      return found
    })

  async function acceptAll(tx: Db, runId: string): Promise<void> {
    const stating = { runId, connection: 'acme', timeZone: 'UTC', now }
    await noteLeavers(tx, stating)
    await acceptLeavers(tx, stating)
    const limits = { batchSize: 50, batchBytes: 1_000_000 }
    await commitPlan(tx, { runId, connection: 'acme', limits, speaksOfAbsent: true, now })
    await settleLeavers(tx, stating)
  }

  /** A run of an export with a change for so many people. */
  async function planned(db: Db, { people, kind }: { people: number; kind: 'join' | 'leave' }): Promise<string> {
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
    await sql`
      insert into plan_entries (run_id, identity_id, wanted, inferred, as_of, employment_as_of, absences)
      select ${runId}, 'E' || n, ${record}, false, ${now}, ${now}, 0 from generate_series(1, ${people}::int) n`.execute(
      db,
    )
    await sql`
      insert into changes (run_id, identity_id, kind, record, separated_at, fields, state)
      select ${runId}, 'E' || n, ${kind}, ${record}::json, ${separatedAt}, '{"firstName": {"from": null, "to": "Ana"}}', 'planned'
      from generate_series(1, ${people}::int) n`.execute(db)
    return runId
  }
})

type Looked = { readonly rows: number; readonly statement: string }

/** The same transaction, which has each statement that writes explained before it is run. */
function explaining(tx: Db): { explained: Db; found: Looked[] } {
  const found: Looked[] = []
  const run = async (query: CompiledQuery) => {
    if (/^\s*(?:insert|update|delete|with)/i.test(query.sql)) {
      await sql`savepoint looked`.execute(tx)
      const { rows } = await tx.executeQuery<{ 'QUERY PLAN': readonly { readonly Plan: Node }[] }>({
        ...query,
        sql: `explain (analyze, timing off, format json) ${query.sql}`,
      })
      await sql`rollback to savepoint looked`.execute(tx)
      const [plan] = rows[0]?.['QUERY PLAN'] ?? []
      if (plan) found.push({ rows: lookedAt(plan.Plan), statement: query.sql.replaceAll(/\s+/g, ' ').slice(0, 120) })
    }
    return await tx.executeQuery(query)
  }
  const connection = {
    executeQuery: async (query: CompiledQuery) => (await run(query)) as never,
    async *streamQuery(): AsyncGenerator<never> {},
  }
  const nothing = async () => {}
  const explained = new Kysely<StoreSchema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => ({
        init: nothing,
        acquireConnection: async () => connection,
        beginTransaction: nothing,
        commitTransaction: nothing,
        rollbackTransaction: nothing,
        releaseConnection: nothing,
        destroy: nothing,
      }),
      createIntrospector: () => {
        throw new Error('there is nothing to look into')
      },
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  return { explained, found }
}

/** How many rows the busiest step of a plan looked at. */
function lookedAt(node: Node): number {
  const kept = node['Actual Rows']
  const removed =
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return Math.max((kept + removed) * node['Actual Loops'], ...(node.Plans ?? []).map(lookedAt))
}
