import type { RosterEntry } from '../../identity/record.ts'
import { endLearning, type Learned, recordLearned, findRestore } from '../../store/connections/installation.ts'
import { recordVerification, type ReadBack, rosterEntries, rosterKeys } from '../../store/roster/roster.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import type { Db, Verification } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { type Endpoint, isRemoved } from '../target/endpoint.ts'
import { type PlatformPerson, isOnPlatform, listPeople, lookUpFailure } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { comparePerson } from './compare.ts'
import { isForeign, openFindings } from './verify.ts'

/** What reading a person back after a restore comes to: what the store notes of the platform, or what it learns from it. */
type Finding = { readonly note: ReadBack } | { readonly learn: Learned }

/**
 * Learns from the platform what happened after a store was put back to an earlier time. Until that is done nothing is planned, because
 * what the store wants may be older than what the platform has: people who left since would be brought back. Answers null if the store
 * was not put back.
 */
export async function learnAfterRestore(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, signal }: { claim: ClaimedRun; signal: AbortSignal },
): Promise<Verification | null> {
  const { db } = ctx.store
  const restored = await findRestore(db, connection.name)
  if (!restored) return null
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) throw lookUpFailure(connection, endpoint)
  const listed = new Set<string>()
  const { counts, people, count, write, addForeign, storeForeignPeople } = openFindings(ctx, connection, claim)

  const stop = await listPeople(endpoint, async (identities) => {
    for (const { identityId } of identities) listed.add(identityId)
    const known = await entriesOf(identities.map(({ identityId }) => identityId))
    const findings = identities.flatMap((identity): Finding[] => {
      const entry = known.get(identity.identityId)
      if (isForeign(entry)) addForeign(identity)
      if (!entry || entry.retracted) return []
      const finding = findingOf(endpoint, entry, identity)
      if ('learn' in finding) count('changed', identity.identityId)
      return [finding]
    })
    await write((tx) => recordFindings(tx, findings))
  })
  if (stop) throw lookUpFailure(connection, stop)

  for await (const keys of rosterKeys(db, connection.name)) {
    const entries = await entriesOf(keys.filter((key) => !listed.has(key)))
    const lost = [...entries.values()].filter((entry) => isOnPlatform(endpoint, entry))
    const isListEmpty = listed.size === 0
    const findings = lost.map((entry) => findingOfLost(endpoint, entry, { ...restored, isListEmpty }))
    findings.forEach((finding, at) => {
      const { identityId, retracted } = lost[at] as RosterEntry
      if (!retracted) count('learn' in finding ? 'changed' : 'lost', identityId)
    })
    await write((tx) => recordFindings(tx, findings))
  }
  await storeForeignPeople()
  await write((tx) => endLearning(tx, connection.name))
  return { listed: listed.size, ...counts, people }

  function entriesOf(identityIds: readonly string[]) {
    return rosterEntries(db, { connection: connection.name, identityIds })
  }

  async function recordFindings(tx: Db, findings: readonly Finding[]): Promise<void> {
    const found = findings.flatMap((finding) => ('note' in finding ? [finding.note] : []))
    const learned = findings.flatMap((finding) => ('learn' in finding ? [finding.learn] : []))
    await recordVerification(tx, { connection: connection.name, found })
    if (restored) await recordLearned(tx, { connection: connection.name, learned, knownUntil: restored.knownUntil })
  }
}

/**
 * If the platform has what it had at the time of the backup, what HR wants is still to be delivered. If it has something else, that was
 * delivered after the backup, so that it is newer than what the store knows. There is one exception: a person who has left, as the store
 * knows, stays so until HR says something else.
 */
export function findingOf(from: Pick<Endpoint, 'records'>, entry: RosterEntry, identity: PlatformPerson): Finding {
  const { identityId, desired } = entry
  const now = comparePerson(from, entry, identity)
  if (now.asDesired || now.confirmed === null || desired === null) return { note: now }
  const isAsBefore =
    entry.confirmed !== null && comparePerson(from, { ...entry, desired: entry.confirmed }, identity).asDesired
  const hasLeft = (desired.separatedAt ?? null) !== null
  const hasLeftThere = identity.separatedAt !== null
  if (isAsBefore || (hasLeft && !hasLeftThere)) return { note: now }
  const record = hasLeftThere ? { ...now.confirmed, separatedAt: identity.separatedAt } : now.confirmed
  return { learn: { identityId, record, isNewLeaver: hasLeftThere && !hasLeft } }
}

/**
 * A CUSTOM connection holds no record of a person who has left, so whoever is lost there left since the backup; the newest day on which
 * that can have been is that of the restore. An export that states the person brings the record back. A list without any record says that
 * the connection was made anew or emptied, and nothing of anybody's leaving. There and elsewhere a person who is lost is
 * sent again: people who have left stay in the list.
 */
export function findingOfLost(
  from: Pick<Endpoint, 'records'>,
  entry: RosterEntry,
  { restoredAt, isListEmpty }: { readonly restoredAt: Date; readonly isListEmpty: boolean },
): Finding {
  const { identityId, desired, retracted } = entry
  const isLeaver =
    from.records !== null && !isListEmpty && desired !== null && retracted === null && !isRemoved(from, desired)
  if (!isLeaver) return { note: comparePerson(from, entry, null) }
  const separatedAt = `${restoredAt.toISOString().slice(0, 10)}T00:00:00.000Z`
  return { learn: { identityId, record: { ...desired, separatedAt }, isNewLeaver: true } }
}
