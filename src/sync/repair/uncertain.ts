import type { ClaimedDelivery } from '../../store/deliveries/claim.ts'
import { endedTakeovers, leftUncertain, markUncertain, settleTakeover } from '../../store/deliveries/uncertain.ts'
import { unlearned } from '../../store/connections/installation.ts'
import { noteReadBack, rosterEntries, rosterSize, uncertainKeys } from '../../store/roster/roster.ts'
import { type ClaimedRun, holdsRun } from '../../store/runs/claims.ts'
import { addWaitingRun, waitingRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context.ts'
import type { Stop } from '../deliver/classify-answers.ts'
import type { Endpoint } from '../deliver/endpoint.ts'
import { type Held, mostAskedOneByOne } from '../deliver/look-up.ts'
import { openEndpoint } from '../deliver/target.ts'
import { canCompare } from '../digests.ts'
import { eachApart } from '../each-apart.ts'
import { enqueueWaiting } from '../enqueue.ts'
import { Overtaken } from '../plan/stage.ts'
import { compareWith, readPortions, statedBy } from './read-back.ts'

/** A run that could not read people back is asked for again after this time. */
const retryAfterMs = 60 * 60_000

/**
 * Marks the people of an attempt that was overtaken. What it sent since then may have undone newer facts on the platform, where nothing
 * can fence a request. The next run reads the people back.
 */
export async function markOvertaken(ctx: SyncContext, claim: ClaimedDelivery): Promise<void> {
  const { runId, batch, connection } = claim
  await ctx.store.db.transaction().execute(async (tx) => {
    await markUncertain(tx, { runId, batch, now: ctx.now() })
    await settleTakeover(tx, { runId, batch, lease: ctx.lease.id })
  })
  await requestRepair(ctx, connection)
}

/** Does the same for batches whose former process has ended since they were taken over from it. */
export async function markEndedTakeovers(ctx: SyncContext): Promise<void> {
  const all = await endedTakeovers(ctx.store.db, ctx.lease)
  await eachApart(ctx, { during: 'sweep', all }, async ({ connection, ...takeover }) => {
    await ctx.store.db.transaction().execute(async (tx) => {
      await markUncertain(tx, { ...takeover, now: ctx.now() })
      await settleTakeover(tx, takeover)
    })
    await requestRepair(ctx, connection)
  })
}

/** Has people read back whom a run could not read back, because the platform let no one in, after a while; and whole connections after a restore. */
export async function readLeftUncertain(ctx: SyncContext): Promise<void> {
  const { db } = ctx.store
  const failedBefore = new Date(ctx.now().getTime() - retryAfterMs)
  const left = await leftUncertain(db, { failedBefore })
  const all = new Set([...left, ...(await unlearned(db, { failedBefore }))]).intersection(ctx.connections)
  await eachApart(ctx, { during: 'sweep', all }, (connection) => requestRepair(ctx, connection))
}

/** Adds such a run and starts it. */
export async function requestRepair(ctx: SyncContext, connection: string): Promise<void> {
  await addRepair(ctx.store.db, { connection, now: ctx.now() })
  await tellRepair(ctx, connection)
}

/** Adds a run that reads no source, and delivers what is left of the last facts from HR. */
export async function addRepair(db: Db, { connection, now }: { connection: string; now: Date }): Promise<void> {
  await addWaitingRun(db, { connection, feed: 'roster', trigger: 'repair', options: {}, now })
}

/** Tells of a run that was added, and starts it. */
export async function tellRepair(ctx: SyncContext, connection: string): Promise<void> {
  const waiting = await waitingRun(ctx.store.db, { connection, feed: 'roster' })
  if (waiting) ctx.events.runRequested({ runId: waiting.id, connection, trigger: 'repair' })
  await enqueueWaiting(ctx, connection)
}

/**
 * Reads back all people who are uncertain, so that the plan which follows repairs what differs. Answers what kept it from reading;
 * the people stay uncertain then, until a later run.
 */
export async function readBackUncertain(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, signal }: { claim: ClaimedRun; signal: AbortSignal },
): Promise<Stop | null> {
  const { db } = ctx.store
  // Without the key nothing can be compared: the people stay uncertain.
  if (!(await canCompare(db, connection.name))) return null
  const uncertain = new Set<string>()
  for await (const identityIds of uncertainKeys(db, connection.name)) for (const id of identityIds) uncertain.add(id)
  if (uncertain.size === 0) return null
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) return endpoint
  const mostOneByOne = mostAskedOneByOne(endpoint, await rosterSize(db, connection.name))
  const reading = { ctx, connection: connection.name, claim, endpoint }
  return await readPortions(endpoint, uncertain, {
    mostOneByOne,
    note: (identityIds, held) => noteRead(reading, identityIds, held),
  })
}

type Reading = {
  readonly ctx: SyncContext
  readonly connection: string
  readonly claim: ClaimedRun
  readonly endpoint: Endpoint
}

/** Notes what was read of people. Whoever is not among `held` is not there. */
async function noteRead(
  { ctx, connection, claim, endpoint }: Reading,
  identityIds: readonly string[],
  held: readonly Held[],
): Promise<void> {
  const { db } = ctx.store
  const found = new Map(held.map((identity) => [identity.identityId, identity]))
  const entries = await rosterEntries(db, { connection, identityIds, stated: statedBy(held) })
  const noted = [...entries.values()].map((entry) => compareWith(endpoint, entry, found.get(entry.identityId) ?? null))
  await db.transaction().execute(async (tx) => {
    if (!(await holdsRun(tx, claim))) throw new Overtaken()
    await noteReadBack(tx, { connection, found: noted })
  })
}
