import { type ClaimedRun, claimRun } from '../../store/runs/claims.ts'
import { addWaitingRun, ensureConnection, requestersOfRun, type Trigger } from '../../store/runs/runs.ts'
import type { SyncContext } from '../context/context.ts'
import { linkedConnections } from '../plan/linked.ts'

/**
 * Adds a run for each linked connection and claims it for this process. A connection that has another active run reads the source itself when
 * that has ended.
 */
export async function claimLinkedRuns(ctx: SyncContext, { run }: ClaimedRun): Promise<readonly ClaimedRun[]> {
  const { db } = ctx.store
  const { full, verify, sample } = run.options
  const options = { ...(full && { full }), ...(verify && { verify }), ...(sample && { sample }) }
  const claims: ClaimedRun[] = []
  for (const { name } of linkedConnections(ctx, run.connection)) {
    await ensureConnection(db, name)
    const runId = await addWaitingRun(db, {
      connection: name,
      feed: 'source',
      trigger: run.trigger as Trigger,
      options,
      requestedBy: await requestersOfRun(db, run.id),
      linkedRunId: run.id,
      now: ctx.now(),
    })
    ctx.events.runRequested({ runId, connection: name, trigger: run.trigger })
    const claim = await claimRun(db, { id: runId, lease: ctx.lease, now: ctx.now() })
    if (claim) claims.push(claim)
  }
  return claims
}
