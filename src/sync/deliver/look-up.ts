import type { AnyAnswer } from '../../http/client/answer.ts'
import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import { type IdentityRecord, type RosterEntry, timedFieldsOf } from '../../identity/record.ts'
import type { PendingChange } from '../../store/deliveries/pending.ts'
import { rosterSize } from '../../store/roster/roster.ts'
import type { Platform } from '../context/context.ts'
import { asStop, classifyAnswer, classifyRefusal, notOfPlatform, type Stop } from '../rate-limit/classify-answers.ts'
import { type Attempt, goesOn, recordOf, saveOutcomes } from './attempt.ts'
import { type Endpoint, isRemoved, personParams, recordsOf, request } from './endpoint.ts'

/** Above so many people, reading pages of the platform's list costs fewer requests than asking for each. */
export const mostOneByOne = 20
export const listSize = 500

/** What the platform holds of a person, in the fields that are known here. */
export type Held = IdentityRecord & { readonly separatedAt: string | null }

/**
 * An earlier request of this batch may have reached the platform: people who are there as desired are settled, the others are left to
 * be sent. If reading would take many requests, all are left: sending again changes nothing twice, and its answer tells as much. A
 * deletion is always made again: that somebody cannot be read does not say that they were deleted.
 */
export async function settleUncertain(
  attempt: Attempt,
  pending: readonly PendingChange[],
): Promise<{ left: readonly PendingChange[]; stop: Stop | null }> {
  const { ctx, claim } = attempt
  const size = await rosterSize(ctx.store.db, claim.connection)
  const isOneByOne = attempt.records === null && pending.length <= mostOneByOne
  const isCheap = isOneByOne || size <= mostOneByOne * listSize
  if (!isCheap) return { left: pending, stop: null }
  const sentAt = ctx.now()
  const { found, stop } = await readBack(
    attempt,
    pending.map(({ identityId }) => identityId),
  )
  // Whoever could not be read is sent again.
  if (stop && !goesOn(attempt, stop)) return { left: pending, stop }
  const isThere = ({ identityId, json }: PendingChange): boolean => {
    const identity = found.get(identityId)
    return identity !== undefined && json !== null && holdsAll(identity, recordOf({ json }))
  }
  const { there = [], left = [] } = Object.groupBy(pending, (person) => (isThere(person) ? 'there' : 'left'))
  const outcomes = there.map(({ identityId }) => ({
    identityId,
    state: 'confirmed' as const,
    holds: 'desired' as const,
    answer: { status: 200, message: 'read back: the platform has it' },
  }))
  await saveOutcomes(attempt, outcomes, sentAt)
  return { left, stop: null }
}

/** Up to how many people it costs fewer requests to ask for each than to read the list of all. No record can be asked for by itself. */
export function maxSingleLookUps({ records }: Pick<Endpoint, 'records'>, people: number): number {
  if (records !== null) return 0
  return Math.max(mostOneByOne, Math.ceil(people / listSize))
}

/** What the platform holds of these people, by key. People whom it does not hold are left out. */
export async function readBack(
  endpoint: Endpoint,
  identityIds: readonly string[],
  { mostOneByOne: most = mostOneByOne }: { mostOneByOne?: number } = {},
): Promise<{ found: Map<string, Held>; stop: Stop | null }> {
  const found = new Map<string, Held>()
  if (endpoint.isMissing) return { found, stop: null }
  if (endpoint.records === null && identityIds.length <= most) {
    for (const identityId of identityIds) {
      const read = await readOne(endpoint, identityId)
      if ('kind' in read) return { found, stop: read }
      if (read.identity) found.set(identityId, read.identity)
    }
    return { found, stop: null }
  }
  const asked = new Set(identityIds)
  const take = async (identities: readonly Held[]): Promise<boolean> => {
    for (const identity of identities) if (asked.has(identity.identityId)) found.set(identity.identityId, identity)
    return found.size < asked.size
  }
  const stop = await listHeld(endpoint, take, { newestFirst: true })
  return { found, stop }
}

/**
 * Hands everyone whom the platform's connection holds to `take`, some hundred at a time, until it answers false: it has seen enough. Answers
 * what ended the walk early.
 */
export async function listHeld(
  endpoint: Endpoint,
  take: (identities: readonly Held[]) => Promise<unknown>,
  { newestFirst = false }: { newestFirst?: boolean } = {},
): Promise<Stop | null> {
  if (endpoint.isMissing) return null
  let page: Held[] = []
  try {
    for await (const identity of endpoint.records === null
      ? walkPeople(endpoint, newestFirst)
      : walkRecords(endpoint)) {
      if (page.push(identity) < listSize) continue
      if ((await take(page)) === false) return null
      page = []
    }
    await take(page)
    return null
  } catch (error) {
    if (error instanceof WalkInterrupted) return asStop(classifyRefusal(error.answer))
    throw error
  }
}

function walkPeople(endpoint: Endpoint, newestFirst: boolean): AsyncIterable<Held> {
  const { connectionId } = endpoint
  const list = (input: Parameters<Platform['client']['listHrisUserIdentities']>[0]) =>
    request(endpoint, (client, options) => client.listHrisUserIdentities(input, options))
  const order = newestFirst ? ({ sort: 'createdAt', sortDir: 'DESC' } as const) : {}
  return walk(list, { params: { connectionId }, query: { size: listSize, ...order } })
}

async function* walkRecords(endpoint: Endpoint): AsyncGenerator<Held> {
  const { params, shape } = recordsOf(endpoint)
  const list = (input: Parameters<Platform['client']['listCustomDataRecords']>[0]) =>
    request(endpoint, (client, options) => client.listCustomDataRecords(input, options))
  for await (const { id, attributes } of walk(list, { params, query: { size: listSize } }))
    yield { identityId: id, separatedAt: null, ...shape.fieldsOf(attributes) }
}

/** Whether the platform is known to hold a person. */
export function isHeld(endpoint: Pick<Endpoint, 'records'>, { confirmed }: RosterEntry): boolean {
  return confirmed !== null && !isRemoved(endpoint, confirmed)
}

/** Whether the platform holds this person, or why it does not say. */
export async function exists(endpoint: Endpoint, identityId: string): Promise<boolean | Stop> {
  const found = await readOne(endpoint, identityId)
  return 'kind' in found ? found : found.identity !== null
}

async function readOne(endpoint: Endpoint, identityId: string): Promise<{ identity: Held | null } | Stop> {
  const answer = await request(endpoint, (client, options) =>
    client.getHrisUserIdentity({ params: personParams(endpoint, identityId) }, options),
  )
  const classified = classifyAnswer(answer)
  switch (classified.kind) {
    case 'done':
      return { identity: classified.body }
    case 'missing':
    case 'refused':
      return isOwnRefusal(answer) ? { identity: null } : notOfPlatform(classified.status)
    default:
      return classified
  }
}

/** Each refusal of the platform has a number. A gateway that does not know the path answers the same status without one. */
function isOwnRefusal(answer: AnyAnswer): boolean {
  return 'error' in answer && answer.error.code !== null
}

/** Whether the platform has everything that the record says. */
function holdsAll(identity: Held, record: IdentityRecord): boolean {
  const { separatedAt } = record
  return (
    holdsAsideFromDate(identity, record) && (separatedAt === undefined || sameDate(identity.separatedAt, separatedAt))
  )
}

/** Whether the platform has everything that the record says, the leaving date aside. */
export function holdsAsideFromDate(identity: Held, record: IdentityRecord): boolean {
  return timedFieldsOf(record).every((field) => record[field] === undefined || identity[field] === record[field])
}

/** Whether two leaving dates are the same, whatever precision they are written with. */
export function sameDate(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b
  return Date.parse(a) === Date.parse(b)
}
