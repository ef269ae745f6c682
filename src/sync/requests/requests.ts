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
import { type ClassifiedValueEntry, storeClassifiedValue } from '../../store/classified-values.ts'
import { connectionStates, forgetTarget, unblockConnection } from '../../store/connections/connections.ts'
import { makeDueNow } from '../../store/deliveries/due.ts'
import { pendingCount, releaseEvents } from '../../store/inbox/inbox.ts'
import { laterKeys, resolveKey } from '../../store/key-answers.ts'
import { dropPlan, stagePeople } from '../../store/plans/plans.ts'
import { headcount, rosterEntry, unretract } from '../../store/roster/roster.ts'
import { lockActiveRun } from '../../store/runs/claims.ts'
import { addHeldRun, heldRetraction } from '../../store/runs/held-runs.ts'
import {
  addWaitingRun,
  ensureConnection,
  type FeedName,
  getRun,
  type Run,
  setRunState,
  type Trigger,
} from '../../store/runs/runs.ts'
import type { Db, Requester, RunOptions } from '../../store/schema.ts'
import { type FeedRules, requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { enqueueDue, enqueueWaiting } from '../context/enqueue.ts'
import { archiveSources, mainFeed } from '../plan/feeds.ts'
import { linkedConnections } from '../plan/linked.ts'
import { decideSource, expiryOf } from '../run/accept-plan.ts'
import { addDueRuns } from '../run/due-runs.ts'
import { sweep } from '../run/sweep.ts'

/** Requests a run. It waits while another run of the connection is active. If one is already waiting, the request joins it. */
export async function requestRun(
  ctx: SyncContext,
  request: {
    connection: string
    feed?: FeedName
    trigger: Trigger
    options?: Omit<RunOptions, 'retract'>
    /** The person who requests the run, if any. */
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
    // A person who requests a run expects that the block is solved. If it is not, the next answer blocks the connection again.
    await unblockConnection(db, connection.name)
    await makeDueNow(db, { connection: connection.name, now })
  }
  const { trigger, feed = mainFeed(connection), options = {}, by = 'operator' } = request
  // Roster runs for due departures are added first, because they do not need the source, and also for linked connections, because nobody else
  // requests them without a daemon. A run that delivers a saved plan (`options.plan`) reads only what that plan was made from.
  const isForAll = trigger === 'operator' && !options.plan
  const concerned = [connection, ...(isForAll ? linkedConnections(ctx, connection.name) : [])].map(({ name }) => name)
  if (isForAll) for (const name of concerned) await addDueRuns(ctx, { connection: name })
  const includesHeldEvents = trigger === 'operator' && feed === 'webhook'
  const runOptions = { ...options, ...(includesHeldEvents && { held: true }) }
  const runId = await db.transaction().execute(async (tx) => {
    const id = await addWaitingRun(tx, {
      connection: connection.name,
      feed,
      trigger,
      options: runOptions,
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

/** Requests a run of the pending events too: a person who requests a run expects them to be included. */
async function requestEventsToo(
  ctx: SyncContext,
  { name, feeds }: SyncConnection,
  requestedBy: readonly Requester[],
): Promise<void> {
  const { db } = ctx.store
  // Thin events contain nothing to plan: they only cause the source to be read, which this run does.
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

/** Cancels a run that waits, is held or delivers. Delivered changes stay; the next run plans the others again. */
export async function cancelRun(ctx: SyncContext, { runId, by }: { runId: string; by: string }): Promise<Run> {
  const run = await endRun(ctx, { runId, by, to: 'cancelled' })
  await enqueueWaiting(ctx, run.connection)
  return run
}

/**
 * Prepares the deletion of a person's data that was sent in error. The run is always held, because a deletion needs an approval. Afterwards
 * the person is withheld, whatever the source states, until the retraction is withdrawn.
 */
export async function retractPerson(
  ctx: SyncContext,
  request: { connection: string; identityId: string; reason: string; by: string; principal?: string },
): Promise<Run> {
  const { db } = ctx.store
  const connection = requireConnection(ctx, request.connection)
  const identityId = await resolveKey(db, request)
  const { reason, by } = request
  const decisions = tally()
  decisions.retract({ identityId, isPinned: await isPinned(db, connection, identityId) })
  const guards = await retractionGuards(db, connection, decisions)
  const runId = await db.transaction().execute(async (tx) => {
    // No other retraction can be requested or approved before this one is stored.
    await lockActiveRun(tx, connection.name)
    const change = retractChange(await retractableEntry(tx, { connection: connection.name, identityId }), reason)
    const id = await addHeldRun(tx, {
      connection: connection.name,
      options: { retract: { identityId, reason, by } },
      counts: decisions.counts(),
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

/** The entry of a person who can be retracted. Throws if the person is retracted, or a held run would retract them. */
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

/** The verdicts on a requested deletion. There are no rows to judge. */
async function retractionGuards(db: Db, { name, guards }: SyncConnection, decisions: Tally): Promise<Verdict[]> {
  const facts = decisions.facts({
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
  return verdicts.map(decisions.explain)
}

/**
 * Lifts the block of a connection and makes its due batches due now. A target that was missing is looked up by name again.
 */
export async function unblock(
  ctx: SyncContext,
  { connection: name, by }: { connection: string; by: string },
): Promise<{ readonly wasBlocked: boolean; readonly due: number }> {
  const { db } = ctx.store
  const connection = requireConnection(ctx, name)
  const [state] = await connectionStates(db, name)
  const { wasBlocked, due } = await db.transaction().execute(async (tx) => {
    // The batches first: cancelling a run locks in this order.
    const dueNow = await makeDueNow(tx, { connection: name, now: ctx.now() })
    const wasUnblocked = await unblockConnection(tx, name)
    if (wasUnblocked && state?.blocked?.status === 404 && 'name' in connection.target) await forgetTarget(tx, name)
    if (wasUnblocked) await recordAuditEntry(tx, { act: 'connection.unblocked', connection: name, by, now: ctx.now() })
    return { wasBlocked: wasUnblocked, due: dueNow }
  })
  if (wasBlocked) ctx.events.connectionUnblocked({ connection: name, by })
  await sweep(ctx)
  return { wasBlocked, due }
}

type Classification = {
  readonly connection: string
  readonly value: string
  readonly meaning: Meaning
  readonly by: string
}

/** Stores the meaning of a value that no list of the configuration has. It applies from the next run. */
export async function classifyValue(
  ctx: SyncContext,
  { connection: name, value, meaning, by }: Classification,
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
  const classified = { field, value: foldValue(value), meaning, by }
  await ensureConnection(db, name)
  await db.transaction().execute(async (tx) => {
    await storeClassifiedValue(tx, { connection: name, ...classified, now })
    const details = { field, value: classified.value, meaning }
    await recordAuditEntry(tx, { act: 'value.classed', connection: name, by, details, now })
  })
  ctx.events.valueClassified({ connection: name, field, meaning, by })
  return { ...classified, classifiedAt: now }
}

type Restoration = {
  readonly connection: string
  readonly identityId: string
  readonly by: string
  readonly principal?: string
}

/** Withdraws a retraction and requests a run, which sends the person again as the source states them. */
export async function restorePerson(ctx: SyncContext, { by, principal, ...person }: Restoration): Promise<Run> {
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

/** Whether a pin names this person, by the first key or by a later one. */
async function isPinned(db: Db, { name, pinned }: SyncConnection, identityId: string): Promise<boolean> {
  return [identityId, ...(await laterKeys(db, { connection: name, identityId }))].some((key) => pinned.has(key))
}

/** The person who requests a run, if any. A name without a principal was stated by the account of this machine. */
export function requestersOf({ by, principal = machinePrincipal }: { by?: string; principal?: string }): Requester[] {
  return by === undefined ? [] : [{ by, principal }]
}

/** Under `twoPeople`, whoever requests a run may not approve it, so the requester must be known. */
export function requireRequester({ approvals }: SyncConnection, requestedBy: readonly Requester[]): void {
  if (approvals.twoPeople && requestedBy.length === 0)
    throw new Failure('usage', '"approvals.twoPeople" has to know who requests a run: name the person as "by"')
}

type EndInput = {
  readonly runId: string
  readonly by: string
  readonly because?: string | null
  readonly to: 'rejected' | 'cancelled'
}

/** Ends a run: the rest of its plan is not delivered. */
export async function endRun(ctx: SyncContext, { runId, by, because, to }: EndInput): Promise<Run> {
  const before = await requireRun(ctx, runId)
  await ctx.store.db.transaction().execute(async (tx) => {
    if (!(await setRunState(tx, { id: runId, to, now: ctx.now(), by, ...(because !== undefined && { because }) }))) {
      throw new Failure('conflict', `run ${runId} is ${before.state} and cannot be ${to}`)
    }
    // A part may have been approved since the run was read.
    const digest = (await getRun(tx, runId))?.digest ?? null
    const details = { ...(digest !== null && { digest }), ...(because && { reason: because }) }
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

/** Returns a run; throws if the id is unknown. */
export async function requireRun(ctx: SyncContext, runId: string): Promise<Run> {
  const run = await getRun(ctx.store.db, runId)
  if (!run) throw new Failure('not_found', `there is no run ${runId}`)
  return run
}
