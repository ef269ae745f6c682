import type { OthersGoOn } from '../../contract/control/plan-shapes.ts'
import { namedBesidesLeftOut } from '../../identity/guards/left-out.ts'
import { leftOutOfRuns } from '../../store/roster/left-out-people.ts'
import type { Db } from '../../store/schema.ts'
import type { PreparedPlan } from './summarize-plan.ts'

type PlanOfFeed = {
  readonly connection: string
  readonly feed: string
  readonly plan: Pick<PreparedPlan, 'mode' | 'guards' | 'heldAgain'>
}

/**
 * Whom a run of this plan would hold while all others are delivered: people who were left out when a part of an earlier plan was approved. Null: it
 * would hold everybody, or nobody.
 */
export async function heldAlone(db: Db, { connection, feed, plan }: PlanOfFeed): Promise<OthersGoOn | null> {
  const { mode, guards, heldAgain = [] } = plan
  const again = new Set(heldAgain.map(({ identityId }) => identityId))
  const named = namedBesidesLeftOut({ feed, mode, guards })
  if (named === null || !named.isSubsetOf(again)) return null
  const runIds = await leftOutOfRuns(db, { connection, identityIds: [...again] })
  return { people: again.size, runIds }
}
