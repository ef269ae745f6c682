import { Failure } from '../../errors.ts'
import type { Payload } from '../../queue/jobs.ts'
import { recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import { dropPlan } from '../../store/plans/plans.ts'
import { type ClaimedRun, claimRun, releaseRun } from '../../store/runs/claims.ts'
import { setRunState } from '../../store/runs/runs.ts'
import { workingOn } from '../../store/workers/leases.ts'
import { setInheritedAttributes, traceStep } from '../../telemetry/traces.ts'
import type { SyncContext } from '../context/context.ts'
import { enqueueWaiting } from '../context/enqueue.ts'
import { Overtaken } from '../context/overtaken.ts'
import type { OpenedFeed } from '../plan/feeds.ts'
import { acceptOrHold } from './accept-or-hold.ts'
import { claimLinkedRuns } from './linked-runs.ts'
import { planRun } from './plan-run.ts'

/** Maximum number of attempts that end with an unexpected error, so that a bug does not block the connection for ever. */
const maxUnexpectedAttempts = 5
/** Maximum number of attempts while the source or the platform does not answer: some minutes. The run then fails, so that an operator sees it. */
const maxUnreachableAttempts = 10

/**
 * The `run` job: reads the source, plans, judges, and makes due what may be sent. Can be repeated at any point, also after a crash: an
 * unfinished plan is made again, a finished one is accepted or held by its stored verdicts.
 */
export async function executeRun(ctx: SyncContext, { runId }: Payload<'run'>, signal: AbortSignal): Promise<void> {
  await workingOn(ctx.lease, { kind: 'run', runId }, async () => {
    const claim = await claimRun(ctx.store.db, { id: runId, lease: ctx.lease, now: ctx.now() })
    if (claim) await attemptRun(ctx, claim, { signal })
  })
}

type AttemptInput = {
  readonly signal: AbortSignal
  /** The export that the run of another connection has fetched for this one. */
  readonly fetched?: OpenedFeed
}

/** One attempt at a claimed run: plans it, unless an earlier attempt has, and accepts or holds the plan. */
async function attemptRun(ctx: SyncContext, claim: ClaimedRun, { signal, fetched }: AttemptInput): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const { connection: name, state } = claim.run
  setInheritedAttributes({ 'rollcall.connection': name, 'rollcall.attempt': claim.attempt })
  const connection = ctx.connections.get(name)
  if (!connection)
    return await failRun(ctx, claim, new Failure('config_invalid', `connection "${name}" is not in the configuration`))
  const onFetched = (feed: OpenedFeed) => startLinkedRuns(ctx, claim, { signal, resources, fetched: feed })
  try {
    if (state === 'reading') await planRun(ctx, claim, connection, { signal, resources, fetched, onFetched })
    await traceStep('guard', () => acceptOrHold(ctx, claim, connection))
  } catch (error) {
    if (error instanceof Overtaken) return
    const final = finalFailure(error, claim, signal)
    if (final) await failRun(ctx, claim, final)
    else await releaseRun(ctx.store.db, claim)
    if (!(error instanceof Failure) || !final) throw error
  }
}

/** Why the run fails for good; null if another attempt may succeed. */
function finalFailure(error: unknown, { attempt }: ClaimedRun, signal: AbortSignal): Failure | null {
  if (signal.aborted) return null
  if (error instanceof Failure) {
    const isUnreachable = error.code === 'source_unreachable' || error.code === 'platform_unreachable'
    const isGivenUp = isUnreachable && attempt >= maxUnreachableAttempts
    return error.retry && !isGivenUp ? null : error
  }
  if (attempt < maxUnexpectedAttempts) return null
  return new Failure('run_failed', `an unexpected error ended the run after ${attempt} attempts; the log has it`)
}

async function failRun(ctx: SyncContext, claim: ClaimedRun, failure: Failure): Promise<void> {
  const { id, connection, trigger, feed, created_at: createdAt } = claim.run
  const { code, message: reason } = failure
  const now = ctx.now()
  await ctx.store.db.transaction().execute(async (tx) => {
    const isSet = await setRunState(tx, { id, to: 'failed', now, reason, failure: code, attempt: claim.attempt })
    if (!isSet) return
    await dropPlan(tx, id, now)
    await recordAuditEntry(tx, { act: 'run.failed', connection, by: rollcall, runId: id, details: { code }, now })
  })
  ctx.events.runFailed({ runId: id, connection, code, reason })
  ctx.traces.recordRun({ id, connection, trigger, feed, state: 'failed', createdAt: createdAt.toISOString() })
  await enqueueWaiting(ctx, connection)
}

type LinkedInput = Required<AttemptInput> & { readonly resources: AsyncDisposableStack }

/** Starts the runs of linked connections beside this one. The fetched copy stays until they have ended. */
async function startLinkedRuns(
  ctx: SyncContext,
  claim: ClaimedRun,
  { signal, resources, fetched }: LinkedInput,
): Promise<void> {
  const linked = await claimLinkedRuns(ctx, claim)
  const running = linked.map((each) => executeLinkedRun(ctx, each, { signal, fetched }))
  resources.defer(async () => {
    await Promise.all(running)
  })
}

/** Executes the run of a linked connection. Its failure does not concern the other run, and its next attempt is a job of its own. */
async function executeLinkedRun(ctx: SyncContext, claim: ClaimedRun, input: Required<AttemptInput>): Promise<void> {
  const { run, attempt } = claim
  try {
    await workingOn(ctx.lease, { kind: 'run', runId: run.id }, () => attemptRun(ctx, claim, input))
  } catch (error) {
    if (input.signal.aborted) return
    if (error instanceof Failure)
      ctx.events.jobFailed({ job: 'run', id: run.id, attempt, final: false, code: error.code, reason: error.message })
    else ctx.events.unexpected({ during: 'the run of a linked connection', error })
  }
}
