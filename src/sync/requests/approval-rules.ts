import { machinePrincipal } from '../../contract/control/access.ts'
import { Failure } from '../../errors.ts'
import { areCovered } from '../../identity/guards/covered.ts'
import { isInPart, type PartSelection } from '../../store/plans/approved-part.ts'
import { lockActiveRun } from '../../store/runs/claims.ts'
import { configuredBy } from '../../store/runs/configured.ts'
import { heldInPlaceOf, markBasisOutdated } from '../../store/runs/held-runs.ts'
import { getRun, type Run, requestersOfRun } from '../../store/runs/runs.ts'
import type { Db, Requester } from '../../store/schema.ts'
import { statedAlone } from '../../store/stated-departures.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { planBasis } from '../plan/plan-basis.ts'
import { requireRun } from './requests.ts'
import { refuseStatedInHeld } from './separations.ts'
import { isSameName, isSamePerson, whySamePerson } from './two-people.ts'

/** The decision of an operator about a held run. */
export type Decision = {
  readonly runId: string
  readonly by: string
  /** The principal of that person for the rule of two people. Default: the account of this machine. */
  readonly principal?: string
  readonly reason?: string
  /** The expected connection of the run. */
  readonly connection?: string
}

/** Refuses a decision without a reason where the configuration wants one. */
export function refuseWithoutReason({ approvals }: Pick<SyncConnection, 'approvals'>, { reason }: Decision): void {
  if (approvals.requireReason && (reason ?? '').trim() === '')
    throw new Failure('usage', '"approvals.requireReason" wants a reason for each decision: state one')
}

type ApprovalInput = {
  readonly run: Run
  readonly connection: SyncConnection
  readonly decision: Decision
  /** The part that is approved; left out: the whole plan. */
  readonly selection?: PartSelection
  readonly now: Date
}

/**
 * Refuses an approval that the rules of its connection do not allow, in the transaction that accepts the plan. Returns why the plan is
 * outdated; null: it is not. Until the transaction ends, nobody else approves a plan of the connection, and no run of it starts.
 */
export async function checkApproval(
  ctx: SyncContext,
  tx: Db,
  { run, connection, decision, selection = {}, now }: ApprovalInput,
): Promise<string | null> {
  const { by, principal = machinePrincipal } = decision
  refuseExpired(run, now)
  const active = await lockActiveRun(tx, run.connection)
  if (active !== null)
    throw new Failure('conflict', `run ${active} of "${run.connection}" is active; approve when it has ended`)
  if (connection.approvals.twoPeople) await refuseSamePerson(tx, run, { approver: { by, principal }, selection })
  if (run.options.separate) await refuseStatedInHeld(tx, { connection: run.connection, ...run.options.separate })
  const basis = await planBasis({ ...ctx, store: { ...ctx.store, db: tx } }, connection)
  await markBasisOutdated(tx, { runId: run.id, basis })
  return (await getRun(tx, run.id))?.moved ?? null
}

/**
 * The held run that a person decides about. Each plan of an export makes the run of the people who were split off anew: if that was replaced by
 * one with the same changes, the newer one is returned. Throws `conflict` if it is no longer held, or of another connection than the person expects.
 */
export async function heldRun(ctx: SyncContext, { runId, connection }: Decision): Promise<Run> {
  const run = await heldInstead(ctx, await requireRun(ctx, runId))
  if (connection !== undefined && run.connection !== connection)
    throw new Failure('conflict', `run ${runId} is of the connection "${run.connection}", not of "${connection}"`)
  if (run.state === 'held') return run
  throw new Failure('conflict', `run ${runId} is ${run.state}, not held${whyNotHeld(run)}`)
}

/** The held run that stands for one of people who were split off; the run itself if there is none. Throws if a guard holds it for more. */
async function heldInstead(ctx: SyncContext, run: Run): Promise<Run> {
  const heldId = run.state === 'superseded' ? await heldInPlaceOf(ctx.store.db, run.id) : null
  if (heldId === null) return run
  const held = await requireRun(ctx, heldId)
  if (areCovered(held.guards ?? [], run.guards ?? [])) return held
  throw new Failure(
    'conflict',
    `run ${run.id} was made again as run ${held.id}, which is held for another reason too: look at that one`,
  )
}

function whyNotHeld({ state, reason, decidedBy, decidedAt }: Run): string {
  if (state === 'superseded') return reason === null ? '' : `: ${reason}`
  if (decidedBy === null) return ''
  const decision = state === 'rejected' || state === 'cancelled' ? state : 'approved'
  return `: ${decidedBy} ${decision} it${decidedAt === null ? '' : ` at ${decidedAt}`}`
}

/** Refuses a plan that can no longer be approved. */
function refuseExpired(run: Run, now: Date): void {
  const { id, expiresAt } = run
  if (expiresAt === null || Date.parse(expiresAt) > now.getTime()) return
  throw new Failure(
    'conflict',
    `the plan of run ${id} has expired at ${expiresAt} and cannot be approved. To plan again, ${planningAgain(run)}`,
  )
}

/** What plans again what a held plan was made from, after "to plan again". */
export function planningAgain({ connection, options }: Run): string {
  const { retract, separate, revert, person } = options
  const request = retract ? 'retraction' : separate ? 'separation' : revert ? 'revert' : null
  if (request) return `reject it and ask for the ${request} again`
  return `run "rollcall sync --connection ${connection}${person ? ' --person KEY' : ''}"`
}

/** Refuses an approver whom the rule of two people takes for the person who requested or configured the run. */
async function refuseSamePerson(
  db: Db,
  run: Run,
  { approver, selection }: { readonly approver: Requester; readonly selection: PartSelection },
): Promise<void> {
  const rule = '"approvals.twoPeople" requires another person to approve it'
  const requester = (await requestersOfRun(db, run.id)).find((one) => isSamePerson(one, approver))
  if (requester) {
    const who = isSameName(requester, approver) ? approver.by : requester.by
    throw new Failure('conflict', `${who} requested run ${run.id}${whySamePerson(requester, approver)}: ${rule}`)
  }
  const alone = (await statedAlone(db, run.id, isInPart(selection))).find((one) => isSamePerson(one, approver))
  if (alone) {
    const stated = `a departure of run ${run.id} is an emergency that ${alone.by} alone stated`
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
