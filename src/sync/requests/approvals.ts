import { machinePrincipal } from '../../contract/control/access.ts'
import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { lockActiveRun } from '../../store/runs/claims.ts'
import { configuredBy } from '../../store/runs/configured.ts'
import { basisOfHeld, markBasisOutdated } from '../../store/runs/held-runs.ts'
import {
  addWaitingRun,
  feedsOfNamedPeople,
  getRun,
  moveRun,
  type Run,
  requestersOfRun,
  waitingRun,
} from '../../store/runs/runs.ts'
import type { Db, Requester } from '../../store/schema.ts'
import { statedAlone } from '../../store/stated-departures.ts'
import { setInheritedAttributes } from '../../telemetry/traces.ts'
import { requireConnection, type SyncContext } from '../context/context.ts'
import { enqueueWaiting } from '../context/enqueue.ts'
import { reportStatement, statePopulation } from '../context/state-population.ts'
import { planBasis } from '../plan/plan-basis.ts'
import { acceptPlan, continueAfterAccept } from '../run/accept-plan.ts'
import { sweep } from '../run/sweep.ts'
import { endRun, requireRun } from './requests.ts'
import { refuseStatedInHeld } from './separations.ts'
import { isSameName, isSamePerson, whySamePerson } from './two-people.ts'

/** The decision of an operator about a held run. */
type Decision = {
  readonly runId: string
  readonly by: string
  /** The principal of that person for the rule of two people. Default: the account of this machine. */
  readonly principal?: string
  readonly reason?: string
  /** The expected connection of the run. */
  readonly connection?: string
}

/**
 * Approves exactly the plan that `digest` names, so that the held run delivers it. If the plan is outdated, because facts about its people
 * were accepted or its connection has another configuration, nothing is sent: the returned run makes the plan again. That run delivers if
 * the plan is unchanged or no guard holds it any more.
 */
export async function approveRun(ctx: SyncContext, decision: Decision & { readonly digest: string }): Promise<Run> {
  const { runId } = decision
  const part = { runId, name: 'approve', attributes: {}, isExpected: (error: unknown) => error instanceof Failure }
  return await ctx.traces.ofRun(part, () => approve(ctx, decision))
}

async function approve(ctx: SyncContext, decision: Decision & { readonly digest: string }): Promise<Run> {
  const { db } = ctx.store
  const { runId, digest, by, principal = machinePrincipal, reason: because = null } = decision
  const run = await heldRun(ctx, decision)
  setInheritedAttributes({ 'rollcall.connection': run.connection })
  if (run.digest !== digest)
    throw new Failure('conflict', `run ${runId} is held with the plan ${run.digest}, not ${digest}`)
  const connection = requireConnection(ctx, run.connection)
  const now = ctx.now()
  refuseExpired(run, now)
  const committed = await db.transaction().execute(async (tx) => {
    const active = await lockActiveRun(tx, run.connection)
    if (active !== null)
      throw new Failure('conflict', `run ${active} of "${run.connection}" is active; approve when it has ended`)
    if (connection.approvals.twoPeople) await refuseSamePerson(tx, run, { by, principal })
    if (run.options.separate) await refuseStatedInHeld(tx, { connection: run.connection, ...run.options.separate })
    const basis = await planBasis({ ...ctx, store: { ...ctx.store, db: tx } }, connection)
    await markBasisOutdated(tx, { runId, basis })
    const { moved = null } = (await getRun(tx, runId)) ?? {}
    const details = { digest, ...(because !== null && { reason: because }) }
    const approved = { act: 'run.approved', connection: run.connection, by, runId, now } as const
    if (moved !== null) {
      const again = await requestReplan(tx, run, { digest, by, because, now })
      await recordAuditEntry(tx, { ...approved, details: { ...details, again } })
      return { again, batches: 0, statement: null }
    }
    if (!(await moveRun(tx, { id: runId, to: 'delivering', now, by, because, digest }))) {
      throw new Failure('conflict', `run ${runId} is no longer held with this plan`)
    }
    await recordAuditEntry(tx, { ...approved, details })
    const done = await acceptPlan(tx, run, connection, now)
    if (done > 0) return { again: null, batches: done, statement: null }
    await moveRun(tx, { id: runId, to: 'finished', now })
    const statement = await statePopulation(ctx, tx, { runId, connection: run.connection })
    return { again: null, batches: done, statement }
  })
  if (committed.again !== null) {
    ctx.events.runRequested({ runId: committed.again, connection: run.connection, trigger: 'operator' })
    await sweep(ctx)
    return await requireRun(ctx, committed.again)
  }
  if (committed.statement) reportStatement(ctx, committed.statement)
  ctx.events.runApproved({ runId, connection: run.connection, by, digest })
  await continueAfterAccept(ctx, run, committed.batches)
  return await requireRun(ctx, runId)
}

/** Drops the plan of a held run. */
export async function rejectRun(ctx: SyncContext, decision: Decision): Promise<Run> {
  const { runId, by, reason: because = null } = decision
  await heldRun(ctx, decision)
  const run = await endRun(ctx, { runId, by, because, to: 'rejected' })
  ctx.events.runRejected({ runId, connection: run.connection, by })
  await enqueueWaiting(ctx, run.connection)
  return run
}

async function heldRun(ctx: SyncContext, { runId, connection }: Decision): Promise<Run> {
  const run = await requireRun(ctx, runId)
  if (connection !== undefined && run.connection !== connection)
    throw new Failure('conflict', `run ${runId} is of the connection "${run.connection}", not of "${connection}"`)
  if (run.state === 'held') return run
  throw new Failure('conflict', `run ${runId} is ${run.state}, not held${whyNotHeld(run)}`)
}

function whyNotHeld({ state, reason, decidedBy, decidedAt }: Run): string {
  if (state === 'superseded') return reason === null ? '' : `: ${reason}`
  if (decidedBy === null) return ''
  const decision = state === 'rejected' || state === 'cancelled' ? state : 'approved'
  return `: ${decidedBy} ${decision} it${decidedAt === null ? '' : ` at ${decidedAt}`}`
}

function refuseExpired({ id, connection, expiresAt, options }: Run, now: Date): void {
  if (expiresAt === null || Date.parse(expiresAt) > now.getTime()) return
  const helps = options.retract
    ? 'reject it, and ask for the retraction again'
    : options.separate
      ? 'reject it, and ask for the separation again'
      : `"rollcall sync --connection ${connection}" plans again on what is known now`
  throw new Failure('conflict', `the plan of run ${id} has expired at ${expiresAt} and cannot be approved: ${helps}`)
}

async function refuseSamePerson(db: Db, run: Run, approver: Requester): Promise<void> {
  const rule = '"approvals.twoPeople" wants another person to approve it'
  const requester = (await requestersOfRun(db, run.id)).find((one) => isSamePerson(one, approver))
  if (requester) {
    const who = isSameName(requester, approver) ? approver.by : requester.by
    throw new Failure('conflict', `${who} asked for run ${run.id}${whySamePerson(requester, approver)}: ${rule}`)
  }
  const alone = (await statedAlone(db, run.id)).find((one) => isSamePerson(one, approver))
  if (alone) {
    const stated = `${alone.by} alone stated a departure of run ${run.id} as an emergency`
    throw new Failure('conflict', `${stated}${whySamePerson(alone, approver)}: ${rule}`)
  }
  const { connection, configuration } = run
  if (configuration === null) return
  const name = await configuredBy(db, { connection, configuration })
  const started = name === null ? null : { by: name, principal: machinePrincipal }
  if (started && isSamePerson(started, approver)) {
    const planned = `run ${run.id} was planned by a configuration that ${started.by} brought in`
    throw new Failure('conflict', `${planned}${whySamePerson(started, approver)}: ${rule}`)
  }
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
