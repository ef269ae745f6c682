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
import { comparePerson, isAsKnown, portionsOf, lookUpInPortions } from './compare.ts'

type InDoubtInput = {
  readonly connections: readonly string[]
  /** A run that plans right after this repairs what differs; otherwise a run of its own is asked for. */
  readonly repairs: 'here' | 'by a run'
  readonly signal: AbortSignal
}

/**
 * Reads back the people in doubt whose time has come, leavers first, at the pace of deliveries. A late request that undid something is
 * found so, and repaired. Nothing waits for it or fails because of it: what was not read is read later.
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
      if (!signal.aborted) ctx.events.unexpected({ during: 'reading back people in doubt', error })
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
  // After a restore, what the platform has is compared with what it had at the time of the backup before that is forgotten.
  if (await findRestore(db, connection)) return
  const people = await claimPeopleInDoubt(db, { connection, now: ctx.now() })
  if (people.length === 0) return
  const endpoint = endpointAt(ctx, ctx.connections.get(connection), { id, resource, signal })
  const maxSingleLookUps = singleLookUpLimit(endpoint, await rosterSize(db, connection))
  const unread = new Set(people.map(({ identityId }) => identityId))
  const reading = { ctx, endpoint, connection, repairs, before: await factsOf(db, connection, unread) }
  let differing = 0
  const noteRead = async (identityIds: readonly string[], held: readonly PlatformPerson[]): Promise<void> => {
    differing += await note(reading, identityIds, held)
    for (const identityId of identityIds) unread.delete(identityId)
  }
  for (const group of inOrder(people, maxSingleLookUps)) {
    const identityIds = new Set(group.map(({ identityId }) => identityId))
    const stop = await lookUpInPortions(endpoint, identityIds, { maxSingleLookUps, recordRead: noteRead })
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
  /** What was known of people before they were read, as digests. */
  readonly before: ReadonlyMap<string, string>
}

/**
 * Notes what was read, but of people of whom something else was accepted or delivered meanwhile: they are read again. Answers of how many
 * the platform holds something new that is not desired.
 */
async function note(
  { ctx, endpoint, connection, repairs, before }: Reading,
  identityIds: readonly string[],
  held: readonly PlatformPerson[],
): Promise<number> {
  const now = ctx.now()
  const found = new Map(held.map((identity) => [identity.identityId, identity]))
  return await ctx.store.db.transaction().execute(async (tx) => {
    await lockEntries(tx, { connection, identityIds })
    const unmoved = [...(await rosterEntries(tx, { connection, identityIds })).values()].filter(
      (entry) => factDigest(entry) === before.get(entry.identityId),
    )
    const read = unmoved.map((entry) => {
      const identity = found.get(entry.identityId) ?? null
      return { isSame: isAsKnown(endpoint, entry, identity), ...comparePerson(endpoint, entry, identity) }
    })
    await recordVerification(tx, { connection, found: read })
    const same = new Set(read.filter(({ isSame }) => isSame).map(({ identityId }) => identityId))
    const answers = identityIds.map((identityId) => ({ identityId, isSame: same.has(identityId) }))
    await recordAnswers(tx, { connection, answers, now })
    const differing = read.filter(({ isSame, asDesired }) => !isSame && !asDesired).length
    if (differing > 0 && repairs === 'by a run') await addRepair(tx, { connection, now })
    return differing
  })
}

/** A night may leave so many people in doubt that there is no room for all that is known of them. */
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
