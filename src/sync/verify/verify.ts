import type { RosterEntry } from '../../identity/record.ts'
import { foreignToPlan, storeForeign, type UnknownPerson } from '../../store/foreign/people.ts'
import type { PlanSummary } from '../../store/plans/plans.ts'
import { type ReadBack, recordVerification, rosterEntries, rosterKeys } from '../../store/roster/roster.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import type { Db, Differences, Verification } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { whileClaimed } from '../context/overtaken.ts'
import { isOnPlatform, listPeople, lookUpFailure, type PlatformPerson } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { comparePerson } from './compare.ts'

/** Maximum number of keys of each kind that are stored with the run. */
const maxKeysPerKind = 100

/**
 * Reads the platform's whole list and compares it with the roster. People who are missing there, or whose data was changed there, are recorded
 * as the platform has them, so that the plan that follows repairs every difference. People whom HR never named are stored by key and stay
 * unchanged: absence never deletes.
 */
export async function verifyAgainstPlatform(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, signal }: { claim: ClaimedRun; signal: AbortSignal },
): Promise<Verification> {
  const { db } = ctx.store
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) throw lookUpFailure(connection, endpoint)
  const listedKeys = new Set<string>()
  const { counts, people, count, recordRead, addForeign, storeForeignPeople } = openFindings(ctx, connection, claim)
  let listed = 0

  const stop = await listPeople(endpoint, async (identities) => {
    const known = await entriesOf(identities.map(({ identityId }) => identityId))
    const readBacks: ReadBack[] = []
    for (const identity of identities) {
      listedKeys.add(identity.identityId)
      listed++
      const entry = known.get(identity.identityId)
      if (isForeign(entry)) addForeign(identity)
      if (!entry || entry.retracted) continue
      const actual = comparePerson(endpoint, entry, identity)
      if (entry.confirmed === entry.desired && !actual.asDesired) count('changed', identity.identityId)
      readBacks.push(actual)
    }
    await recordRead(readBacks)
  })
  if (stop) throw lookUpFailure(connection, stop)

  for await (const keys of rosterKeys(db, connection.name)) {
    const unlisted = keys.filter((key) => !listedKeys.has(key))
    const entries = await entriesOf(unlisted)
    const lost = [...entries.values()].filter((entry) => isOnPlatform(endpoint, entry))
    for (const { identityId, retracted } of lost) if (!retracted) count('lost', identityId)
    await recordRead(lost.map((entry) => comparePerson(endpoint, entry, null)))
  }
  await storeForeignPeople()
  return { listed, ...counts, people }

  function entriesOf(identityIds: readonly string[]) {
    return rosterEntries(db, { connection: connection.name, identityIds })
  }
}

/** Takes the people of the new plan out of the foreign ones: the export states them, although its plan is not accepted yet. */
export async function withoutPlanned(
  { store: { db } }: SyncContext,
  { id: runId, connection }: { readonly id: string; readonly connection: string },
  { verification, plan }: { verification: Verification | null; plan: Pick<PlanSummary, 'faults' | 'waiting'> },
): Promise<Verification | null> {
  if (verification === null || !verification.people) return verification
  if (verification.foreign + (verification.separated ?? 0) === 0) return verification
  const withFaults = (plan.faults ?? []).flatMap(({ identityId }) => identityId ?? [])
  const waiting = (plan.waiting?.rows ?? []).map(({ observation }) => observation.identityId)
  const named = [...withFaults, ...waiting]
  const { people, separated, keys } = await foreignToPlan(db, { connection, runId, named, limit: maxKeysPerKind })
  return { ...verification, foreign: people, separated, people: { ...verification.people, foreign: [...keys] } }
}

/**
 * Whether only the platform knows a listed person. A retracted person is on the platform until the deletion is acknowledged; a person who is
 * on the platform again after that came from elsewhere.
 */
export function isForeign(entry: RosterEntry | undefined): boolean {
  if (entry === undefined) return true
  return entry.retracted === null ? entry.desired === null : entry.confirmed === null
}

/** Collects the findings of a verification: counts them, keeps the first keys, and writes them into the store. */
export function openFindings({ store: { db }, now }: SyncContext, { name }: SyncConnection, claim: ClaimedRun) {
  const counts = { lost: 0, changed: 0, foreign: 0, separated: 0 }
  const people: Record<keyof Differences, string[]> = { lost: [], changed: [], foreign: [] }
  const foreign = new Map<string, UnknownPerson>()

  function count(kind: keyof Differences, identityId: string): void {
    counts[kind]++
    if (people[kind].length < maxKeysPerKind) people[kind].push(identityId)
  }

  /** Writes only while this process has the claim: one that was suspended while it read the list must not change the state of a later run. */
  async function write(work: (tx: Db) => Promise<void>): Promise<void> {
    await whileClaimed(db, claim, work)
  }

  return {
    counts,
    people,
    count,
    write,
    /** Adds a person whom only the platform knows. A list that changes while it is read may contain a person twice. */
    addForeign({ identityId, separatedAt }: PlatformPerson): void {
      const isSeparated = separatedAt !== null
      if (foreign.has(identityId)) return
      foreign.set(identityId, { identityId, isSeparated })
      if (isSeparated) counts.separated++
      else count('foreign', identityId)
    },
    /** Stores the people whom only the platform knows. To be called after the whole list was read. */
    async storeForeignPeople(): Promise<void> {
      await write((tx) => storeForeign(tx, { connection: name, listed: [...foreign.values()], now: now() }))
    },
    async recordRead(readBacks: readonly ReadBack[]): Promise<void> {
      await write((tx) => recordVerification(tx, { connection: name, people: readBacks }))
    },
  }
}
