import type { RosterEntry } from '../../identity/record.ts'
import { endLearning, findRestore, type NewerRecord, recordLearned } from '../../store/connections/installation.ts'
import { type ReadBack, recordVerification, rosterEntries, rosterKeys } from '../../store/roster/roster.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import type { Db, Verification } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { type Endpoint, isRemoved } from '../target/endpoint.ts'
import { isOnPlatform, listPeople, lookUpFailure, type PlatformPerson } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { comparePerson } from './compare.ts'
import { isForeign, openFindings } from './verify.ts'

/** The result of looking a person up after a restore: the state on the platform, or newer facts that the store learns from it. */
type Finding = { readonly verified: ReadBack } | { readonly learned: NewerRecord }

/**
 * Learns from the platform what happened between the backup and the restore of a store. Nothing is planned before, because the desired state
 * may be older than the platform: people who left since would be brought back. Returns null if the store was not restored.
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
      if ('learned' in finding) count('changed', identity.identityId)
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
      if (!retracted) count('learned' in finding ? 'changed' : 'lost', identityId)
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
    const verified = findings.flatMap((finding) => ('verified' in finding ? [finding.verified] : []))
    const learned = findings.flatMap((finding) => ('learned' in finding ? [finding.learned] : []))
    await recordVerification(tx, { connection: connection.name, people: verified })
    const canStateDepartures = connection.records === undefined
    const { knownUntil } = restored ?? {}
    if (knownUntil) await recordLearned(tx, { connection: connection.name, learned, canStateDepartures, knownUntil })
  }
}

/**
 * If the platform has the same record as at the time of the backup, the desired record is still to be delivered. If it has another record,
 * that was delivered after the backup and is newer than the store. One exception: a person who has left according to the store stays a
 * leaver until HR states something else.
 */
export function findingOf(from: Pick<Endpoint, 'records'>, entry: RosterEntry, identity: PlatformPerson): Finding {
  const { identityId, desired } = entry
  const now = comparePerson(from, entry, identity)
  if (now.asDesired || now.confirmed === null || desired === null) return { verified: now }
  const isAsBefore =
    entry.confirmed !== null && comparePerson(from, { ...entry, desired: entry.confirmed }, identity).asDesired
  const hasLeft = (desired.separatedAt ?? null) !== null
  const hasLeftThere = identity.separatedAt !== null
  if (isAsBefore || (hasLeft && !hasLeftThere)) return { verified: now }
  const record = hasLeftThere ? { ...now.confirmed, separatedAt: identity.separatedAt } : now.confirmed
  return { learned: { identityId, record, isNewLeaver: hasLeftThere && !hasLeft } }
}

/**
 * A CUSTOM connection has no records of leavers, so a person who is missing there left since the backup, at the latest on the day of the
 * restore. An export that states the person brings the record back. An empty list means that the connection was recreated or emptied; it
 * states no departures, and people are sent again, as on other connections, where leavers stay in the list.
 */
export function findingOfLost(
  from: Pick<Endpoint, 'records'>,
  entry: RosterEntry,
  { restoredAt, isListEmpty }: { readonly restoredAt: Date; readonly isListEmpty: boolean },
): Finding {
  const { identityId, desired, retracted } = entry
  const isLeaver =
    from.records !== null && !isListEmpty && desired !== null && retracted === null && !isRemoved(from, desired)
  if (!isLeaver) return { verified: comparePerson(from, entry, null) }
  const separatedAt = `${restoredAt.toISOString().slice(0, 10)}T00:00:00.000Z`
  return { learned: { identityId, record: { ...desired, separatedAt }, isNewLeaver: true } }
}
