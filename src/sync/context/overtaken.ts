import { type ClaimedRun, holdsRun } from '../../store/runs/claims.ts'
import type { Db } from '../../store/schema.ts'

/** Thrown if another attempt at the same run has taken over: this one ends without a trace. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

/** Runs `work` in a transaction of its own if this attempt still has the run; otherwise throws `Overtaken`. */
export async function whileClaimed<T>(db: Db, claim: ClaimedRun, work: (tx: Db) => Promise<T>): Promise<T> {
  return await db.transaction().execute(async (tx) => {
    if (!(await holdsRun(tx, claim))) throw new Overtaken()
    return await work(tx)
  })
}
