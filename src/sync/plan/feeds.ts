import type { OpenOptions, Reading } from '../../connectors/connector.ts'
import { Failure } from '../../errors.ts'
import {
  decidedVersions,
  linkedConnectionsToRead,
  markArchived,
  recordListed,
  sourcesToArchive,
  versionsToReadAgain,
} from '../../store/connections/sources.ts'
import {
  deferEvents,
  eventsOfHeld,
  peekPending,
  takeAllPending,
  takeBackEvents,
  takePending,
} from '../../store/inbox/inbox.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import { findUndecidedConnections } from '../../store/runs/held-runs.ts'
import type { FeedName } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { describeError } from '../../telemetry/describe-error.ts'
import type { FeedRules, SourceFeed, SyncConnection, SyncContext } from '../context/context.ts'
import { whileClaimed } from '../context/overtaken.ts'
import { linkedConnections } from './linked.ts'
import { readReadable } from './readable-events.ts'

/** Maximum number of events in one plan. The rest stays pending for the next plan. */
const maxEventsPerPlan = 5000

/** A feed that is ready to be read. */
export type OpenedFeed = {
  readonly name: FeedName
  readonly reading: Reading
  readonly rules: FeedRules
  /** The exports that the source lists, by version, and which of them were decided about. Left out if the source did not ask. */
  readonly listed?: { readonly versions: readonly string[]; readonly decided: ReadonlySet<string> } | undefined
}

/** The default feed of a connection. */
export function mainFeed({ feeds }: SyncConnection): FeedName {
  return feeds.source ? 'source' : 'webhook'
}

/** The rules of the default feed. */
export function mainRules({ name, feeds }: SyncConnection): FeedRules {
  const rules = feeds.source ?? feeds.webhook
  if (!rules) throw new Failure('config_invalid', `connection "${name}" has nothing to read in the configuration`)
  return rules
}

type FeedInput = { readonly name: FeedName; readonly claim: ClaimedRun | null; readonly signal: AbortSignal }

/**
 * Opens what a run reads. Without a claim, pending events are read and stay pending. Thin events, which only say that something changed,
 * are taken by the next run that reads the source, and decided with its plan.
 */
export async function openFeed(
  ctx: Pick<SyncContext, 'store' | 'now' | 'connections' | 'sourceWaits'>,
  connection: SyncConnection,
  { name, claim, signal }: FeedInput,
): Promise<OpenedFeed> {
  const { db } = ctx.store
  const { source, webhook } = connection.feeds
  if (name === 'source' && source) {
    if (webhook?.settings.thin && claim) {
      await whileClaimed(db, claim, (tx) => takeAllPending(tx, { connection: connection.name, runId: claim.run.id }))
    }
    let listed: OpenedFeed['listed']
    const findDecided = async (versions: readonly string[]) => {
      const connections = [connection, ...linkedConnections(ctx, connection.name)].map((one) => one.name)
      if (claim) await recordListed(db, { connections, versions, now: ctx.now() })
      listed = { versions, decided: await decidedVersions(db, { connection: connection.name, versions }) }
      return listed.decided
    }
    const reading = await openShowingWaits(ctx, source, { claim, options: { now: ctx.now, signal, findDecided } })
    return { name, rules: source, reading, listed }
  }
  if (name === 'webhook' && webhook) {
    const events = await eventsFor(db, connection.name, claim)
    if (events.length === 0) return { name, rules: webhook, reading: nothingNew(ctx.now()) }
    const { reading, deferred } = readReadable(events, webhook, {
      now: ctx.now(),
      // A plan that is made again keeps all of its events.
      mayDefer: claim?.run.options.again === undefined || claim.run.options.held === true,
    })
    if (claim && deferred.length > 0)
      await whileClaimed(db, claim, (tx) => deferEvents(tx, { runId: claim.run.id, ids: deferred }))
    return { name, rules: webhook, reading }
  }
  const rules = source ?? webhook
  if (name === 'roster' && rules) return { name, rules, reading: nothingNew(ctx.now()) }
  throw new Failure('config_invalid', `connection "${connection.name}" has no ${name} in the configuration`)
}

type LinkedInput = Omit<FeedInput, 'name'> & { readonly fetched: OpenedFeed }

/**
 * Opens the source of a linked connection: the copy that the other connection has fetched, or the source itself if there is no copy. A
 * connection that has decided about other exports reads the source itself, because another export is next for it.
 */
export async function openLinked(
  ctx: Parameters<typeof openFeed>[0],
  connection: SyncConnection,
  { fetched, claim, signal }: LinkedInput,
): Promise<OpenedFeed> {
  const { reading, listed } = fetched
  const { source } = connection.feeds
  if (!source || !reading.reopen || !(await hasDecidedTheSame(ctx.store.db, connection.name, listed)))
    return await openFeed(ctx, connection, { name: 'source', claim, signal })
  return { name: 'source', rules: source, reading: await reading.reopen() }
}

async function hasDecidedTheSame(db: Db, connection: string, listed: OpenedFeed['listed']): Promise<boolean> {
  if (!listed) return true
  const decided = await decidedVersions(db, { connection, versions: listed.versions })
  return decided.symmetricDifference(listed.decided).size === 0
}

/** Opens a source. While it waits, e.g. for a complete export, the run shows the reason. */
async function openShowingWaits(
  { sourceWaits }: Pick<SyncContext, 'sourceWaits'>,
  { connector }: SourceFeed,
  { claim, options }: { readonly claim: ClaimedRun | null; readonly options: OpenOptions },
): Promise<Reading> {
  if (claim === null || sourceWaits === undefined) return await connector.open(options)
  const { id } = claim.run
  try {
    return await connector.open({ ...options, onWait: (reason) => sourceWaits.set(id, reason) })
  } finally {
    sourceWaits.delete(id)
  }
}

async function eventsFor(db: Db, connection: string, claim: ClaimedRun | null) {
  const portion = { connection, limit: maxEventsPerPlan }
  if (claim === null) return await peekPending(db, portion)
  const { held = false, again } = claim.run.options
  // The events stay with the held run until the new plan replaces its plan.
  if (again && !held) return await eventsOfHeld(db, again.runId)
  return await whileClaimed(db, claim, async (tx) => {
    const runId = claim.run.id
    await takeBackEvents(tx, { connection, runId, held })
    return await takePending(tx, { ...portion, runId })
  })
}

/** Opens the source without a claim, as a run would whose connection has accepted nothing yet. What waits for the next run still waits afterwards. */
export async function openSource(
  ctx: Pick<SyncContext, 'store' | 'now'>,
  { name: connection, feeds: { source } }: SyncConnection,
  signal: AbortSignal,
): Promise<OpenedFeed> {
  if (!source) throw new Failure('config_invalid', `connection "${connection}" has no source in the configuration`)
  const findDecided = (versions: readonly string[]) => decidedVersions(ctx.store.db, { connection, versions })
  const reading = await source.connector.open({ now: ctx.now, signal, findDecided })
  return { name: 'source', rules: source, reading }
}

/** The running archiving of each connection. Runs of linked connections can end at the same time. */
const archiving = new WeakMap<SyncConnection, Promise<void>>()

/**
 * Archives the exports that were decided about, as their connector does it, also those of the connection that this one is linked to. What
 * fails is tried again with the next run.
 */
export async function archiveSources(ctx: SyncContext, connection: SyncConnection): Promise<void> {
  await archiveInTurn(ctx, connection)
  const owner = connection.linkedTo === undefined ? undefined : ctx.connections.get(connection.linkedTo)
  if (owner) await archiveInTurn(ctx, owner)
}

function archiveInTurn(ctx: SyncContext, connection: SyncConnection): Promise<void> {
  const archived = (archiving.get(connection) ?? Promise.resolve()).then(() => archiveNow(ctx, connection))
  archiving.set(
    connection,
    archived.catch(() => {}),
  )
  return archived
}

async function archiveNow(ctx: SyncContext, connection: SyncConnection): Promise<void> {
  const { db } = ctx.store
  // Read before the linked connections are: a linked run is added before its export is decided about, so none is missed.
  const toArchive = await sourcesToArchive(db, connection.name)
  const connector = connection.feeds.source?.connector
  // A linked connection that has not read the export yet may have to read it here.
  const linked = linkedConnections(ctx, connection.name).map(({ name }) => name)
  if (linked.length > 0 && toArchive.length > 0) {
    const undecided = await findUndecidedConnections(db, linked)
    const unread = await linkedConnectionsToRead(db, { connection: connection.name, linked })
    const reason = waitingReason(undecided, unread)
    if (reason !== null && connector?.archive)
      for (const { source } of toArchive)
        ctx.events.sourceNotArchived({ connection: connection.name, source: source.name, reason })
    if (undecided.length > 0 || unread.length > 0) return
  }
  const kept = toArchive.length === 0 ? new Set() : await versionsToReadAgain(db, linked)
  for (const { source, outcome } of toArchive.filter((one) => !kept.has(one.source.version))) {
    try {
      await connector?.archive?.(source, outcome)
      await markArchived(db, { connection: connection.name, version: source.version, now: ctx.now() })
    } catch (error) {
      const { message, type } = describeError(error)
      ctx.events.sourceNotArchived({ connection: connection.name, source: source.name, reason: message ?? type })
    }
  }
}

/** Why exports wait for something that does not happen by itself before the next export, for the log; null if they do not. */
function waitingReason(
  undecided: Awaited<ReturnType<typeof findUndecidedConnections>>,
  unread: readonly string[],
): string | null {
  const commandsOf = (names: readonly string[]) =>
    names.map((name) => `"rollcall sync --connection ${name}"`).join(' and ')
  const ended = undecided.flatMap((one) => (one.hasEnded ? [one.connection] : []))
  if (ended.length > 0)
    return `the last run of ${ended.join(', ')} failed or was cancelled, and it reads the same source: ${commandsOf(ended)} repeats it`
  if (unread.length > 0) return `${unread.join(', ')} has not read it yet: ${commandsOf(unread)} reads it`
  return null
}

function nothingNew(now: Date): Reading {
  return { mode: 'delta', asOf: now.toISOString(), source: null, headers: [], sparse: true, rows: noRows() }
}

async function* noRows(): AsyncGenerator<never> {}
