import { connectionsToLearn } from '../../store/connections/installation.ts'
import { connectionsWithUncertain } from '../../store/deliveries/uncertain.ts'
import { recordVerification, rosterEntries, rosterSize, uncertainKeys } from '../../store/roster/roster.ts'
import { type ClaimedRun, holdsRun } from '../../store/runs/claims.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { Overtaken } from '../context/overtaken.ts'
import { requestRepair } from '../context/repair-runs.ts'
import type { Endpoint } from '../target/endpoint.ts'
import { type PlatformPerson, singleLookUpLimit } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import type { Stop } from '../rate-limit/classify-answers.ts'
import { comparePerson, lookUpInPortions } from './compare.ts'

/** A run that could not read people back is asked for again after this time. */
const retryAfterMs = 60 * 60_000

/** Has people read back whom a run could not read back, because the platform let no one in, after a while; and whole connections after a restore. */
export async function retryUncertain(ctx: SyncContext): Promise<void> {
  const { db } = ctx.store
  const failedBefore = new Date(ctx.now().getTime() - retryAfterMs)
  const left = await connectionsWithUncertain(db, { failedBefore })
  const all = new Set([...left, ...(await connectionsToLearn(db, { failedBefore }))]).intersection(ctx.connections)
  await forEachIsolated(ctx, { during: 'sweep', all }, (connection) => requestRepair(ctx, connection))
}

/**
 * Reads back all people who are uncertain, so that the plan which follows repairs what differs. Answers what kept it from reading;
 * the people stay uncertain then, until a later run.
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

/** Notes what was read of people. Whoever is not among `held` is not there. */
async function recordRead(
  { ctx, connection, claim, endpoint }: Reading,
  identityIds: readonly string[],
  held: readonly PlatformPerson[],
): Promise<void> {
  const { db } = ctx.store
  const found = new Map(held.map((identity) => [identity.identityId, identity]))
  const entries = await rosterEntries(db, { connection, identityIds })
  const noted = [...entries.values()].map((entry) =>
    comparePerson(endpoint, entry, found.get(entry.identityId) ?? null),
  )
  await db.transaction().execute(async (tx) => {
    if (!(await holdsRun(tx, claim))) throw new Overtaken()
    await recordVerification(tx, { connection, found: noted })
  })
}
