import { rosterEntries, rosterSize } from '../../store/roster/roster.ts'
import { sampleKeys } from '../../store/roster/sample.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import type { Verification } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { listPeople, listSize, lookUpFailure, lookUpPeople, singleLookUpLimit } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { comparePerson } from './compare.ts'
import { isForeign, openFindings, verifyAgainstPlatform } from './verify.ts'

/** Size of the random sample, besides recent leavers. */
const maxOthers = 1000
/** Number of people who are looked up before the results are recorded. */
const portionSize = 100

type SampleInput = { readonly claim: ClaimedRun; readonly others?: number; readonly signal: AbortSignal }

/**
 * Looks up the leavers of the last 30 days and a random sample of a thousand others, so that a platform that acknowledges records without
 * storing them is found within a day. Differences are recorded, and the plan that follows repairs them. If reading the whole list costs fewer
 * requests than single look-ups, everybody is compared.
 */
export async function verifySample(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, others = maxOthers, signal }: SampleInput,
): Promise<Verification> {
  const { db } = ctx.store
  const { name } = connection
  // The id of a run is random, and stays the same if the run is repeated.
  const keys = await sampleKeys(db, { connection: name, others, seed: claim.run.id, now: ctx.now() })
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) throw lookUpFailure(connection, endpoint)
  const size = await rosterSize(db, name)
  const maxSingleLookUps = singleLookUpLimit(endpoint, size)
  if (keys.length > maxSingleLookUps) return await verifyAgainstPlatform(ctx, connection, { claim, signal })

  const findings = openFindings(ctx, connection, claim)
  let listed = 0
  for (let start = 0; start < keys.length; start += portionSize) {
    const identityIds = keys.slice(start, start + portionSize)
    const { people, stop } = await lookUpPeople(endpoint, identityIds, { maxSingleLookUps: portionSize })
    if (stop) throw lookUpFailure(connection, stop)
    listed += people.size
    const entries = await rosterEntries(db, { connection: name, identityIds })
    const readBacks = [...entries.values()].map((entry) => {
      const identity = people.get(entry.identityId) ?? null
      const actual = comparePerson(endpoint, entry, identity)
      const isKnownAsDesired = entry.confirmed === entry.desired && entry.retracted === null
      if (isKnownAsDesired && !actual.asDesired) findings.count(identity ? 'changed' : 'lost', entry.identityId)
      return actual
    })
    await findings.recordRead(readBacks)
  }
  // Only the list shows foreign people. For few people it has only a page or two.
  if (size <= keys.length * listSize) {
    const stop = await listPeople(endpoint, async (identities) => {
      const identityIds = identities.map(({ identityId }) => identityId)
      const known = await rosterEntries(db, { connection: name, identityIds })
      for (const identity of identities) if (isForeign(known.get(identity.identityId))) findings.addForeign(identity)
    })
    if (stop) throw lookUpFailure(connection, stop)
    await findings.storeForeignPeople()
  }
  return { listed, ...findings.counts, people: findings.people, asked: keys.length }
}
