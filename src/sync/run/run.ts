import { Failure } from '../../errors.ts'
import type { Verdict } from '../../identity/change.ts'
import { areCovered, judgesFaults } from '../../identity/guards/covered.ts'
import { doubtsValues, untainted } from '../../identity/guards/taints.ts'
import type { Payload } from '../../queue/jobs.ts'
import { recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import { type SourceOutcome, recordSourceDecision } from '../../store/connections/sources.ts'
import { dropStated } from '../../store/foreign/people.ts'
import { dropSolvedProblems, rejectedEvents } from '../../store/history/history.ts'
import { holdAllEvents, refuseEvents, acknowledgeEvents } from '../../store/inbox/inbox.ts'
import { acceptLeavers, recordLeavers, acknowledgeVerifiedLeavers } from '../../store/leavers/clock.ts'
import type { DeliveredBy } from '../../store/plans/batches.ts'
import { writeOutEntries } from '../../store/plans/entries.ts'
import { acceptIndex, storeIndex, storeIndexPart } from '../../store/plans/export-index.ts'
import { storePassedPart } from '../../store/plans/passed-part.ts'
import {
  clearPlan,
  commitPlan,
  dropPlan,
  markPlanned,
  refreshStatistics,
  rejectsKept,
} from '../../store/plans/plans.ts'
import { storeHeldPart } from '../../store/plans/held-part.ts'
import { hasNewFaults } from '../../store/rejects/known-faults.ts'
import { storeAccount } from '../../store/runs/accounts.ts'
import { type ClaimedRun, claimRun, holdsRun, releaseRun } from '../../store/runs/claims.ts'
import { recordConfiguration } from '../../store/runs/configured.ts'
import {
  addWaitingRun,
  requestersOfRun,
  type FeedName,
  getRun,
  heldReason,
  moveRun,
  feedsOfNamedPeople,
  type Run,
  type Trigger,
} from '../../store/runs/runs.ts'
import type { Db, RunAccount, Verification } from '../../store/schema.ts'
import { workingOn } from '../../store/workers/leases.ts'
import { setAttributes, setInheritedAttributes, traceStep } from '../../telemetry/traces.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { enqueueDeliveries, enqueueWaiting } from '../context/enqueue.ts'
import { Overtaken } from '../context/overtaken.ts'
import { saveTarget } from '../target/target.ts'
import { planSeparation } from '../plan/separation.ts'
import { planBasis } from '../plan/basis.ts'
import { type OpenedFeed, openFeed, openLinked, archiveSources } from '../plan/feeds.ts'
import { refuseOtherPlan } from '../plan/kept-plan.ts'
import { claimLinkedRuns } from '../plan/linked.ts'
import { preparePerson } from '../plan/one-person.ts'
import { type PreparedPlan, preparePlan } from '../plan/prepare.ts'
import type { Progress } from '../plan/read-rows.ts'
import { prepareRevert } from '../plan/revert.ts'
import { storeStage } from '../plan/stage.ts'
import { lookUpFailure } from '../target/look-up.ts'
import { verifyLeavers } from '../verify/leavers.ts'
import { verifyPeopleInDoubt } from '../verify/in-doubt.ts'
import { learnAfterRestore } from '../verify/restored.ts'
import { verifySample } from '../verify/sample.ts'
import { verifyUncertain } from '../verify/uncertain.ts'
import { verifyAgainstPlatform, withoutPlanned } from '../verify/verify.ts'
import { addDueRuns } from './due-runs.ts'

/** An unforeseen error does not block the connection for ever. */
const attemptsAtUnexpected = 5
/** A source or platform that does not answer is tried again for some minutes. Then the run fails, so that an operator sees it. */
const attemptsAtUnreachable = 10
const hourMs = 60 * 60_000
/** The feeds of runs that read no source. */
const readsNothing: ReadonlySet<string> = new Set(['roster', 'revert', 'separation'])

/**
 * The `run` job: reads the source, plans, judges, and makes due what may be sent. Run twice, or after a crash at any point, it
 * goes on from what the store says: an unfinished plan is made again, a finished one is judged by its stored verdicts.
 */
export async function executeRun(ctx: SyncContext, { runId }: Payload<'run'>, signal: AbortSignal): Promise<void> {
  await workingOn(ctx.lease, { kind: 'run', runId }, () => readAndAccept(ctx, runId, signal))
}

async function readAndAccept(ctx: SyncContext, runId: string, signal: AbortSignal): Promise<void> {
  const claim = await claimRun(ctx.store.db, { id: runId, lease: ctx.lease, now: ctx.now() })
  if (!claim) return
  await using job = new AsyncDisposableStack()
  await continueRun(ctx, claim, { signal, job })
}

/** One attempt at a claimed run. */
type Attempt = {
  readonly signal: AbortSignal
  /** Disposed when the job of the run ends. */
  readonly job: AsyncDisposableStack
  /** The export that the run of another connection has fetched for this one. */
  readonly fetched?: OpenedFeed
}

async function continueRun(ctx: SyncContext, claim: ClaimedRun, attempt: Attempt): Promise<void> {
  const { signal } = attempt
  setInheritedAttributes({ 'rollcall.connection': claim.run.connection, 'rollcall.attempt': claim.attempt })
  const connection = ctx.connections.get(claim.run.connection)
  if (!connection) {
    await failRun(
      ctx,
      claim,
      new Failure('config_invalid', `connection "${claim.run.connection}" is not in the configuration`),
    )
    return
  }

  try {
    if (claim.run.state === 'reading') await readAndPlan(ctx, claim, connection, attempt)
    await traceStep('guard', () => accept(ctx, claim, connection))
  } catch (error) {
    if (error instanceof Overtaken) return
    const final = finalFailure(error, claim, signal)
    if (final) await failRun(ctx, claim, final)
    else await releaseRun(ctx.store.db, claim)
    if (!(error instanceof Failure) || !final) throw error
  }
}

/** Why the run is over, or null where another attempt may still succeed. */
function finalFailure(error: unknown, claim: ClaimedRun, signal: AbortSignal): Failure | null {
  if (signal.aborted) return null
  if (error instanceof Failure) {
    const isAway = error.code === 'source_unreachable' || error.code === 'platform_unreachable'
    const givenUp = isAway && claim.attempt >= attemptsAtUnreachable
    return error.retry && !givenUp ? null : error
  }
  if (claim.attempt < attemptsAtUnexpected) return null
  return new Failure('run_failed', `an unexpected error ended the run after ${claim.attempt} attempts; the log has it`)
}

/** Starts the runs of linked connections beside this one. The fetched copy stays until they have ended. */
async function startLinkedRuns(
  ctx: SyncContext,
  claim: ClaimedRun,
  { signal, job, fetched }: Required<Attempt>,
): Promise<void> {
  const running = (await claimLinkedRuns(ctx, claim)).map((linked) => linkedRun(ctx, linked, { signal, fetched }))
  job.defer(async () => {
    await Promise.all(running)
  })
}

/** Continues the run of a linked connection. What it fails with does not concern the other run, and its next attempt is a job of its own. */
async function linkedRun(
  ctx: SyncContext,
  claim: ClaimedRun,
  { signal, fetched }: Omit<Required<Attempt>, 'job'>,
): Promise<void> {
  try {
    await workingOn(ctx.lease, { kind: 'run', runId: claim.run.id }, async () => {
      await using job = new AsyncDisposableStack()
      await continueRun(ctx, claim, { signal, job, fetched })
    })
  } catch (error) {
    if (signal.aborted) return
    const { run, attempt } = claim
    if (error instanceof Failure)
      ctx.events.jobFailed({ job: 'run', id: run.id, attempt, final: false, code: error.code, reason: error.message })
    else ctx.events.unexpected({ during: 'the run of a linked connection', error })
  }
}

async function readAndPlan(
  ctx: SyncContext,
  claim: ClaimedRun,
  connection: SyncConnection,
  attempt: Attempt,
): Promise<void> {
  const { signal } = attempt
  const { db } = ctx.store
  const about = { runId: claim.run.id, connection: connection.name }
  ctx.events.runStarted({ ...about, trigger: claim.run.trigger })
  await db.transaction().execute(async (tx) => {
    if (!(await holdsRun(tx, claim))) throw new Overtaken()
    await clearPlan(tx, claim.run.id)
  })
  const { plan: kept, joined } = claim.run.options
  if (joined) {
    const { feed, trigger } = claim.run
    const requestedBy = await requestersOfRun(db, claim.run.id)
    const asked = { feed: feed as FeedName, trigger: trigger as Trigger, options: joined, requestedBy, now: ctx.now() }
    await addWaitingRun(db, { connection: connection.name, ...asked })
  }
  await saveTarget(ctx, connection)
  const learned = await learnAfterRestore(ctx, connection, { claim, signal })
  const verification = learned ?? (await verify(ctx, connection, { claim, signal }))
  const unread = await verifyUncertain(ctx, connection, { claim, signal })
  // What HR says is read all the same; a run that reads nothing else has nothing to go on with.
  if (unread && readsNothing.has(claim.run.feed)) throw lookUpFailure(connection, unread)
  await verifyPeopleInDoubt(ctx, { connections: [connection.name], repairs: 'here', signal })
  await archiveSources(ctx, connection)
  // A command works no longer than its run does, so that this is when it reads what became of earlier departures.
  await verifyLeavers(ctx, { connections: [connection.name], all: claim.run.options.verify ?? false, signal })

  // Before anything is read by it: what is said meanwhile makes it another one.
  const basis = await planBasis(ctx, connection)
  const plan = await traceStep('plan', () => planOf(ctx, claim, connection, attempt))

  const found = await withoutPlanned(ctx, claim.run, { found: verification, plan })
  const { heldPart } = plan
  if (kept) {
    const made = { connection: connection.name, basis, digest: plan.digest, version: plan.source?.version ?? null }
    await refuseOtherPlan(db, kept, made)
  }
  const now = ctx.now()
  const store = async (tx: Db): Promise<string | null> => {
    const { name, configuration } = connection
    if (!(await markPlanned(tx, planned(claim, plan), { ...plan, configuration, basis, verification: found }, now)))
      throw new Overtaken()
    await storeIndex(tx, claim.run.id, plan.index ?? null)
    if (plan.account) await storeAccount(tx, { runId: claim.run.id, connection: name, account: plan.account })
    await recordConfiguration(tx, { connection: name, configuration, startedBy: ctx.startedBy })
    const { source, asOf, rows, counts, digest } = plan
    const read = source && { source: source.name, version: source.version, bytes: source.bytes }
    const act = { connection: name, by: rollcall, now }
    const details = { ...read, asOf, rows, counts, digest, configuration }
    await recordAuditEntry(tx, { ...act, act: 'run.planned', runId: claim.run.id, details })
    const stating = { connection: connection.name, timeZone: timeZoneOf(connection, claim.run), now }
    // A record that is removed is no person who leaves.
    if (!connection.records) await recordLeavers(tx, { ...stating, runId: claim.run.id })
    const expiresAt = expiryOf(connection, now)
    const aside = heldPart && (await storeHeldPart(tx, { runId: claim.run.id, heldPart, expiresAt, now }))
    if (heldPart && aside !== null) {
      if (!connection.records) await recordLeavers(tx, { ...stating, runId: aside })
      const held = { failed: failedGuards(heldPart.guards), digest: heldPart.digest, of: claim.run.id }
      await recordAuditEntry(tx, { ...act, act: 'run.held', runId: aside, details: held })
    }
    return aside
  }
  await ctx.yieldToShortWork?.()
  const held = await traceStep('store plan', () => db.transaction().execute(store))
  ctx.events.runPrepared(about)
  if (heldPart && held !== null) ctx.events.runHeld({ ...about, runId: held, reason: heldReason(heldPart.guards) })
}

/** Reads back what the platform holds, where the run was asked to; what differs is planned by it. */
async function verify(
  ctx: SyncContext,
  connection: SyncConnection,
  reading: { claim: ClaimedRun; signal: AbortSignal },
): Promise<Verification | null> {
  const { options } = reading.claim.run
  if (options.verify) return await verifyAgainstPlatform(ctx, connection, reading)
  return options.sample ? await verifySample(ctx, connection, reading) : null
}

type Prepared = Omit<PreparedPlan, 'index'> & Partial<Pick<PreparedPlan, 'index'>> & { readonly account?: RunAccount }

/** Plans what the run's feed says. */
async function planOf(
  ctx: SyncContext,
  claim: ClaimedRun,
  connection: SyncConnection,
  { signal, job, fetched }: Attempt,
): Promise<Prepared> {
  const { id: runId, options, feed: name } = claim.run
  const stage = storeStage(ctx.store.db, claim, connection.delivery)
  const onProgress: Progress = async (read) => {
    ctx.events.runRead({ runId, connection: connection.name, ...read })
    await ctx.yieldToShortWork?.(read)
  }
  if (options.separate) return await planSeparation(ctx, connection, { separate: options.separate, stage, signal })
  if (options.revert) return await prepareRevert(ctx, connection, { revert: options.revert, stage, signal })
  if (options.person) return await preparePerson(ctx, connection, { asked: options.person, stage, signal, onProgress })

  const feed = await traceStep('open source', () =>
    fetched
      ? openLinked(ctx, connection, { fetched, claim, signal })
      : openFeed(ctx, connection, { name: name as FeedName, claim, signal }),
  )
  job.defer(async () => await feed.reading.close?.())
  const { again, held: replaces = false } = options
  const keep = async (part: number, data: Buffer) =>
    await ctx.store.db.transaction().execute(async (tx) => {
      if (!(await holdsRun(tx, claim))) throw new Overtaken()
      await storeIndexPart(tx, { runId, part, data })
    })
  const isAlone = feed.name !== 'source' || feed.reading.source === null || options.plan || again
  if (!isAlone) await startLinkedRuns(ctx, claim, { signal, job, fetched: feed })
  return await preparePlan(ctx, connection, {
    feed,
    stage,
    everybody: options.full ?? false,
    // What is made again was set aside before.
    splits: options.plan || (again && !replaces) ? null : { behindHeld: !replaces },
    sparing: {
      leaving: { runId, keep },
      onWhole: (reason) => ctx.events.runFullRead({ runId, connection: connection.name, reason }),
    },
    signal,
    onProgress,
  })
}

/** The run as its plan knows it: the source has said which person was meant. */
function planned(claim: ClaimedRun, { account }: Prepared): ClaimedRun {
  const { person } = claim.run.options
  if (!person || !account?.person) return claim
  const { identityId } = account.person
  return { ...claim, run: { ...claim.run, options: { ...claim.run.options, person: { ...person, identityId } } } }
}

/** Lets a planned run go on as its guards say: held, unchanged, or delivering. */
async function accept(ctx: SyncContext, claim: ClaimedRun, connection: SyncConnection): Promise<void> {
  const { db } = ctx.store
  const run = await getRun(db, claim.run.id)
  if (run?.state !== 'planned') throw new Overtaken()
  const about = { runId: run.id, connection: run.connection }
  const now = ctx.now()

  const failing = heldReason(run.guards ?? [])
  const approved = run.options.again && { ...run.options.again, run: await getRun(db, run.options.again.runId) }
  const by = approved && (await isApproved(db, run, approved)) ? approved.by : null
  if (failing !== '' && by === null) {
    const again = approved && `made again after ${approved.by} approved run ${approved.runId}: ${approved.run?.moved}`
    const reason = again ? `${failing}; ${again}` : failing
    const wentOn = await db.transaction().execute(async (tx) => {
      const expiresAt = expiryOf(connection, now)
      if (!(await moveRun(tx, { id: run.id, to: 'held', now, reason, expiresAt, attempt: claim.attempt })))
        throw new Overtaken()
      await writeOutEntries(tx, run.id)
      if (run.feed === 'webhook') await holdAllEvents(tx, { runId: run.id, reason })
      const part = run.feed === 'source' ? await goOn(tx, run, connection, now) : null
      // The rest has another digest than the plan that was made.
      const { digest } = (part && (await getRun(tx, run.id))) ?? run
      const details = { failed: failedGuards(run.guards ?? []), digest, ...(part && { wentOn: part.run.id }) }
      await recordAuditEntry(tx, { ...about, act: 'run.held', by: rollcall, details, now })
      return part
    })
    setAttributes({ 'rollcall.state': 'held' })
    ctx.events.runHeld({ ...about, reason })
    if (wentOn) await continueAfterAccept(ctx, wentOn.run, wentOn.batches)
    else await enqueueWaiting(ctx, run.connection)
    return
  }

  await ctx.yieldToShortWork?.()
  const committed = await db.transaction().execute(async (tx) => {
    const done = await acceptPlan(tx, run, connection, now)
    const moved = await moveRun(tx, {
      id: run.id,
      to: done > 0 ? 'delivering' : 'unchanged',
      now,
      attempt: claim.attempt,
      ...(by !== null && { by, because: approved?.because ?? null }),
    })
    if (!moved) throw new Overtaken()
    const details = { digest: run.digest, batches: done, ...(by !== null && { approvedBy: by }) }
    await recordAuditEntry(tx, { ...about, act: 'run.passed', by: rollcall, details, now })
    return done
  })
  setAttributes({ 'rollcall.state': committed > 0 ? 'delivering' : 'unchanged' })
  if (by !== null) ctx.events.runApproved({ ...about, by, digest: run.digest ?? '' })
  await continueAfterAccept(ctx, run, committed)
}

function failedGuards(guards: readonly Verdict[]): string[] {
  return guards.flatMap(({ ok, name }) => (ok ? [] : [name]))
}

/** Sends what the connection lets go on of a plan that is held now, as a run of its own; null: there is no such thing. */
async function goOn(
  tx: Db,
  { id: runId, guards }: Run,
  connection: SyncConnection,
  now: Date,
): Promise<{ readonly run: Run; readonly batches: number } | null> {
  const verdicts = guards ?? []
  const kinds = untainted(verdicts, connection.onHold.send)
  const id = await storePassedPart(tx, {
    runId,
    kinds,
    withoutValues: doubtsValues(verdicts),
    removes: connection.records !== undefined,
    now,
  })
  const run = id === null ? null : await getRun(tx, id)
  if (run === null) return null
  const batches = await acceptPlan(tx, run, connection, now)
  await moveRun(tx, { id: run.id, to: batches > 0 ? 'delivering' : 'unchanged', now })
  const details = { digest: run.digest, batches, of: runId, kinds }
  await recordAuditEntry(tx, {
    act: 'run.passed',
    connection: run.connection,
    by: rollcall,
    runId: run.id,
    details,
    now,
  })
  return { run, batches }
}

/** Until when a plan that is held now can be approved. */
export function expiryOf({ approvals }: SyncConnection, now: Date): Date {
  return new Date(now.getTime() + approvals.expireHours * hourMs)
}

/** Whether the approval of a held plan covers the one that was made in its place: it does the same, and finds nothing that was not seen. */
async function isApproved(
  db: Db,
  { id: runId, connection, digest, guards }: Run,
  approved: { readonly digest: string; readonly run: Run | null },
): Promise<boolean> {
  if (approved.digest !== digest || approved.run?.state !== 'superseded') return false
  if (!areCovered(guards ?? [], approved.run.guards ?? [])) return false
  if (!(guards ?? []).some(({ ok, name }) => !ok && judgesFaults(name))) return true
  return !(await hasNewFaults(db, { connection, runId, approved: approved.run.id, kept: rejectsKept }))
}

/** The time zone in which the days of a run's dates end. */
function timeZoneOf({ feeds }: SyncConnection, { feed }: { readonly feed: string }): string {
  const { source, webhook } = feeds
  return (feed === 'webhook' ? (webhook ?? source) : (source ?? webhook))?.timeZone ?? 'UTC'
}

/** Makes an accepted plan the connection's truth. Answers how many batches are due. */
export async function acceptPlan(tx: Db, run: Run, connection: SyncConnection, now: Date): Promise<number> {
  const stating = { runId: run.id, connection: run.connection, timeZone: timeZoneOf(connection, run), now }
  if (!connection.records) await acceptLeavers(tx, stating)
  const committed = {
    runId: run.id,
    connection: run.connection,
    limits: connection.delivery,
    speaksOfAbsent: connection.feeds.source?.absence !== 'ignore',
    by: deliveredBy(run, connection),
    now,
  }
  const batches = await acceptIndex(tx, committed, () => commitPlan(tx, committed))
  if (!connection.records) await acknowledgeVerifiedLeavers(tx, stating)
  await dropSolvedProblems(tx, run.connection)
  await dropStated(tx, run.connection)
  await decideSource(tx, run, { outcome: 'accepted', now })
  return batches
}

/** How the changes of a run reach the platform. What speaks of some alone is no set that could take the place of another. */
function deliveredBy({ mode }: Run, { records }: SyncConnection): DeliveredBy {
  if (records === undefined) return 'people'
  if (records.deliver !== 'bySource') return records.deliver
  return mode === 'snapshot' ? 'session' : 'direct'
}

/** Notes with what a run read that it was decided about, by the plan's verdicts or by a person, and asks for a run of what waits behind it. */
export async function decideSource(
  tx: Db,
  run: Run,
  { outcome, now }: { outcome: SourceOutcome; now: Date },
): Promise<void> {
  if (run.feed !== 'source' && run.feed !== 'webhook') return
  if (run.feed === 'source') {
    if (run.source) await recordSourceDecision(tx, { connection: run.connection, source: run.source, outcome, now })
    // Further exports wait behind this one.
    if (run.source?.more)
      await addWaitingRun(tx, { connection: run.connection, feed: 'source', trigger: 'file', options: {}, now })
    // Events that had the source read hold nothing that could be read again.
    await acknowledgeEvents(tx, { runId: run.id })
    return
  }
  if (outcome === 'refused') await refuseEvents(tx, { runId: run.id, reason: 'the plan was rejected' })
  else await acknowledgeEvents(tx, { runId: run.id, rejected: await rejectedEvents(tx, run.id) })
}

/** Tells what follows from a commit, and enqueues it. */
export async function continueAfterAccept(ctx: SyncContext, run: Run, batches: number): Promise<void> {
  const about = { runId: run.id, connection: run.connection }
  ctx.events.runCommitted({ ...about, batches })
  if (batches > 1) await refreshStatistics(ctx.store.db, run.id, ctx.yieldToShortWork)
  const connection = ctx.connections.get(run.connection)
  if (connection) await archiveSources(ctx, connection)
  // What was accepted may hold a day that has begun by now, and there may be no daemon that would look for it. A run that a person asked for to do
  // one thing does nothing beside it.
  const isAlone = feedsOfNamedPeople.has(run.feed) || run.options.plan !== undefined
  if (!isAlone) await addDueRuns(ctx, { connection: run.connection })
  if (batches === 0) {
    ctx.events.runUnchanged({ ...about, people: run.records ?? 0 })
    ctx.traces.recordRun({ ...run, state: 'unchanged' })
    await enqueueWaiting(ctx, run.connection)
    return
  }
  ctx.events.runPlanned({ ...about, counts: run.counts ?? {}, batches })
  const jobs = await traceStep('enqueue', () => enqueueDeliveries(ctx, run.id), {
    describeResult: (enqueued) => ({ attributes: { 'rollcall.jobs': enqueued } }),
  })
  ctx.events.deliveriesEnqueued({ ...about, jobs })
}

async function failRun(ctx: SyncContext, claim: ClaimedRun, failure: Failure): Promise<void> {
  const { id, connection } = claim.run
  await ctx.store.db.transaction().execute(async (tx) => {
    const failed = await moveRun(tx, {
      id,
      to: 'failed',
      now: ctx.now(),
      reason: failure.message,
      failure: failure.code,
      attempt: claim.attempt,
    })
    if (!failed) return
    await dropPlan(tx, id, ctx.now())
    const details = { code: failure.code }
    await recordAuditEntry(tx, { act: 'run.failed', connection, by: rollcall, runId: id, details, now: ctx.now() })
  })
  ctx.events.runFailed({ runId: id, connection, code: failure.code, reason: failure.message })
  const { trigger, feed, created_at: createdAt } = claim.run
  ctx.traces.recordRun({ id, connection, trigger, feed, state: 'failed', createdAt: createdAt.toISOString() })
  await enqueueWaiting(ctx, connection)
}
