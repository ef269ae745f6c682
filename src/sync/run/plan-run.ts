import { sendDifferences, sendEverybody } from '../../identity/decide/sending.ts'
import { recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import { recordLeavers } from '../../store/leavers/record-departures.ts'
import { storeIndex, storeIndexPart } from '../../store/plans/export-index.ts'
import { storeHeldPart } from '../../store/plans/held-part.ts'
import { clearPlan, markPlanned } from '../../store/plans/plans.ts'
import { storeAccount } from '../../store/runs/accounts.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import { recordConfiguration } from '../../store/runs/configured.ts'
import { heldReason } from '../../store/runs/held-runs.ts'
import { addWaitingRun, type FeedName, requestersOfRun, type Trigger } from '../../store/runs/runs.ts'
import type { Db, Verification } from '../../store/schema.ts'
import { storeIntake } from '../../store/statement/intake.ts'
import { traceStep } from '../../telemetry/traces.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { Overtaken, whileClaimed } from '../context/overtaken.ts'
import type { OnProgress } from '../plan/collect-rows.ts'
import { archiveSources, type OpenedFeed, openFeed, openLinked } from '../plan/feeds.ts'
import { refuseOtherPlan } from '../plan/kept-plan.ts'
import { planBasis } from '../plan/plan-basis.ts'
import { planEvents } from '../plan/plan-events.ts'
import { planExport } from '../plan/plan-export.ts'
import { planOnePerson } from '../plan/plan-one-person.ts'
import { planRoster } from '../plan/plan-roster.ts'
import { planRevert } from '../plan/revert.ts'
import { planSeparation } from '../plan/separation.ts'
import { type Stage, storeStage } from '../plan/stage.ts'
import type { PreparedPlan } from '../plan/summarize-plan.ts'
import { lookUpFailure } from '../target/look-up.ts'
import { saveTarget } from '../target/target.ts'
import { verifyPeopleInDoubt } from '../verify/in-doubt.ts'
import { verifyLeavers } from '../verify/leavers.ts'
import { learnAfterRestore } from '../verify/restored.ts'
import { verifySample } from '../verify/sample.ts'
import { verifyUncertain } from '../verify/uncertain.ts'
import { verifyAgainstPlatform, withoutPlanned } from '../verify/verify.ts'
import { expiryOf, failedGuards, timeZoneOf } from './accept-plan.ts'

/** The feeds of runs that read no source. */
const feedsWithoutSource: ReadonlySet<string> = new Set(['roster', 'revert', 'separation'])

type PlanRunInput = {
  readonly signal: AbortSignal
  /** What stays open until the run's job ends. */
  readonly resources: AsyncDisposableStack
  /** The export that the run of another connection has fetched for this one. */
  readonly fetched?: OpenedFeed
  /** Called with an export that this run has fetched, before it is read: linked connections may read it too. */
  readonly onFetched: (feed: OpenedFeed) => Promise<void>
}

/** Makes the plan of a claimed run and stores it. Before that, what the run should know about the platform is verified. */
export async function planRun(
  ctx: SyncContext,
  claim: ClaimedRun,
  connection: SyncConnection,
  input: PlanRunInput,
): Promise<void> {
  const { db } = ctx.store
  const about = { runId: claim.run.id, connection: connection.name }
  ctx.events.runStarted({ ...about, trigger: claim.run.trigger })
  await clearEarlierAttempt(ctx, claim)
  const verification = await verifyBeforePlanning(ctx, claim, connection, input.signal)
  await archiveSources(ctx, connection)

  // Computed before reading, because an answer that is given meanwhile changes it.
  const basis = await planBasis(ctx, connection)
  const plan = await traceStep('plan', () => makePlan(ctx, claim, connection, input))
  const verified = await withoutPlanned(ctx, claim.run, { verification, plan })
  const { plan: kept } = claim.run.options
  const identity = { connection: connection.name, basis, digest: plan.digest, version: plan.source?.version ?? null }
  if (kept) await refuseOtherPlan(db, kept, identity)

  await ctx.yieldToShortWork?.()
  const stored = { plan, basis, verification: verified, startedBy: ctx.startedBy, now: ctx.now() }
  const heldRunId = await traceStep('store plan', () =>
    db.transaction().execute((tx) => storePlan(tx, claim, connection, stored)),
  )
  ctx.events.runPrepared(about)
  if (plan.heldPart && heldRunId !== null)
    ctx.events.runHeld({ ...about, runId: heldRunId, reason: heldReason(plan.heldPart.guards) })
}

/** Clears what an earlier attempt has staged. If other requests joined this run, they get a run of their own after it. */
async function clearEarlierAttempt({ store: { db }, now }: SyncContext, claim: ClaimedRun): Promise<void> {
  const { id, connection, feed, trigger, options } = claim.run
  await whileClaimed(db, claim, (tx) => clearPlan(tx, id))
  if (!options.joined) return
  await addWaitingRun(db, {
    connection,
    feed: feed as FeedName,
    trigger: trigger as Trigger,
    options: options.joined,
    requestedBy: await requestersOfRun(db, id),
    now: now(),
  })
}

/** Verifies what the plan rests on: after a restore, where it was requested, and for people whose state on the platform is uncertain. */
async function verifyBeforePlanning(
  ctx: SyncContext,
  claim: ClaimedRun,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<Verification | null> {
  const { feed, options } = claim.run
  const connections = [connection.name]
  await saveTarget(ctx, connection)
  const learned = await learnAfterRestore(ctx, connection, { claim, signal })
  const verification = learned ?? (await verifyOnRequest(ctx, claim, connection, signal))
  const stop = await verifyUncertain(ctx, connection, { claim, signal })
  // A run that reads a source plans it all the same; a run without one has nothing else to plan.
  if (stop && feedsWithoutSource.has(feed)) throw lookUpFailure(connection, stop)
  await verifyPeopleInDoubt(ctx, { connections, repairs: 'here', signal })
  // Without a daemon, a run is the only time to verify earlier departures.
  await verifyLeavers(ctx, { connections, all: options.verify ?? false, signal })
  return verification
}

/** Compares the platform with the roster if the run was requested to. The plan repairs what differs. */
async function verifyOnRequest(
  ctx: SyncContext,
  claim: ClaimedRun,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<Verification | null> {
  const { verify, sample } = claim.run.options
  if (verify) return await verifyAgainstPlatform(ctx, connection, { claim, signal })
  return sample ? await verifySample(ctx, connection, { claim, signal }) : null
}

/** Makes the plan of the run's feed. */
async function makePlan(
  ctx: SyncContext,
  claim: ClaimedRun,
  connection: SyncConnection,
  input: PlanRunInput,
): Promise<PreparedPlan> {
  const { id: runId, options } = claim.run
  const { signal } = input
  const stage = storeStage(ctx.store.db, claim, connection.delivery)
  const { separate, revert, person } = options
  if (separate) return await planSeparation(ctx, connection, { separate, stage, signal })
  if (revert) return await planRevert(ctx, connection, { revert, stage, signal })
  const onProgress: OnProgress = async (read) => {
    ctx.events.runRead({ runId, connection: connection.name, ...read })
    await ctx.yieldToShortWork?.(read)
  }
  if (person) return await planOnePerson(ctx, connection, { requested: person, stage, signal, onProgress })
  return await planFeed(ctx, claim, connection, { ...input, stage, onProgress })
}

type PlanFeedInput = PlanRunInput & { readonly stage: Stage; readonly onProgress: OnProgress }

/** Opens the run's feed and plans it. */
async function planFeed(
  ctx: SyncContext,
  claim: ClaimedRun,
  connection: SyncConnection,
  { signal, resources, fetched, onFetched, stage, onProgress }: PlanFeedInput,
): Promise<PreparedPlan> {
  const { options } = claim.run
  const name = claim.run.feed as FeedName
  const feed = await traceStep('open source', () =>
    fetched
      ? openLinked(ctx, connection, { fetched, claim, signal })
      : openFeed(ctx, connection, { name, claim, signal }),
  )
  resources.defer(async () => await feed.reading.close?.())
  const planning = { feed, stage, sending: options.full ? sendEverybody : sendDifferences, signal, onProgress }
  switch (feed.name) {
    case 'source': {
      const isAlone = feed.reading.source === null || options.plan !== undefined || options.again !== undefined
      if (!isAlone) await onFetched(feed)
      return await planExport(ctx, connection, { ...planning, changeFilter: changeFilterOptions(ctx, claim) })
    }
    case 'webhook':
      return await planEvents(ctx, connection, { ...planning, split: splitOptions(claim) })
    default:
      return await planRoster(ctx, connection, planning)
  }
}

function changeFilterOptions({ store: { db }, events }: SyncContext, claim: ClaimedRun) {
  const { id: runId, connection } = claim.run
  const storePart = async (part: number, data: Buffer): Promise<void> =>
    await whileClaimed(db, claim, (tx) => storeIndexPart(tx, { runId, part, data }))
  const onWholeRead = (reason: string) => events.runFullRead({ runId, connection, reason })
  return { saveIndex: { runId, storePart }, onWholeRead }
}

/** A plan that must equal a kept one, and a held plan that is made again for its approval, are not split. */
function splitOptions({ run: { options } }: ClaimedRun): { readonly queuesBehindHeld: boolean } | null {
  const { plan, again, held: replacesHeld = false } = options
  return plan || (again && !replacesHeld) ? null : { queuesBehindHeld: !replacesHeld }
}

type StoredPlan = {
  readonly plan: PreparedPlan
  readonly basis: string
  readonly verification: Verification | null
  readonly startedBy: string | null
  readonly now: Date
}

/** Stores a plan with everything that belongs to it. Returns the run that holds the part that was split off; null if there is none. */
async function storePlan(
  tx: Db,
  claim: ClaimedRun,
  connection: SyncConnection,
  { plan, basis, verification, startedBy, now }: StoredPlan,
): Promise<string | null> {
  const { name, configuration } = connection
  const runId = claim.run.id
  if (!(await markPlanned(tx, withKnownKey(claim, plan), { ...plan, configuration, basis, verification }, now)))
    throw new Overtaken()
  await storeIndex(tx, runId, plan.index ?? null)
  if (plan.intake) await storeIntake(tx, { runId, connection: name, intake: plan.intake })
  if (plan.account) await storeAccount(tx, { runId, connection: name, account: plan.account })
  await recordConfiguration(tx, { connection: name, configuration, startedBy })
  const { source, asOf, rows, counts, digest } = plan
  const read = source && { source: source.name, version: source.version, bytes: source.bytes }
  const details = { ...read, asOf, rows, counts, digest, configuration }
  await recordAuditEntry(tx, { act: 'run.planned', connection: name, by: rollcall, runId, details, now })
  await recordLeaversOf(tx, claim, connection, { runId, now })
  return await storeHeldPartOf(tx, claim, connection, { plan, now })
}

/** The claim with the key of the requested person, which may come from the source. */
function withKnownKey(claim: ClaimedRun, { account }: PreparedPlan): ClaimedRun {
  const { person } = claim.run.options
  if (!person || !account?.person) return claim
  const { identityId } = account.person
  return { ...claim, run: { ...claim.run, options: { ...claim.run.options, person: { ...person, identityId } } } }
}

/** Records the departures in a plan. A record that is removed is not a person who leaves. */
async function recordLeaversOf(
  tx: Db,
  { run }: ClaimedRun,
  connection: SyncConnection,
  { runId, now }: { readonly runId: string; readonly now: Date },
): Promise<void> {
  if (connection.records) return
  await recordLeavers(tx, { connection: connection.name, timeZone: timeZoneOf(connection, run), runId, now })
}

/** Stores the part of a plan that was split off, as a held run of its own. Returns its id; null if there is none. */
async function storeHeldPartOf(
  tx: Db,
  claim: ClaimedRun,
  connection: SyncConnection,
  { plan: { heldPart }, now }: Pick<StoredPlan, 'plan' | 'now'>,
): Promise<string | null> {
  if (heldPart === null) return null
  const expiresAt = expiryOf(connection, now)
  const runId = await storeHeldPart(tx, { runId: claim.run.id, heldPart, expiresAt, now })
  if (runId === null) return null
  await recordLeaversOf(tx, claim, connection, { runId, now })
  const details = { failed: failedGuards(heldPart.guards), digest: heldPart.digest, of: claim.run.id }
  await recordAuditEntry(tx, { act: 'run.held', connection: connection.name, by: rollcall, runId, details, now })
  return runId
}
