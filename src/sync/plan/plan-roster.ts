import { exportRows } from '../../identity/decide/row-models.ts'
import type { Sending } from '../../identity/decide/sending.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import type { OnProgress } from './collect-rows.ts'
import { decideAbsent, decidePage } from './decide-people.ts'
import type { OpenedFeed } from './feeds.ts'
import { collectKeyChanges, judgePlan } from './judge-plan.ts'
import { loadPlanInputs } from './plan-inputs.ts'
import { openWorkspace, readFeed } from './read-feed.ts'
import type { Stage } from './stage.ts'
import { type PreparedPlan, summarizePlan } from './summarize-plan.ts'
import { addDueRows } from './waiting-rows.ts'

/** What the plan of the roster is made from. */
type PlanRosterInput = {
  readonly feed: OpenedFeed
  readonly stage: Stage
  /** Which changes the plan sends; default: what differs from the platform. */
  readonly sending?: Sending
  readonly signal: AbortSignal
  readonly onProgress?: OnProgress
}

/** Plans what the roster alone requires: rows and leaving dates whose day has come, and changes that were not delivered. Reads no source. */
export async function planRoster(
  ctx: Pick<SyncContext, 'store' | 'now' | 'yieldToShortWork'>,
  connection: SyncConnection,
  { feed, stage, sending, signal, onProgress = () => {} }: PlanRosterInput,
): Promise<PreparedPlan> {
  const { db } = ctx.store
  const { name } = connection
  const inputs = await loadPlanInputs(ctx, connection, feed)
  const workspace = await openWorkspace(db, connection, { inputs, stage, rows: exportRows, signal, sending })
  const { answers, reading } = inputs
  // The feed has no rows, so these are the first ones.
  const waiting = await addDueRows(workspace, { aliases: answers.aliases, asOf: reading.asOf })
  const outcome = await readFeed(ctx, workspace, {
    inputs,
    onProgress,
    decidePage: (page) => decidePage(workspace, page),
    decideAbsent: () => decideAbsent(workspace, null),
  })
  const keyChanges = await collectKeyChanges(db, name, outcome.decider)
  const verdicts = await judgePlan(db, connection, { inputs, outcome, keyChanges, countedWith: feed.name })
  const digest = await stage.digest()
  const plan = await summarizePlan(db, name, { inputs, outcome, verdicts, keyChanges, digest })
  return { ...plan, waiting }
}
