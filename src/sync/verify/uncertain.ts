import { connectionsToLearn } from '../../store/connections/installation.ts'
import { connectionsWithUncertain } from '../../store/deliveries/uncertain.ts'
import { recordVerification, rosterEntries, rosterSize, uncertainKeys } from '../../store/roster/roster.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { whileClaimed } from '../context/overtaken.ts'
import { requestRepair } from '../context/repair-runs.ts'
import type { Stop } from '../rate-limit/classify-answers.ts'
import type { Endpoint } from '../target/endpoint.ts'
import { type PlatformPerson, singleLookUpLimit } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { comparePerson, lookUpInPortions } from './compare.ts'

/** After a run that could not look people up, a repair run is requested after this time. */
const retryAfterMs = 60 * 60_000

/** Requests repair runs for uncertain people whom an earlier run could not look up, and for connections that a restore left unread. */
export async function retryUncertain(ctx: SyncContext): Promise<void> {
  const { db } = ctx.store
  const failedBefore = new Date(ctx.now().getTime() - retryAfterMs)
  const uncertain = await connectionsWithUncertain(db, { failedBefore })
  const all = new Set([...uncertain, ...(await connectionsToLearn(db, { failedBefore }))]).intersection(ctx.connections)
  await forEachIsolated(ctx, { during: 'sweep', all }, (connection) => requestRepair(ctx, connection))
}

/**
 * Looks up all uncertain people, so that the plan that follows repairs what differs. Returns what stopped the look-up, or null; the
 * remaining people stay uncertain until a later run.
 */
export async function verifyUncertain(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, signal }: { claim: ClaimedRun; signal: AbortSignal },
): Promise<Stop | null> {
  const { db } = ctx.store
  const uncertain = new Set<string>()
  for await (const identityIds of uncertainKeys(db, connection.name)) for (const id of identityIds) uncertain.add(id)
  if (uncertain.size === 0) return null
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) return endpoint
  const maxSingleLookUps = singleLookUpLimit(endpoint, await rosterSize(db, connection.name))
  const reading = { ctx, connection: connection.name, claim, endpoint }
  return await lookUpInPortions(endpoint, uncertain, {
    maxSingleLookUps,
    recordRead: (identityIds, held) => recordRead(reading, identityIds, held),
  })
}

type Reading = {
  readonly ctx: SyncContext
  readonly connection: string
  readonly claim: ClaimedRun
  readonly endpoint: Endpoint
}

/** Records what was read of people. People without an entry in `held` are not on the platform. */
async function recordRead(
  { ctx, connection, claim, endpoint }: Reading,
  identityIds: readonly string[],
  held: readonly PlatformPerson[],
): Promise<void> {
  const { db } = ctx.store
  const byKey = new Map(held.map((identity) => [identity.identityId, identity]))
  const entries = await rosterEntries(db, { connection, identityIds })
  const people = [...entries.values()].map((entry) =>
    comparePerson(endpoint, entry, byKey.get(entry.identityId) ?? null),
  )
  await whileClaimed(db, claim, (tx) => recordVerification(tx, { connection, people }))
}
