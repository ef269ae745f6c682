import { sql } from 'kysely'
import type { Statement } from '../../contract/control/statements.ts'
import { moveToProblems } from '../../store/runs/claims.ts'
import type { Db } from '../../store/schema.ts'
import { makeStatement } from '../../store/statement/make.ts'
import { statementFailed } from '../../store/statement/owed.ts'
import type { SyncContext } from './context.ts'

type EndedRun = { readonly runId: string; readonly connection: string }

/** The population statement of a run that has just ended, or why it could not be made. */
export type StatementOutcome = { readonly statement: Statement } | (EndedRun & { readonly error: unknown })

/**
 * Makes the population statement of a run that has just ended, in the transaction that ends it. Null if the run read no export: the sweep
 * then makes it.
 */
export async function makePopulationStatement(
  ctx: Pick<SyncContext, 'connections' | 'now'>,
  tx: Db,
  ended: EndedRun,
): Promise<StatementOutcome | null> {
  const run = await tx.selectFrom('runs').select('feed').where('id', '=', ended.runId).executeTakeFirst()
  return run?.feed === 'source' ? await makeStatementAfterRun(ctx, tx, ended) : null
}

/**
 * Makes the population statement after a run that has ended. If the statement does not add up or cannot be made, the run has problems: a
 * fault of the statement must not keep a run from ending.
 */
export async function makeStatementAfterRun(
  ctx: Pick<SyncContext, 'connections' | 'now'>,
  tx: Db,
  { runId, connection }: EndedRun,
): Promise<StatementOutcome> {
  const { records, feeds } = ctx.connections.get(connection) ?? {}
  const rules = { removes: records !== undefined, separatesAbsent: feeds?.source?.absence !== 'ignore' }
  await sql`savepoint population`.execute(tx)
  try {
    const statement = await makeStatement(tx, { runId, connection, ...rules, now: ctx.now() })
    await sql`release savepoint population`.execute(tx)
    if (!statement.addsUp) await moveToProblems(tx, { runId, reason: differenceText(statement) })
    return { statement }
  } catch (error) {
    await sql`rollback to savepoint population`.execute(tx)
    await moveToProblems(tx, { runId, reason: statementFailed })
    return { runId, connection, error }
  }
}

/** Without keys: the statement names them, and forgets them with the person. */
function differenceText({ differences }: Statement): string {
  return `the population statement does not add up: ${differences.join('; ')}`
}

/** Logs a population statement that does not add up or could not be made, once its run has ended. */
export function reportPopulationStatement(ctx: Pick<SyncContext, 'events'>, outcome: StatementOutcome): void {
  if ('error' in outcome) {
    ctx.events.unexpected({ during: 'statement', error: outcome.error })
    return
  }
  const { runId, connection, addsUp, differences, unaccounted } = outcome.statement
  if (addsUp) return
  ctx.events.statementDiffers({ runId, connection, reason: differences.join('; '), people: unaccounted.length })
}
