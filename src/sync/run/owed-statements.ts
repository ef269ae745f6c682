import { lockActiveRun } from '../../store/runs/claims.ts'
import { owedStatements, statementsOfSlowRuns } from '../../store/statement/owed.ts'
import type { SyncContext } from '../context/context.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { makeStatementAfterRun, reportPopulationStatement } from '../context/population-statement.ts'

const hourMs = 3_600_000
/** By store and connection, when making a statement last failed. One that times out would otherwise do so in each sweep. */
const failures = new WeakMap<object, Map<string, number>>()

/**
 * Makes the population statements after runs that read no export: events, due days, single people, reverts and separations. Such runs may
 * come every minute, so a connection has one statement an hour for all of them, while none of its runs is active. During a run that delivers for
 * more than a day, one is made each day.
 */
export async function makeOwedStatements(ctx: SyncContext): Promise<void> {
  const { db } = ctx.store
  const query = { now: ctx.now() }
  const all = [...(await owedStatements(db, query)), ...(await statementsOfSlowRuns(db, query))]
  const failedAt = failures.get(ctx.store) ?? new Map<string, number>()
  failures.set(ctx.store, failedAt)
  await forEachIsolated(ctx, { during: 'statement', all }, async ({ connection }) => {
    const nowMs = ctx.now().getTime()
    if (!ctx.connections.has(connection) || nowMs - (failedAt.get(connection) ?? -hourMs) < hourMs) return
    const outcome = await db.transaction().execute(async (tx) => {
      const isActive = (await lockActiveRun(tx, connection)) !== null
      // Another process may have made it meanwhile.
      const [owed] = await (isActive ? statementsOfSlowRuns : owedStatements)(tx, { connection, now: ctx.now() })
      return owed ? await makeStatementAfterRun(ctx, tx, owed) : null
    })
    if (outcome && 'error' in outcome) failedAt.set(connection, nowMs)
    if (outcome) reportPopulationStatement(ctx, outcome)
  })
}
