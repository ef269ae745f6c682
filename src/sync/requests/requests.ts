import { machinePrincipal } from '../../contract/control/access.ts'
import { Failure } from '../../errors.ts'
import type { Verdict } from '../../identity/change.ts'
import { retractChange } from '../../identity/decide/decide.ts'
import { type Tally, tally } from '../../identity/decide/tally.ts'
import { planDigest } from '../../identity/digest.ts'
import { noPeople } from '../../identity/guards/facts.ts'
import { judge } from '../../identity/guards/judge.ts'
import { type Meaning, meanings } from '../../identity/mapping/classified.ts'
import { foldValue } from '../../identity/mapping/fold-value.ts'
import type { RosterEntry } from '../../identity/record.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { type ClassifiedValueEntry, storeClassifiedValue as keepClassedValue } from '../../store/classified-values.ts'
import { connectionStates, forgetTarget, unblockConnection } from '../../store/connections/connections.ts'
import { makeDueNow } from '../../store/deliveries/due.ts'
import { pendingCount, releaseEvents } from '../../store/inbox/inbox.ts'
import { laterKeys, resolveKey } from '../../store/key-answers.ts'
import { dropPlan, stagePeople } from '../../store/plans/plans.ts'
import { headcount, rosterEntry, unretract } from '../../store/roster/roster.ts'
import { lockActiveRun } from '../../store/runs/claims.ts'
import {
  addHeldRun,
  addWaitingRun,
  ensureConnection,
  type FeedName,
  getRun,
  heldRetraction,
  moveRun,
  type Run,
  type Trigger,
} from '../../store/runs/runs.ts'
import type { Requester, Db, RunOptions } from '../../store/schema.ts'
import { requireConnection, type FeedRules, type SyncConnection, type SyncContext } from '../context/context.ts'
import { enqueueDue, enqueueWaiting } from '../context/enqueue.ts'
import { mainFeed, archiveSources } from '../plan/feeds.ts'
import { linkedConnections } from '../plan/linked.ts'
import { addDueRuns } from '../run/due-runs.ts'
import { decideSource, expiryOf } from '../run/accept-plan.ts'
import { sweep } from '../run/sweep.ts'

/** Asks for a run. While another one of the connection is active it waits, and a run that waits already is joined. */
export async function requestRun(
  ctx: SyncContext,
  request: {
    connection: string
    feed?: FeedName
    trigger: Trigger
    options?: Omit<RunOptions, 'retract'>
    /** The person who asks, if one does. */
    by?: string
    principal?: string
  },
): Promise<Run> {
  const { db } = ctx.store
  const connection = requireConnection(ctx, request.connection)
  ctx.expectShortWork?.()
  const now = ctx.now()
  const requestedBy = requestersOf(request)
  if (request.trigger === 'operator') requireRequester(connection, requestedBy)
  await ensureConnection(db, connection.name)
  if (request.trigger === 'operator') {
    // A person who asks for a run says that what stood in the way is gone; if not, the next answer tells.
    await unblockConnection(db, connection.name)
    await makeDueNow(db, { connection: connection.name, now })
  }
  const { trigger, feed = mainFeed(connection), options = {}, by = 'operator' } = request
  // Also where the source then turns out to be missing: these departures are known without it.
  // A run that must come to a kept plan reads what the plan was made from, and nothing beside it.
  // Those of linked connections too: nobody else asks for them where no daemon runs.
  const isForAll = trigger === 'operator' && !options.plan
  const concerned = [connection, ...(isForAll ? linkedConnections(ctx, connection.name) : [])].map(({ name }) => name)
  if (isForAll) for (const name of concerned) await addDueRuns(ctx, { connection: name })
  const plansHeld = trigger === 'operator' && feed === 'webhook'
  const asked = { ...options, ...(plansHeld && { held: true }) }
  const runId = await db.transaction().execute(async (tx) => {
    const id = await addWaitingRun(tx, {
      connection: connection.name,
      feed,
      trigger,
      options: asked,
      requestedBy,
      now,
    })
    if (options.plan && (await getRun(tx, id))?.options.plan === undefined)
      throw new Failure('conflict', `run ${id} of "${connection.name}" waits already; ask again when it has ended`)
    const details = {
      feed,
      ...(options.plan && { plan: options.plan.digest }),
      ...(options.full && { full: true }),
      ...(options.verify && { verify: true }),
    }
    if (trigger === 'operator')
      await recordAuditEntry(tx, { act: 'run.requested', connection: connection.name, by, runId: id, details, now })
    return id
  })
  ctx.events.runRequested({ runId, connection: connection.name, trigger })
  if (isForAll && feed === 'source') await requestEventsToo(ctx, connection, requestedBy)
  for (const name of concerned) await enqueueDue(ctx, name)
  return await requireRun(ctx, runId)
}

/** A person who asks for a run wants the events that came in as well. */
async function requestEventsToo(
  ctx: SyncContext,
  { name, feeds }: SyncConnection,
  requestedBy: readonly Requester[],
): Promise<void> {
  const { db } = ctx.store
  // Thin events hold nothing to plan: they have the source read, which is what this run does.
  if (!feeds.webhook || feeds.webhook.settings.thin || (await pendingCount(db, name)) === 0) return
  await addWaitingRun(db, {
    connection: name,
    feed: 'webhook',
    trigger: 'operator',
    options: { held: true },
    requestedBy,
    now: ctx.now(),
  })
}

/** Ends a run that waits, is held or delivers. What was delivered stays; what was not is planned again by the next run. */
export async function cancelRun(ctx: SyncContext, { runId, by }: { runId: string; by: string }): Promise<Run> {
  const run = await endRun(ctx, { runId, by, to: 'cancelled' })
  await enqueueWaiting(ctx, run.connection)
  return run
}

/**
 * Prepares the deletion of one person's data as sent in error. The run is always held, since a deletion takes an approval.
 * Afterwards the person is withheld, whatever the source says, until the retraction is taken back.
 */
export async function retractPerson(
  ctx: SyncContext,
  request: { connection: string; identityId: string; reason: string; by: string; principal?: string },
): Promise<Run> {
  const { db } = ctx.store
  const connection = requireConnection(ctx, request.connection)
  const identityId = await resolveKey(db, request)
  const { reason, by } = request
  const counted = tally()
  counted.retract({ identityId, isPinned: await isPinned(db, connection, identityId) })
  const guards = await retractionGuards(db, connection, counted)
  const runId = await db.transaction().execute(async (tx) => {
    // No other retraction is asked for, or approved, before this one is stored.
    await lockActiveRun(tx, connection.name)
    const change = retractChange(await retractableEntry(tx, { connection: connection.name, identityId }), reason)
    const id = await addHeldRun(tx, {
      connection: connection.name,
      options: { retract: { identityId, reason, by } },
      counts: counted.counts(),
      guards,
      digest: planDigest([change]),
      requestedBy: requestersOf(request),
      expiresAt: expiryOf(connection, ctx.now()),
      now: ctx.now(),
    })
    await stagePeople(tx, id, [{ identityId, entry: null, change, origin: null }])
    await recordAuditEntry(tx, {
      act: 'retraction.requested',
      connection: connection.name,
      by,
      runId: id,
      identityId,
      details: { reason },
      now: ctx.now(),
    })
    return id
  })
  ctx.events.runHeld({ runId, connection: connection.name, reason: 'a retraction waits for an approval' })
  return await requireRun(ctx, runId)
}

/** The person whom a retraction is asked for, unless they were retracted, or wait for a decision about it, already. */
async function retractableEntry(tx: Db, person: { connection: string; identityId: string }): Promise<RosterEntry> {
  const { connection, identityId } = person
  const entry = await rosterEntry(tx, person)
  if (!entry) throw new Failure('not_found', `"${connection}" has no person ${identityId}`)
  if (entry.retracted) throw new Failure('conflict', `person ${identityId} was retracted at ${entry.retracted.at}`)
  const held = await heldRetraction(tx, person)
  if (held !== null)
    throw new Failure('conflict', `run ${held} holds the retraction of person ${identityId}: approve or reject it`)
  return entry
}

/** The verdicts on a deletion that a person asked for. No rows were read that could be judged. */
async function retractionGuards(db: Db, { name, guards }: SyncConnection, counted: Tally): Promise<Verdict[]> {
  const facts = counted.facts({
    mode: 'delta',
    rows: 1,
    size: null,
    endMissing: false,
    recent: noPeople,
    usual: null,
    headcount: (await headcount(db, name)).employed,
    missingColumns: [],
    keyChangeCandidates: [],
    absence: 'ignore',
  })
  const verdicts = judge(facts, guards).filter(({ name: guard }) => guard === 'retractions' || guard === 'pinned')
  return verdicts.map(counted.explain)
}

/**
 * Says that what stood in the way of a connection is gone: what is due is tried at once. A target that was missing is looked up by its name again.
 */
export async function unblock(
  ctx: SyncContext,
  { connection: name, by }: { connection: string; by: string },
): Promise<{ readonly wasBlocked: boolean; readonly due: number }> {
  const { db } = ctx.store
  const connection = requireConnection(ctx, name)
  const [state] = await connectionStates(db, name)
  const { wasBlocked, due } = await db.transaction().execute(async (tx) => {
    // The batches first, as whoever cancels a run locks them.
    const hastened = await makeDueNow(tx, { connection: name, now: ctx.now() })
    const freed = await unblockConnection(tx, name)
    if (freed && state?.blocked?.status === 404 && 'name' in connection.target) await forgetTarget(tx, name)
    if (freed) await recordAuditEntry(tx, { act: 'connection.unblocked', connection: name, by, now: ctx.now() })
    return { wasBlocked: freed, due: hastened }
  })
  if (wasBlocked) ctx.events.connectionUnblocked({ connection: name, by })
  await sweep(ctx)
  return { wasBlocked, due }
}

/** Keeps what a value means that no list of the configuration holds; the next run reads it so. */
export async function classifyValue(
  ctx: SyncContext,
  { connection: name, value, meaning, by }: { connection: string; value: string; meaning: Meaning; by: string },
): Promise<ClassifiedValueEntry> {
  const { db } = ctx.store
  const field = meanings[meaning]
  const { source, webhook } = requireConnection(ctx, name).feeds
  const feeds = [source, webhook].filter((feed) => feed !== undefined)
  const isMapped = ({ mapping: { status, fields } }: FeedRules) =>
    (field === 'status' ? status : fields.isContractor) !== undefined
  if (!feeds.some(isMapped))
    throw new Failure('usage', `"${name}" maps no column to ${field}, so no value can be ${meaning}`)
  const now = ctx.now()
  const classed = { field, value: foldValue(value), meaning, by }
  await ensureConnection(db, name)
  await db.transaction().execute(async (tx) => {
    await keepClassedValue(tx, { connection: name, ...classed, now })
    const details = { field, value: classed.value, meaning }
    await recordAuditEntry(tx, { act: 'value.classed', connection: name, by, details, now })
  })
  ctx.events.valueClassified({ connection: name, field, meaning, by })
  return { ...classed, classedAt: now }
}

/** Takes a retraction back and asks for a run, which sends the person again as the source has them. */
export async function restorePerson(
  ctx: SyncContext,
  { by, principal, ...person }: { connection: string; identityId: string; by: string; principal?: string },
): Promise<Run> {
  const connection = requireConnection(ctx, person.connection)
  await ctx.store.db.transaction().execute(async (tx) => {
    if (!(await unretract(tx, person)))
      throw new Failure('not_found', `"${connection.name}" has no retracted person ${person.identityId}`)
    await recordAuditEntry(tx, { act: 'retraction.undone', ...person, by, now: ctx.now() })
  })
  ctx.events.personRestored({ ...person, by })
  return await requestRun(ctx, {
    connection: connection.name,
    trigger: 'operator',
    options: { restore: { identityId: person.identityId, by } },
    by,
    ...(principal !== undefined && { principal }),
  })
}

/** Whether a pin names this person, by the first key or by one that HR has issued since. */
async function isPinned(db: Db, { name, pinned }: SyncConnection, identityId: string): Promise<boolean> {
  return [identityId, ...(await laterKeys(db, { connection: name, identityId }))].some((key) => pinned.has(key))
}

/** The person who asks for a run, if one does. A name that comes without its principal is one that the account of this machine stated. */
export function requestersOf({ by, principal = machinePrincipal }: { by?: string; principal?: string }): Requester[] {
  return by === undefined ? [] : [{ by, principal }]
}

/** A person who asks for a run may not approve it under `twoPeople`, so that it has to be known who asks. */
export function requireRequester({ approvals }: SyncConnection, requestedBy: readonly Requester[]): void {
  if (approvals.twoPeople && requestedBy.length === 0)
    throw new Failure('usage', '"approvals.twoPeople" has to know who asks for a run: name the person as "by"')
}

/** Ends a run whose plan is not carried out any further. */
export async function endRun(
  ctx: SyncContext,
  { runId, by, because, to }: { runId: string; by: string; because?: string | null; to: 'rejected' | 'cancelled' },
): Promise<Run> {
  const before = await requireRun(ctx, runId)
  await ctx.store.db.transaction().execute(async (tx) => {
    if (!(await moveRun(tx, { id: runId, to, now: ctx.now(), by, ...(because !== undefined && { because }) }))) {
      throw new Failure('conflict', `run ${runId} is ${before.state} and cannot be ${to}`)
    }
    const details = { ...(before.digest !== null && { digest: before.digest }), ...(because && { reason: because }) }
    await recordAuditEntry(tx, { act: `run.${to}`, connection: before.connection, by, runId, details, now: ctx.now() })
    await dropPlan(tx, runId, ctx.now())
    if (to === 'rejected') await decideSource(tx, before, { outcome: 'refused', now: ctx.now() })
    else await releaseEvents(tx, runId)
  })
  ctx.traces.recordRun({ ...before, state: to })
  const connection = ctx.connections.get(before.connection)
  if (to === 'rejected' && connection) await archiveSources(ctx, connection)
  return await requireRun(ctx, runId)
}

export async function requireRun(ctx: SyncContext, runId: string): Promise<Run> {
  const run = await getRun(ctx.store.db, runId)
  if (!run) throw new Failure('not_found', `there is no run ${runId}`)
  return run
}
