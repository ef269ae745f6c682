import { Failure } from '../../errors.ts'
import type { AnyAnswer } from '../../http/client/answer.ts'
import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import { type IdentityRecord, type RosterEntry, timedFieldsOf } from '../../identity/record.ts'
import type { Platform, SyncConnection } from '../context/context.ts'
import {
  asStop,
  classifyAnswer,
  classifyRefusal,
  type Stop,
  unreadableRefusal,
} from '../rate-limit/classify-answers.ts'
import { type Endpoint, isRemoved, personParams, request, requireRecords } from './endpoint.ts'

/** Maximum number of people to look up one by one: for more, reading the platform's list costs fewer requests. */
export const defaultSingleLookUps = 20
/** Number of people on one page of the platform's list. */
export const listSize = 500

/** A person on the platform, with the fields that are known here. */
export type PlatformPerson = IdentityRecord & { readonly separatedAt: string | null }

/** Up to how many of `people` known people single look-ups cost fewer requests than the whole list. Records cannot be looked up one by one. */
export function singleLookUpLimit({ records }: Pick<Endpoint, 'records'>, people: number): number {
  if (records !== null) return 0
  return Math.max(defaultSingleLookUps, Math.ceil(people / listSize))
}

type LookUpOptions = {
  /** For more people than this, the list is read. */
  readonly maxSingleLookUps?: number
}

/** The people whom the platform has, and why the look-up ended early. */
type LookUpResult = { readonly people: Map<string, PlatformPerson>; readonly stop: Stop | null }

/** Looks these people up on the platform, by key. People whom it does not have are left out. */
export async function lookUpPeople(
  endpoint: Endpoint,
  identityIds: readonly string[],
  { maxSingleLookUps = defaultSingleLookUps }: LookUpOptions = {},
): Promise<LookUpResult> {
  if (endpoint.isMissing) return { people: new Map(), stop: null }
  const isOneByOne = endpoint.records === null && identityIds.length <= maxSingleLookUps
  return isOneByOne ? await lookUpOneByOne(endpoint, identityIds) : await lookUpInList(endpoint, identityIds)
}

async function lookUpOneByOne(endpoint: Endpoint, identityIds: readonly string[]): Promise<LookUpResult> {
  const people = new Map<string, PlatformPerson>()
  for (const identityId of identityIds) {
    const answer = await lookUpPerson(endpoint, identityId)
    if ('kind' in answer) return { people, stop: answer }
    if (answer.person) people.set(identityId, answer.person)
  }
  return { people, stop: null }
}

async function lookUpInList(endpoint: Endpoint, identityIds: readonly string[]): Promise<LookUpResult> {
  const people = new Map<string, PlatformPerson>()
  const requested = new Set(identityIds)
  const onPage = async (page: readonly PlatformPerson[]): Promise<boolean> => {
    for (const person of page) if (requested.has(person.identityId)) people.set(person.identityId, person)
    return people.size < requested.size
  }
  const stop = await listPeople(endpoint, onPage, { newestFirst: true })
  return { people, stop }
}

/**
 * Passes everybody in the connection of the platform to `onPage`, page by page, until that returns false. Returns why the list could not be
 * read to its end, or null.
 */
export async function listPeople(
  endpoint: Endpoint,
  onPage: (people: readonly PlatformPerson[]) => Promise<unknown>,
  { newestFirst = false }: { newestFirst?: boolean } = {},
): Promise<Stop | null> {
  if (endpoint.isMissing) return null
  const everyone = endpoint.records === null ? walkPeople(endpoint, newestFirst) : walkRecords(endpoint)
  let page: PlatformPerson[] = []
  try {
    for await (const person of everyone) {
      if (page.push(person) < listSize) continue
      if ((await onPage(page)) === false) return null
      page = []
    }
    await onPage(page)
    return null
  } catch (error) {
    if (error instanceof WalkInterrupted) return asStop(classifyRefusal(error.answer))
    throw error
  }
}

function walkPeople(endpoint: Endpoint, newestFirst: boolean): AsyncIterable<PlatformPerson> {
  const { connectionId } = endpoint
  const list = (input: Parameters<Platform['client']['listHrisUserIdentities']>[0]) =>
    request(endpoint, (client, options) => client.listHrisUserIdentities(input, options))
  const order = newestFirst ? ({ sort: 'createdAt', sortDir: 'DESC' } as const) : {}
  return walk(list, { params: { connectionId }, query: { size: listSize, ...order } })
}

async function* walkRecords(endpoint: Endpoint): AsyncGenerator<PlatformPerson> {
  const { params, shape } = requireRecords(endpoint)
  const list = (input: Parameters<Platform['client']['listCustomDataRecords']>[0]) =>
    request(endpoint, (client, options) => client.listCustomDataRecords(input, options))
  for await (const { id, attributes } of walk(list, { params, query: { size: listSize } }))
    yield { identityId: id, separatedAt: null, ...shape.fieldsOf(attributes) }
}

/** Whether the platform is known to have a person. */
export function isOnPlatform(endpoint: Pick<Endpoint, 'records'>, { confirmed }: RosterEntry): boolean {
  return confirmed !== null && !isRemoved(endpoint, confirmed)
}

/** Looks one person up on the platform, or returns why that was not possible. */
export async function existsOnPlatform(endpoint: Endpoint, identityId: string): Promise<boolean | Stop> {
  const answer = await lookUpPerson(endpoint, identityId)
  return 'kind' in answer ? answer : answer.person !== null
}

async function lookUpPerson(
  endpoint: Endpoint,
  identityId: string,
): Promise<{ readonly person: PlatformPerson | null } | Stop> {
  const answer = await request(endpoint, (client, options) =>
    client.getHrisUserIdentity({ params: personParams(endpoint, identityId) }, options),
  )
  const classified = classifyAnswer(answer)
  switch (classified.kind) {
    case 'done':
      return { person: classified.body }
    case 'missing':
    case 'refused':
      return isOwnRefusal(answer) ? { person: null } : unreadableRefusal(classified.status)
    default:
      return classified
  }
}

/** Each refusal of the platform has a number. A gateway that does not know the path answers the same status without one. */
function isOwnRefusal(answer: AnyAnswer): boolean {
  return 'error' in answer && answer.error.code !== null
}

/** Whether the platform has every value of the record. */
export function matchesRecord(identity: PlatformPerson, record: IdentityRecord): boolean {
  const { separatedAt } = record
  return (
    matchesExceptDate(identity, record) && (separatedAt === undefined || isSameDate(identity.separatedAt, separatedAt))
  )
}

/** Whether the platform has every value of the record except the leaving date. */
export function matchesExceptDate(identity: PlatformPerson, record: IdentityRecord): boolean {
  return timedFieldsOf(record).every((field) => record[field] === undefined || identity[field] === record[field])
}

/** Whether two leaving dates are the same instant, regardless of their precision. */
export function isSameDate(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b
  return Date.parse(a) === Date.parse(b)
}

/** The failure of a run that could not look people up. */
export function lookUpFailure({ name }: Pick<SyncConnection, 'name'>, stop: Stop): Failure {
  const code = stop.kind === 'blocked' ? 'blocked' : 'platform_unreachable'
  return new Failure(code, `connection "${name}" cannot be verified: ${stop.message}`)
}
