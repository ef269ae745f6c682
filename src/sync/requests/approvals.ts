import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import type { PartSelection } from '../../store/plans/approved-part.ts'
import { basisOfHeld } from '../../store/runs/held-runs.ts'
import {
  addWaitingRun,
  feedsOfNamedPeople,
  type Run,
  requestersOfRun,
  setRunState,
  waitingRun,
} from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { setInheritedAttributes } from '../../telemetry/traces.ts'
import { requireConnection, type SyncContext } from '../context/context.ts'
import { enqueueWaiting } from '../context/enqueue.ts'
import { makePopulationStatement, reportPopulationStatement } from '../context/population-statement.ts'
import { planBasis } from '../plan/plan-basis.ts'
import { acceptPlan, continueAfterAccept } from '../run/accept-plan.ts'
import { sweep } from '../run/sweep.ts'
import { checkApproval, type Decision, heldRun, refuseWithoutReason } from './approval-rules.ts'
import { approvePart } from './approve-part.ts'
import { endRun, requireRun } from './requests.ts'

/** `digest` names the plan or, with `part`, the part of it that is approved. */
type Approval = Decision & { readonly digest: string; readonly part?: PartSelection }

/**
 * Approves exactly the plan that `digest` names, so that the held run delivers it. If the plan is outdated, because facts about its people
 * were accepted or its connection has another configuration, nothing is sent: the returned run makes the plan again. That run delivers if
 * the plan is unchanged or no guard holds it any more. With `part`, only that part is sent, by the returned run, and the rest stays held.
 */
export async function approveRun(ctx: SyncContext, decision: Approval): Promise<Run> {
  const { runId } = decision
  const part = { runId, name: 'approve', attributes: {}, isExpected: (error: unknown) => error instanceof Failure }
  return await ctx.traces.ofRun(part, () => approve(ctx, decision))
}

async function approve(ctx: SyncContext, decision: Approval): Promise<Run> {
  const { db } = ctx.store
  const { digest, by, reason: because = null } = decision
  const run = await heldRun(ctx, decision)
  const { id: runId } = run
  setInheritedAttributes({ 'rollcall.connection': run.connection })
  const connection = requireConnection(ctx, run.connection)
  refuseWithoutReason(connection, decision)
  if (decision.part !== undefined)
    return await approvePart(ctx, { run, connection, decision, digest, selection: decision.part })
  if (run.digest !== digest)
    throw new Failure('conflict', `run ${runId} is held with the plan ${run.digest}, not ${digest}`)
  const now = ctx.now()
  const committed = await db.transaction().execute(async (tx) => {
    const outdatedReason = await checkApproval(ctx, tx, { run, connection, decision, now })
    const details = { digest, ...(because !== null && { reason: because }) }
    const approved = { act: 'run.approved', connection: run.connection, by, runId, now } as const
    if (outdatedReason !== null) {
      const again = await requestReplan(tx, run, { digest, by, because, now })
      await recordAuditEntry(tx, { ...approved, details: { ...details, again } })
      return { again, batches: 0, statement: null }
    }
    if (!(await setRunState(tx, { id: runId, to: 'delivering', now, by, because, digest }))) {
      throw new Failure('conflict', `run ${runId} is no longer held with this plan`)
    }
    await recordAuditEntry(tx, { ...approved, details })
    const done = await acceptPlan(tx, run, connection, now)
    if (done > 0) return { again: null, batches: done, statement: null }
    await setRunState(tx, { id: runId, to: 'finished', now })
    const statement = await makePopulationStatement(ctx, tx, { runId, connection: run.connection })
    return { again: null, batches: done, statement }
  })
  if (committed.again !== null) {
    ctx.events.runRequested({ runId: committed.again, connection: run.connection, trigger: 'operator' })
    await sweep(ctx)
    return await requireRun(ctx, committed.again)
  }
  if (committed.statement) reportPopulationStatement(ctx, committed.statement)
  ctx.events.runApproved({ runId, connection: run.connection, by, digest })
  await continueAfterAccept(ctx, run, committed.batches)
  return await requireRun(ctx, runId)
}

/** Drops the plan of a held run. */
export async function rejectRun(ctx: SyncContext, decision: Decision): Promise<Run> {
  const { by, reason: because = null } = decision
  const held = await heldRun(ctx, decision)
  const { id: runId } = held
  const connection = ctx.connections.get(held.connection)
  if (connection) refuseWithoutReason(connection, decision)
  const run = await endRun(ctx, { runId, by, because, to: 'rejected' })
  ctx.events.runRejected({ runId, connection: run.connection, by })
  await enqueueWaiting(ctx, run.connection)
  return run
}

type ReplanInput = {
  readonly digest: string
  readonly by: string
  readonly because: string | null
  readonly now: Date
}

/** Requests the run that makes a held plan again. The held run stays until the new plan is stored, so that nothing of it is lost. */
async function requestReplan(
  tx: Db,
  { id: runId, connection, feed, options: heldOptions }: Run,
  { now, ...approval }: ReplanInput,
): Promise<string> {
  const waiting = await waitingRun(tx, { connection, feed })
  const other = waiting?.options.again?.runId ?? (waiting && feedsOfNamedPeople.has(feed) ? waiting.id : runId)
  if (other !== runId) throw new Failure('conflict', `run ${other} is being planned again; approve when that has ended`)
  const { plan: _, joined: __, held: ___, ...kept } = heldOptions
  const options = { ...kept, again: { runId, ...approval } }
  const requestedBy = await requestersOfRun(tx, runId)
  return await addWaitingRun(tx, { connection, feed, trigger: 'operator', options, requestedBy, now })
}

/** Whether the plan of a held run has another basis than the connection has now: its configuration, or classified values. */
export async function hasMovedBasis(
  ctx: SyncContext,
  run: { readonly id: string; readonly connection: string },
): Promise<boolean> {
  const connection = ctx.connections.get(run.connection)
  const basis = await basisOfHeld(ctx.store.db, run.id)
  return connection !== undefined && basis !== null && basis !== (await planBasis(ctx, connection))
}
