import type { Statement } from '../../contract/control/statements.ts'
import { moveToProblems } from '../../store/runs/claims.ts'
import type { Db } from '../../store/schema.ts'
import { makeStatement } from '../../store/statement/make.ts'
import type { SyncContext } from './context.ts'

type EndedRun = { readonly runId: string; readonly connection: string }

/**
 * Makes the population statement of a run that has just ended, in the transaction that ends it. If the statement does not add up, the run
 * ends with problems.
 */
export async function statePopulation(
  ctx: Pick<SyncContext, 'connections' | 'now'>,
  tx: Db,
  { runId, connection }: EndedRun,
): Promise<Statement> {
  const removes = ctx.connections.get(connection)?.records !== undefined
  const statement = await makeStatement(tx, { runId, connection, removes, now: ctx.now() })
  if (!statement.addsUp) await moveToProblems(tx, { runId, reason: differenceText(statement) })
  return statement
}

function differenceText({ differences, unaccounted }: Statement): string {
  const keys = unaccounted.length === 0 ? '' : ` (${unaccounted.slice(0, 5).join(', ')})`
  return `the population statement does not add up: ${differences.join('; ')}${keys}`
}

/** Logs a statement that does not add up, once its run has ended. */
export function reportStatement(
  ctx: Pick<SyncContext, 'events'>,
  { runId, connection, ...statement }: Statement,
): void {
  if (statement.addsUp) return
  const reason = statement.differences.join('; ')
  ctx.events.statementDiffers({ runId, connection, reason, people: statement.unaccounted.length })
}
