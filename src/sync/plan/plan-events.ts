import { eventRows } from '../../identity/decide/row-models.ts'
import type { Sending } from '../../identity/decide/sending.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import type { OnProgress } from './collect-rows.ts'
import { decideAbsent, decidePage } from './decide-people.ts'
import type { OpenedFeed } from './feeds.ts'
import { collectKeyChanges, judgePlan } from './judge-plan.ts'
import { loadPlanInputs } from './plan-inputs.ts'
import { openWorkspace, readFeed } from './read-feed.ts'
import { splitPlan, verdictsOnRest } from './split-plan.ts'
import type { Stage } from './stage.ts'
import { type PreparedPlan, summarizePlan } from './summarize-plan.ts'

/** What the plan of events is made from. */
type PlanEventsInput = {
  readonly feed: OpenedFeed
  readonly stage: Stage
  /** Which changes the plan sends; default: what differs from the platform. */
  readonly sending?: Sending
  /**
   * Moves people whom a guard stops to a held plan of their own, so that the others proceed. `queuesBehindHeld`: people whom a held run
   * already contains, or who exceed the limit for which it is held, wait behind that run. null: the plan is held as a whole.
   */
  readonly split: { readonly queuesBehindHeld: boolean } | null
  readonly signal: AbortSignal
  readonly onProgress?: OnProgress
}

/** Plans events: reads them, stages the resulting changes, judges the plan and moves people who must wait to a held plan. Sends nothing. */
export async function planEvents(
  ctx: Pick<SyncContext, 'store' | 'now' | 'yieldToShortWork'>,
  connection: SyncConnection,
  input: PlanEventsInput,
): Promise<PreparedPlan> {
  const { feed, stage, sending, split, signal, onProgress = () => {} } = input
  const { db } = ctx.store
  const { name } = connection
  const inputs = await loadPlanInputs(ctx, connection, feed)
  const workspace = await openWorkspace(db, connection, { inputs, stage, rows: eventRows, signal, sending })
  const outcome = await readFeed(ctx, workspace, {
    inputs,
    onProgress,
    decidePage: (page) => decidePage(workspace, page),
    decideAbsent: () => decideAbsent(workspace, null),
  })
  const keyChanges = await collectKeyChanges(db, name, outcome.decider)
  const verdicts = await judgePlan(db, connection, { inputs, outcome, keyChanges, countedWith: feed.name })

  const result = split && (await splitPlan(workspace, { verdicts, keyChanges, ...split }))
  const digest = await stage.digest()
  const plan = await summarizePlan(db, name, { inputs, outcome, verdicts, keyChanges, digest })
  if (result === null) return plan
  if (result.kind === 'whole') return { ...plan, counts: result.counts, people: result.people }
  return { ...plan, guards: verdictsOnRest(verdicts), pairs: [], heldPart: result.part }
}
