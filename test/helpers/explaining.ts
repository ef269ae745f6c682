import { type CompiledQuery, Kysely, PostgresAdapter, PostgresQueryCompiler, sql } from 'kysely'
import type { Db, StoreSchema } from '../../src/store/schema.ts'

type Node = {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

/** A statement, and how many rows the busiest step of its plan read. */
export type StatementCost = { readonly rows: number; readonly statement: string }

/**
 * The same database or transaction, which has each statement that writes explained before it is run. Transactions that are begun in it are none:
 * each statement stands for itself.
 */
export function explaining(db: Db): { readonly explained: Db; readonly costs: readonly StatementCost[] } {
  const costs: StatementCost[] = []
  const run = async (query: CompiledQuery) => {
    if (/^\s*(?:insert|update|delete|with)/i.test(query.sql)) {
      const plan = await (db.isTransaction ? planOf(db, query) : db.transaction().execute((tx) => planOf(tx, query)))
      if (plan) costs.push({ rows: lookedAt(plan.Plan), statement: query.sql.replaceAll(/\s+/g, ' ').slice(0, 120) })
    }
    return await db.executeQuery(query)
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
  return { explained, costs }
}

async function planOf(tx: Db, query: CompiledQuery): Promise<{ readonly Plan: Node } | undefined> {
  await sql`savepoint looked`.execute(tx)
  const { rows } = await tx.executeQuery<{ 'QUERY PLAN': readonly { readonly Plan: Node }[] }>({
    ...query,
    sql: `explain (analyze, timing off, format json) ${query.sql}`,
  })
  await sql`rollback to savepoint looked`.execute(tx)
  return rows[0]?.['QUERY PLAN'][0]
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
