import type { Identity } from '../../contract/platform/hris-user-identities.ts'
import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import type { IdentityRecord } from '../../identity/record.ts'
import type { PendingChange } from '../../store/deliveries/claim.ts'
import { rosterSize } from '../../store/roster/roster.ts'
import type { Platform } from '../context.ts'
import { type Attempt, record, recordOf } from './attempt.ts'
import { asStop, classifyAnswer, classifyRefusal, type Stop } from './classify-answers.ts'
import { type Endpoint, personParams, request } from './endpoint.ts'

/** Above so many people, reading pages of the platform's list costs fewer requests than asking for each. */
const mostOneByOne = 20
const listSize = 500

/**
 * An earlier request of this batch may have reached the platform: people who are there as wanted are settled, the others are left to
 * be sent. If reading would take many requests, all are left: sending again changes nothing twice, and its answer tells as much.
 */
export async function settleUncertain(
  attempt: Attempt,
  pending: readonly PendingChange[],
): Promise<{ left: readonly PendingChange[]; stop: Stop | null }> {
  const { ctx, claim } = attempt
  const size = await rosterSize(ctx.store.db, claim.connection)
  const isCheap = pending.length <= mostOneByOne || size <= mostOneByOne * listSize
  if (!isCheap) return { left: pending, stop: null }
  const sentAt = ctx.now()
  const { found, stop } = await readBack(
    attempt,
    pending.map(({ identityId }) => identityId),
  )
  if (stop) return { left: pending, stop }
  const isThere = ({ identityId, json }: PendingChange): boolean => {
    const identity = found.get(identityId)
    return json === null ? identity === undefined : identity !== undefined && holdsAll(identity, recordOf({ json }))
  }
  const { there = [], left = [] } = Object.groupBy(pending, (person) => (isThere(person) ? 'there' : 'left'))
  const outcomes = there.map(({ identityId, json }) => ({
    identityId,
    state: 'confirmed' as const,
    holds: json === null ? { confirmed: null } : ('wanted' as const),
    answer: { status: 200, message: 'read back: the platform has it' },
  }))
  await record(attempt, outcomes, sentAt)
  return { left, stop: null }
}

/** Up to how many people it costs fewer requests to ask for each than to read the list of all. */
export function mostAskedOneByOne(rosterSize: number): number {
  return Math.max(mostOneByOne, Math.ceil(rosterSize / listSize))
}

/** What the platform holds of these people, by key. People whom it does not hold are left out. */
export async function readBack(
  endpoint: Endpoint,
  identityIds: readonly string[],
  { mostOneByOne: most = mostOneByOne }: { mostOneByOne?: number } = {},
): Promise<{ found: Map<string, Identity>; stop: Stop | null }> {
  const found = new Map<string, Identity>()
  if (identityIds.length <= most) {
    for (const identityId of identityIds) {
      const read = await readOne(endpoint, identityId)
      if ('kind' in read) return { found, stop: read }
      if (read.identity) found.set(identityId, read.identity)
    }
    return { found, stop: null }
  }
  const asked = new Set(identityIds)
  const stop = await listIdentities(endpoint, async (identities) => {
    for (const identity of identities) if (asked.has(identity.identityId)) found.set(identity.identityId, identity)
  })
  return { found, stop }
}

/** Hands everyone whom the platform's connection holds to `take`, some hundred at a time. Answers what ended the walk early. */
export async function listIdentities(
  endpoint: Endpoint,
  take: (identities: readonly Identity[]) => Promise<void>,
): Promise<Stop | null> {
  const list = (input: Parameters<Platform['client']['listHrisUserIdentities']>[0]) =>
    request(endpoint, (client, options) => client.listHrisUserIdentities(input, options))
  let page: Identity[] = []
  try {
    for await (const identity of walk(list, {
      params: { connectionId: endpoint.connectionId },
      query: { size: listSize },
    })) {
      if (page.push(identity) < listSize) continue
      await take(page)
      page = []
    }
    await take(page)
    return null
  } catch (error) {
    if (error instanceof WalkInterrupted) return asStop(classifyRefusal(error.answer))
    throw error
  }
}

/** Whether the platform holds this person, or why it does not say. */
export async function exists(endpoint: Endpoint, identityId: string): Promise<boolean | Stop> {
  const found = await readOne(endpoint, identityId)
  return 'kind' in found ? found : found.identity !== null
}

async function readOne(endpoint: Endpoint, identityId: string): Promise<{ identity: Identity | null } | Stop> {
  const answer = await request(endpoint, (client, options) =>
    client.getHrisUserIdentity({ params: personParams(endpoint, identityId) }, options),
  )
  const classified = classifyAnswer(answer)
  switch (classified.kind) {
    case 'done':
      return { identity: classified.body }
    case 'missing':
    case 'refused':
      return { identity: null }
    default:
      return classified
  }
}

/** Whether the platform has everything that the record says. */
function holdsAll(identity: Identity, record: IdentityRecord): boolean {
  const { separatedAt } = record
  return (
    holdsAsideFromDate(identity, record) && (separatedAt === undefined || sameDate(identity.separatedAt, separatedAt))
  )
}

/** Whether the platform has everything that the record says, the leaving date aside. */
export function holdsAsideFromDate(identity: Identity, record: IdentityRecord): boolean {
  const { identityId: _key, separatedAt: _date, ...fields } = record
  return Object.entries(fields).every(([name, value]) => identity[name as keyof typeof fields] === value)
}

/** Whether two leaving dates are the same, whatever precision they are written with. */
export function sameDate(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b
  return Date.parse(a) === Date.parse(b)
}
