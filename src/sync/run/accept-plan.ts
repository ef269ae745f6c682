import type { Verdict } from '../../identity/change.ts'
import { recordAuditEntry, rollcall } from '../../store/audit/trail.ts'
import { dropConfirmedLearned } from '../../store/connections/learned-departures.ts'
import {
  recordReplacedSource,
  recordSourceDecision,
  recordSourceOfHeld,
  type SourceOutcome,
} from '../../store/connections/sources.ts'
import { dropStated } from '../../store/foreign/people.ts'
import { dropSolvedProblems, rejectedEvents } from '../../store/history/history.ts'
import { acknowledgeEvents, refuseEvents } from '../../store/inbox/inbox.ts'
import { acceptLeavers, acknowledgeVerifiedLeavers } from '../../store/leavers/record-departures.ts'
import type { DeliveredBy } from '../../store/plans/batches.ts'
import { acceptIndex } from '../../store/plans/export-index.ts'
import { commitPlan, refreshStatistics } from '../../store/plans/plans.ts'
import { addWaitingRun, feedsOfNamedPeople, getRun, type Run } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { confirmStatedDepartures } from '../../store/stated-departures.ts'
import { acceptIntake } from '../../store/statement/intake.ts'
import { traceStep } from '../../telemetry/traces.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { enqueueDeliveries, enqueueWaiting } from '../context/enqueue.ts'
import { archiveSources } from '../plan/feeds.ts'
import { addDueRuns } from './due-runs.ts'

const hourMs = 60 * 60_000

/** Until when a plan that is held now can be approved. */
export function expiryOf({ approvals }: SyncConnection, now: Date): Date {
  return new Date(now.getTime() + approvals.expireHours * hourMs)
}

/** The names of the guards that failed. */
export function failedGuards(verdicts: readonly Verdict[]): string[] {
  return verdicts.flatMap(({ ok, name }) => (ok ? [] : [name]))
}

/** The time zone of the source that a run reads: a leaving date takes effect when its day ends there. */
export function timeZoneOf({ feeds }: SyncConnection, { feed }: { readonly feed: string }): string {
  const { source, webhook } = feeds
  return (feed === 'webhook' ? (webhook ?? source) : (source ?? webhook))?.timeZone ?? 'UTC'
}

/** Accepts a plan: makes its values the `desired` ones of the roster. Returns the number of batches to deliver. */
export async function acceptPlan(tx: Db, run: Run, connection: SyncConnection, now: Date): Promise<number> {
  const leavers = { runId: run.id, connection: run.connection, timeZone: timeZoneOf(connection, run), now }
  if (!connection.records) await acceptLeavers(tx, leavers)
  const committed = {
    runId: run.id,
    connection: run.connection,
    limits: connection.delivery,
    speaksOfAbsent: connection.feeds.source?.absence !== 'ignore',
    by: deliveredBy(run, connection),
    now,
  }
  await acceptIntake(tx, committed)
  const batches = await acceptIndex(tx, committed, () => commitPlan(tx, committed))
  // Runs of another feed read no data of HR.
  const readsHr = run.feed === 'source' || run.feed === 'webhook' || run.feed === 'person'
  const stating = { connection: run.connection, dropsLeavers: dropsLeavers(connection), now }
  for (const { identityId, ...details } of readsHr ? await confirmStatedDepartures(tx, stating) : [])
    await recordAuditEntry(tx, { act: 'departure.confirmed', by: rollcall, ...leavers, identityId, details })
  if (readsHr) await dropConfirmedLearned(tx, run.connection)
  if (!connection.records) await acknowledgeVerifiedLeavers(tx, leavers)
  await dropSolvedProblems(tx, run.connection)
  await dropStated(tx, run.connection)
  await decideSource(tx, run, { outcome: 'accepted', now })
  return batches
}

/** Whether the only way in which the source can state a departure is a missing row: no column states one. */
function dropsLeavers({ feeds: { source } }: SyncConnection): boolean {
  if (source === undefined || source.absence === 'ignore') return false
  const { fields, status, action } = source.mapping
  return fields.separatedAt === undefined && status === undefined && action === undefined
}

/** How the changes of a run reach the platform. A session replaces the whole set, so a delta never uses one by itself. */
function deliveredBy({ mode }: Run, { records }: SyncConnection): DeliveredBy {
  if (records === undefined) return 'people'
  if (records.deliver !== 'bySource') return records.deliver
  return mode === 'snapshot' ? 'session' : 'direct'
}

type SourceDecision = { readonly outcome: SourceOutcome; readonly now: Date }

/** Records what was decided about the source or the events that a run read, and adds a run for further exports. */
export async function decideSource(tx: Db, run: Run, { outcome, now }: SourceDecision): Promise<void> {
  const { id: runId, connection, feed, source } = run
  if (feed === 'source') {
    // Where people of it wait in a run of their own, it can be read again: nothing else states their change until a newer one does.
    if (source && (run.heldPart === null || source.more))
      await recordSourceDecision(tx, { connection, source, outcome, now })
    if (source === null) await recordSourceOfHeld(tx, { heldId: runId, now })
    else if (outcome === 'accepted') await recordReplacedSource(tx, { runId, now })
    if (source?.more) await addWaitingRun(tx, { connection, feed: 'source', trigger: 'file', options: {}, now })
    // Events that only caused the source to be read contain nothing that could be read again.
    await acknowledgeEvents(tx, { runId })
  } else if (feed === 'webhook') {
    if (outcome === 'refused') await refuseEvents(tx, { runId, reason: 'the plan was rejected' })
    else await acknowledgeEvents(tx, { runId, rejected: await rejectedEvents(tx, runId) })
  }
}

/** Continues a run whose plan was accepted: archives its source, adds runs that are due now, and enqueues its deliveries. */
export async function continueAfterAccept(ctx: SyncContext, run: Run, batches: number): Promise<void> {
  const about = { runId: run.id, connection: run.connection }
  ctx.events.runCommitted({ ...about, batches })
  if (batches > 1) await refreshStatistics(ctx.store.db, run.id, ctx.yieldToShortWork)
  const connection = ctx.connections.get(run.connection)
  if (connection) await archiveSources(ctx, connection)
  // A leaving date of the plan may have come by now, and without a daemon nothing else checks that. A run for named people or of a written
  // plan starts no other run.
  const isAlone = feedsOfNamedPeople.has(run.feed) || run.options.plan !== undefined
  if (!isAlone) await addDueRuns(ctx, { connection: run.connection })
  if (batches === 0) {
    await reportEnd(ctx, run)
    await enqueueWaiting(ctx, run.connection)
    return
  }
  ctx.events.runPlanned({ ...about, counts: run.counts ?? {}, batches })
  const jobs = await traceStep('enqueue', () => enqueueDeliveries(ctx, run.id), {
    describeResult: (enqueued) => ({ attributes: { 'rollcall.jobs': enqueued } }),
  })
  ctx.events.deliveriesEnqueued({ ...about, jobs })
}

/** Reports the end of a run without deliveries. Its statement may have found problems. */
async function reportEnd(ctx: SyncContext, { id: runId, connection, records }: Run): Promise<void> {
  const ended = await getRun(ctx.store.db, runId)
  if (ended?.state === 'finished_with_problems') {
    const { confirmed, problems, durationMs } = ended
    ctx.events.runFinished({ runId, connection, confirmed, problems, durationMs: durationMs ?? 0 })
  } else ctx.events.runUnchanged({ runId, connection, people: records ?? 0 })
  if (ended) ctx.traces.recordRun(ended)
}
