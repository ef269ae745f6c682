import { hash } from 'node:crypto'
import type { RosterEntry } from '../../identity/record.ts'
import { targetOf } from '../../store/connections/connections.ts'
import { findRestore } from '../../store/connections/installation.ts'
import {
  claimPeopleInDoubt,
  connectionsInDoubt,
  type PersonInDoubt,
  recordAnswers,
  retryLookUp,
} from '../../store/in-doubt.ts'
import { lockEntries, recordVerification, rosterEntries, rosterSize } from '../../store/roster/roster.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncContext } from '../context/context.ts'
import { addRepair, emitRepair } from '../context/repair-runs.ts'
import type { Endpoint } from '../target/endpoint.ts'
import { type PlatformPerson, singleLookUpLimit } from '../target/look-up.ts'
import { endpointAt } from '../target/target.ts'
import { comparePerson, isAsKnown, lookUpInPortions, portionsOf } from './compare.ts'

type InDoubtInput = {
  readonly connections: readonly string[]
  /** `here`: the run that plans right after this repairs what differs. `by a run`: a repair run is requested. */
  readonly repairs: 'here' | 'by a run'
  readonly signal: AbortSignal
}

/**
 * Looks up the people in doubt who are due, leavers first, within the rate limit. This finds and repairs what a late request has undone.
 * A failure is logged and stops nothing: people who could not be read are read later.
 */
export async function verifyPeopleInDoubt(
  ctx: SyncContext,
  { connections, repairs, signal }: InDoubtInput,
): Promise<void> {
  const due = await connectionsInDoubt(ctx.store.db, ctx.now())
  for (const connection of due.filter((name) => connections.includes(name))) {
    try {
      await readConnection(ctx, { connection, repairs, signal })
    } catch (error) {
      if (!signal.aborted) ctx.events.unexpected({ during: 'looking up people in doubt', error })
    }
  }
}

async function readConnection(
  ctx: SyncContext,
  { connection, repairs, signal }: Omit<InDoubtInput, 'connections'> & { readonly connection: string },
): Promise<void> {
  const { db } = ctx.store
  const { id, resource } = await targetOf(db, connection)
  if (id === null) return
  // After a restore, the platform is first compared with its state at the time of the backup.
  if (await findRestore(db, connection)) return
  const people = await claimPeopleInDoubt(db, { connection, now: ctx.now() })
  if (people.length === 0) return
  const endpoint = endpointAt(ctx, ctx.connections.get(connection), { id, resource, signal })
  const maxSingleLookUps = singleLookUpLimit(endpoint, await rosterSize(db, connection))
  const unread = new Set(people.map(({ identityId }) => identityId))
  const reading = { ctx, endpoint, connection, repairs, before: await factsOf(db, connection, unread) }
  let differing = 0
  const recordRead = async (identityIds: readonly string[], held: readonly PlatformPerson[]): Promise<void> => {
    differing += await recordPortion(reading, identityIds, held)
    for (const identityId of identityIds) unread.delete(identityId)
  }
  for (const group of inOrder(people, maxSingleLookUps)) {
    const identityIds = new Set(group.map(({ identityId }) => identityId))
    const stop = await lookUpInPortions(endpoint, identityIds, { maxSingleLookUps, recordRead })
    if (stop === null) continue
    await retryLookUp(db, { connection, identityIds: [...unread], now: ctx.now() })
    break
  }
  ctx.events.inDoubtVerified({ connection, people: people.length, differing })
  if (differing > 0 && repairs === 'by a run') await emitRepair(ctx, connection)
}

/** Leavers before all others, unless the platform's whole list has to be read for the leavers alone. */
function inOrder(people: readonly PersonInDoubt[], maxSingleLookUps: number): readonly (readonly PersonInDoubt[])[] {
  const { leavers = [], others = [] } = Object.groupBy(people, ({ isLeaver }) => (isLeaver ? 'leavers' : 'others'))
  const groups = leavers.length > maxSingleLookUps ? [people] : [leavers, others]
  return groups.filter((group) => group.length > 0)
}

type Reading = {
  readonly ctx: SyncContext
  readonly endpoint: Endpoint
  readonly connection: string
  readonly repairs: InDoubtInput['repairs']
  /** Digests of what was known of people before they were read. */
  readonly before: ReadonlyMap<string, string>
}

/**
 * Records what was read, except for people about whom something was accepted or delivered meanwhile: they are read again. Returns the
 * number of people whom the platform holds neither as known before nor as desired.
 */
async function recordPortion(
  { ctx, endpoint, connection, repairs, before }: Reading,
  identityIds: readonly string[],
  held: readonly PlatformPerson[],
): Promise<number> {
  const now = ctx.now()
  const byKey = new Map(held.map((identity) => [identity.identityId, identity]))
  return await ctx.store.db.transaction().execute(async (tx) => {
    await lockEntries(tx, { connection, identityIds })
    const unchanged = [...(await rosterEntries(tx, { connection, identityIds })).values()].filter(
      (entry) => factDigest(entry) === before.get(entry.identityId),
    )
    const read = unchanged.map((entry) => {
      const identity = byKey.get(entry.identityId) ?? null
      return { isSame: isAsKnown(endpoint, entry, identity), ...comparePerson(endpoint, entry, identity) }
    })
    await recordVerification(tx, { connection, people: read })
    const same = new Set(read.filter(({ isSame }) => isSame).map(({ identityId }) => identityId))
    const answers = identityIds.map((identityId) => ({ identityId, isSame: same.has(identityId) }))
    await recordAnswers(tx, { connection, answers, now })
    const differing = read.filter(({ isSame, asDesired }) => !isSame && !asDesired).length
    if (differing > 0 && repairs === 'by a run') await addRepair(tx, { connection, now })
    return differing
  })
}

/** Digests, because the full facts of many people in doubt would take too much memory. */
async function factsOf(db: Db, connection: string, people: ReadonlySet<string>): Promise<Map<string, string>> {
  const facts = new Map<string, string>()
  for (const identityIds of portionsOf(people)) {
    for (const entry of (await rosterEntries(db, { connection, identityIds })).values())
      facts.set(entry.identityId, factDigest(entry))
  }
  return facts
}

function factDigest({ desired, confirmed, retracted }: RosterEntry): string {
  return hash('sha256', JSON.stringify([desired, confirmed, retracted]), 'base64')
}
