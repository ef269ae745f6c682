import { rosterEntries, rosterSize } from '../../store/roster/roster.ts'
import { sampleKeys } from '../../store/roster/sample.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import type { Verification } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { listPeople, listSize, singleLookUpLimit, lookUpPeople, lookUpFailure } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { comparePerson } from './compare.ts'
import { isForeign, openFindings, verifyAgainstPlatform } from './verify.ts'

/** So many people besides the leavers of late are chosen by chance. */
const maxOthers = 1000
/** So many people are read before what was found is written. */
const portionSize = 100

/**
 * Reads back the leavers of the last 30 days and a thousand of the others, chosen by chance, so that a platform that acknowledges what it
 * does not store is found within a day. What differs is noted, and the plan which follows repairs it. Where the platform's whole list costs
 * fewer requests than asking for each of them, everybody is compared.
 */
export async function verifySample(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, others = maxOthers, signal }: { claim: ClaimedRun; others?: number; signal: AbortSignal },
): Promise<Verification> {
  const { db } = ctx.store
  const { name } = connection
  // The id of a run is random, and stays with it when it is read again.
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
    const { people: found, stop } = await lookUpPeople(endpoint, identityIds, { maxSingleLookUps: portionSize })
    if (stop) throw lookUpFailure(connection, stop)
    listed += found.size
    const entries = await rosterEntries(db, { connection: name, identityIds })
    const noted = [...entries.values()].map((entry) => {
      const identity = found.get(entry.identityId) ?? null
      const actual = comparePerson(endpoint, entry, identity)
      const isKnownAsDesired = entry.confirmed === entry.desired && entry.retracted === null
      if (isKnownAsDesired && !actual.asDesired) findings.count(identity ? 'changed' : 'lost', entry.identityId)
      return actual
    })
    await findings.recordRead(noted)
  }
  // Only the list names people whom nobody could ask for. Of few people it is a page or two.
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
