import { areCovered, judgesFaults } from '../../identity/guards/covered.ts'
import { namedBesidesLeftOut } from '../../identity/guards/left-out.ts'
import { doubtsValues, withoutTainted } from '../../identity/guards/taints.ts'
import { recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import { holdAllEvents } from '../../store/inbox/inbox.ts'
import { writeOutEntries } from '../../store/plans/entries.ts'
import { leftOutOf, recordLeftOutCounts, storeLeftOut } from '../../store/plans/left-out-part.ts'
import { storePassedPart } from '../../store/plans/passed-part.ts'
import { rejectsKept, stagedDigest } from '../../store/plans/plans.ts'
import { hasNewFaults } from '../../store/rejects/known-faults.ts'
import { isHeldAgain } from '../../store/roster/unapproved-people.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import { heldReason } from '../../store/runs/held-runs.ts'
import { getRun, type Run, setRunState } from '../../store/runs/runs.ts'
import type { Db, RunOptions } from '../../store/schema.ts'
import { setAttributes } from '../../telemetry/traces.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { enqueueWaiting } from '../context/enqueue.ts'
import { Overtaken } from '../context/overtaken.ts'
import {
  makePopulationStatement,
  reportPopulationStatement,
  type StatementOutcome,
} from '../context/population-statement.ts'
import { countPeople } from '../plan/count-people.ts'
import { acceptPlan, continueAfterAccept, expiryOf, failedGuards } from './accept-plan.ts'

/** The approval of the held plan that this run makes again, with the run of that plan. */
type EarlierApproval = NonNullable<RunOptions['again']> & { readonly run: Run | null }

/** Continues a planned run by its stored verdicts: accepts the plan, or holds it for an operator. */
export async function acceptOrHold(ctx: SyncContext, claim: ClaimedRun, connection: SyncConnection): Promise<void> {
  const { db } = ctx.store
  const run = await getRun(db, claim.run.id)
  if (run?.state !== 'planned') throw new Overtaken()
  const { again } = run.options
  const approval = again ? { ...again, run: await getRun(db, again.runId) } : null
  const isApproved = approval !== null && (await coversPlan(db, { approval, run }))
  const reason = heldReason(run.guards ?? [])
  if (isApproved) await accept(ctx, claim, { run, connection, approval, held: null })
  else if (reason === '' || (await waitsForLeftOut(db, run))) {
    const held = reason === '' ? null : { because: approval && madeAgain(approval) }
    await accept(ctx, claim, { run, connection, approval: null, held })
  } else await hold(ctx, claim, { run, connection, reason: approval ? `${reason}; ${madeAgain(approval)}` : reason })
}

function madeAgain({ by, runId, run }: EarlierApproval): string {
  return `made again after ${by} approved run ${runId}: ${run?.moved}`
}

/**
 * Whether a guard stops a plan only because of people who were left out when a part of an earlier plan was approved, so that all others go on.
 * What an export with only changes states is not stated again: it is held as a whole.
 */
async function waitsForLeftOut(db: Db, { id: runId, feed, mode, guards, options }: Run): Promise<boolean> {
  // A kept plan is delivered exactly as it is, or not at all.
  if (options.plan) return false
  const named = namedBesidesLeftOut({ feed, mode, guards: guards ?? [] })
  if (named === null) return false
  const leftOut = await leftOutOf(db, runId)
  const { actual } = guards?.find(({ name }) => name === 'leftUnapproved') ?? { actual: 0 }
  return actual > 0 && leftOut.size === actual && named.isSubsetOf(leftOut)
}

type CoverQuery = { readonly approval: EarlierApproval; readonly run: Run }

/**
 * Whether the approval of a held plan covers the plan made in its place: it does the same, and has no finding that was not shown. If the plan
 * was about people who were left out of a part, the new one may change others too, as nothing stops those.
 */
async function coversPlan(db: Db, { approval, run }: CoverQuery): Promise<boolean> {
  const { digest, run: approved } = approval
  const { id: runId, connection, guards } = run
  if (approved?.state !== 'superseded') return false
  const isSame =
    digest === run.digest ||
    ((await waitsForLeftOut(db, run)) && digest === (await stagedDigest(db, runId, { only: isHeldAgain(runId) })))
  if (!isSame) return false
  if (!areCovered(guards ?? [], approved.guards ?? [])) return false
  const failsByFaults = (guards ?? []).some(({ ok, name }) => !ok && judgesFaults(name))
  if (!failsByFaults) return true
  return !(await hasNewFaults(db, { connection, runId, approved: approved.id, kept: rejectsKept }))
}

type HoldInput = { readonly run: Run; readonly connection: SyncConnection; readonly reason: string }

/** Holds a plan for an operator. What the connection lets continue of a held plan is sent by a run of its own. */
async function hold(ctx: SyncContext, claim: ClaimedRun, { run, connection, reason }: HoldInput): Promise<void> {
  const now = ctx.now()
  const about = { runId: run.id, connection: run.connection }
  const continued = await ctx.store.db.transaction().execute(async (tx) => {
    const expiresAt = expiryOf(connection, now)
    if (!(await setRunState(tx, { id: run.id, to: 'held', now, reason, expiresAt, attempt: claim.attempt })))
      throw new Overtaken()
    await writeOutEntries(tx, run.id)
    if (run.feed === 'webhook') await holdAllEvents(tx, { runId: run.id, reason })
    const part = run.feed === 'source' ? await acceptUndoubtedPart(ctx, tx, run, connection, now) : null
    // The rest has another digest than the plan that was made.
    const { digest } = (part && (await getRun(tx, run.id))) ?? run
    const details = { failed: failedGuards(run.guards ?? []), digest, ...(part && { wentOn: part.run.id }) }
    await recordAuditEntry(tx, { ...about, act: 'run.held', by: rollcall, details, now })
    return part
  })
  setAttributes({ 'rollcall.state': 'held' })
  ctx.events.runHeld({ ...about, reason })
  if (continued?.statement) reportPopulationStatement(ctx, continued.statement)
  if (continued) await continueAfterAccept(ctx, continued.run, continued.batches)
  else await enqueueWaiting(ctx, run.connection)
}

type PassedPart = {
  readonly run: Run
  readonly batches: number
  /** Null while batches are due. */
  readonly statement: StatementOutcome | null
}

/** Accepts the changes of a held plan that no guard doubts, if the connection sends those, as a run of its own; null if there are none. */
async function acceptUndoubtedPart(
  ctx: Pick<SyncContext, 'connections' | 'now'>,
  tx: Db,
  { id: runId, guards }: Run,
  connection: SyncConnection,
  now: Date,
): Promise<PassedPart | null> {
  const verdicts = guards ?? []
  const kinds = withoutTainted(verdicts, connection.onHold.send)
  const removes = connection.records !== undefined
  const id = await storePassedPart(tx, { runId, kinds, onlyEmployment: doubtsValues(verdicts), removes, now })
  const run = id === null ? null : await getRun(tx, id)
  if (run === null) return null
  const batches = await acceptPlan(tx, run, connection, now)
  await setRunState(tx, { id: run.id, to: batches > 0 ? 'delivering' : 'unchanged', now })
  const ended = { runId: run.id, connection: run.connection }
  const statement = batches === 0 ? await makePopulationStatement(ctx, tx, ended) : null
  const details = { digest: run.digest, batches, of: runId, kinds }
  await recordAuditEntry(tx, {
    act: 'run.passed',
    connection: run.connection,
    by: rollcall,
    runId: run.id,
    details,
    now,
  })
  return { run, batches, statement }
}

type AcceptInput = {
  readonly run: Run
  readonly connection: SyncConnection
  /** The approval that covers a plan whose guards failed; null: none is needed. */
  readonly approval: EarlierApproval | null
  /** Holds the people who were left out of an approved part in a run of their own, and why besides that; null: there are none. */
  readonly held: { readonly because: string | null } | null
}

/** Accepts a plan, so that its changes are due. */
async function accept(ctx: SyncContext, claim: ClaimedRun, input: AcceptInput): Promise<void> {
  const { run, connection, approval } = input
  await ctx.yieldToShortWork?.()
  const now = ctx.now()
  const about = { runId: run.id, connection: run.connection }
  const decision = approval && { by: approval.by, because: approval.because ?? null }
  const { batches, statement, rest, held } = await ctx.store.db.transaction().execute(async (tx) => {
    const leftOut = input.held && (await holdLeftOut(tx, { run, connection, because: input.held.because, now }))
    const accepted = leftOut ? ((await getRun(tx, run.id)) ?? run) : run
    const count = await acceptPlan(tx, accepted, connection, now)
    const to = count > 0 ? 'delivering' : 'unchanged'
    if (!(await setRunState(tx, { id: run.id, to, now, attempt: claim.attempt, ...decision }))) throw new Overtaken()
    const details = { digest: accepted.digest, batches: count, ...(approval && { approvedBy: approval.by }) }
    await recordAuditEntry(tx, { ...about, act: 'run.passed', by: rollcall, details, now })
    const outcome = count === 0 ? await makePopulationStatement(ctx, tx, about) : null
    return { batches: count, statement: outcome, rest: accepted, held: leftOut }
  })
  setAttributes({ 'rollcall.state': batches > 0 ? 'delivering' : 'unchanged' })
  if (statement) reportPopulationStatement(ctx, statement)
  if (approval) ctx.events.runApproved({ ...about, by: approval.by, digest: run.digest ?? '' })
  if (held) ctx.events.runHeld({ runId: held.id, connection: run.connection, reason: held.reason ?? '' })
  await continueAfterAccept(ctx, rest, batches)
}

type LeftOutInput = {
  readonly run: Run
  readonly connection: SyncConnection
  readonly because: string | null
  readonly now: Date
}

/** Holds the people of a plan who were left out of an approved part in a run of their own. Returns it. */
async function holdLeftOut(tx: Db, { run, connection, because, now }: LeftOutInput): Promise<Run | null> {
  const about = { connection: run.connection, now }
  const heldId = await storeLeftOut(tx, { ...about, runId: run.id, because, expiresAt: expiryOf(connection, now) })
  const people = await countPeople(tx, { runId: heldId, asOf: run.asOf, connection, now })
  await recordLeftOutCounts(tx, { runId: run.id, heldId, people })
  const held = await getRun(tx, heldId)
  const details = { failed: failedGuards(held?.guards ?? []), digest: held?.digest, of: run.id }
  await recordAuditEntry(tx, { ...about, act: 'run.held', by: rollcall, runId: heldId, details })
  return held
}
