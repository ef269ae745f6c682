import { Failure } from '../../errors.ts'
import { lockActiveRun } from '../../store/runs/claims.ts'
import { getRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'

/**
 * Refuses decisions of an operator about people while a plan is being made, because that plan would not include them. No plan begins before
 * this transaction has ended.
 */
export async function refuseWhilePlanning(tx: Db, connection: string): Promise<void> {
  const active = await lockActiveRun(tx, connection)
  const run = active === null ? null : await getRun(tx, active)
  if (run?.state === 'reading' || run?.state === 'planned')
    throw new Failure(
      'conflict',
      `run ${run.id} of "${connection}" is being planned; repeat this once its plan is ready`,
    )
}
