import type { Identity } from '../../contract/platform/hris-user-identities.ts'
import { byIdentityId } from '../../contract/platform/hris-user-identities.ts'
import type { AnyAnswer, Unreachable } from '../../http/answer.ts'
import { WalkInterrupted, walk } from '../../http/walk.ts'
import type { IdentityRecord } from '../../identity/record.ts'
import { asStop, blockedBy, judgeAnswer, judgeRefusal, type Refused, type Stop } from './answers.ts'
import type { Platform } from '../context.ts'

/** Above so many people, reading pages of the platform's list costs fewer requests than asking for each. */
const readOneByOne = 20
const listSize = 500
/** How many refused batches may be sent again in halves in one attempt. */
const mostSplits = 100
const splitPauseMs = 1000

/** The way to one connection of the platform during one attempt at a batch; counts its requests. */
export type Lane = {
  readonly platform: Platform
  readonly connectionId: number
  readonly signal: AbortSignal
  requests: number
  /** Something threw in one of several requests: no further one begins. */
  isBrokenOff?: boolean
  /** Asked right before each request that changes something; what it throws ends the attempt. */
  readonly mayChange?: (people: number) => Promise<void>
  readonly changed?: (answer: AnyAnswer) => void
}

/** What the platform made of one record. `stored` is its leaving date afterwards. */
export type Sent =
  | { readonly kind: 'taken'; readonly status: number; readonly stored: string | null }
  | Refused
  /** The person is not there, or the platform does not have the operation. */
  | { readonly kind: 'missing' }

/** By key what became of whom; whoever is not named was not settled, for the reason in `stop`. */
export type Results = { readonly sent: ReadonlyMap<string, Sent>; readonly stop: Stop | null }

/** A record as JSON, and what has to be known of it without reading it. */
export type Sendable = { readonly identityId: string; readonly separatedAt: string | null; readonly json: string }

export function recordOf({ json }: Pick<Sendable, 'json'>): IdentityRecord {
  return JSON.parse(json)
}

/**
 * Sends records through the batch upsert. A batch that is refused as a whole is split in half until the guilty are alone, which
 * takes at most two requests for each level of halving and guilty person.
 */
export async function upsert(lane: Lane, people: readonly Sendable[]): Promise<Results> {
  const sent = new Map<string, Sent>()
  const unsure: Unsure[] = []
  const stop = await upsertInto({ lane, sent, unsure, splits: 0, failed: 0 }, people)
  const readStop = await settleByReading(lane, unsure, sent)
  return { sent, stop: stop ?? readStop }
}

/** Somebody of whom an answer does not tell enough; `unchanged`: the platform says that nothing differed, and only the leaving date is in doubt. */
type Unsure = { readonly person: Sendable; readonly unchanged: boolean }

type Upserting = {
  readonly lane: Lane
  readonly sent: Map<string, Sent>
  readonly unsure: Unsure[]
  splits: number
  failed: number
}

async function upsertInto(into: Upserting, people: readonly Sendable[]): Promise<Stop | null> {
  const { lane, sent, unsure } = into
  const input = {
    params: { connectionId: lane.connectionId },
    // Only for who looks at it: what is sent is the text.
    get body() {
      return people.map(recordOf)
    },
  }
  const bodyText = `[${people.map(({ json }) => json).join(',')}]`
  const answer = await change(lane, people.length, (client, options) =>
    client.upsertHrisUserIdentities(input, { ...options, bodyText }),
  )
  const judged = judgeAnswer(answer)
  switch (judged.kind) {
    case 'done': {
      const results = judged.body
      // A list of another length, or one that names another person anywhere, cannot be matched to what was sent: everybody is looked up.
      const isMatched = results.every(({ data }, position) => !data || data.identityId === people[position]?.identityId)
      if (results.length !== people.length || !isMatched) {
        unsure.push(...people.map((person) => ({ person, unchanged: false })))
        return null
      }
      results.forEach((result, position) => {
        const person = people[position]
        if (!person) return
        if (result.statusCode >= 500) into.failed++
        else if (result.statusCode >= 400) {
          const message = result.error?.message ?? 'the platform gave no reason'
          sent.set(person.identityId, { kind: 'refused', code: 'item_refused', status: result.statusCode, message })
        } else if (result.data) {
          sent.set(person.identityId, taken(result.statusCode, result.data))
        } else if (person.separatedAt) {
          // Nothing changed, which also happens where a stored leaving date kept the sent one out.
          unsure.push({ person, unchanged: true })
        } else {
          sent.set(person.identityId, { kind: 'taken', status: result.statusCode, stored: null })
        }
      })
      return into.failed === 0 ? null : itemsFailed(into.failed)
    }
    case 'missing': {
      const message = `the platform has no custom connection ${lane.connectionId}: ${judged.message}`
      return blockedBy('connection_missing', judged.status, message)
    }
    case 'refused': {
      const [only, ...others] = people
      if (only && others.length === 0) {
        sent.set(only.identityId, { ...judged, code: 'person_refused' })
        return null
      }
      if (into.splits >= mostSplits) return splittingPaused(judged)
      into.splits += 2
      const middle = Math.ceil(people.length / 2)
      return (await upsertInto(into, people.slice(0, middle))) ?? (await upsertInto(into, people.slice(middle)))
    }
    default:
      return judged
  }
}

function itemsFailed(people: number): Stop {
  const message = `the platform failed on ${people} of the people in a batch`
  return { kind: 'retry', code: 'item_failed', status: 'item_failed', message }
}

function splittingPaused({ status }: Refused): Stop {
  const message = `the platform refuses whole batches (${status}); ${mostSplits} halves were tried, the rest goes on`
  return { kind: 'wait', code: 'splitting_paused', status, delayMs: splitPauseMs, message }
}

/** Sends each record through the update operation, several at once. */
export async function update(lane: Lane, people: readonly Sendable[]): Promise<Results> {
  return await forEach(lane, people, async (person) => {
    const { identityId, ...fields } = recordOf(person)
    const answer = await change(lane, 1, (client, options) =>
      client.updateHrisUserIdentity({ params: paramsOf(lane, identityId), body: fields }, options),
    )
    const judged = judgeAnswer(answer)
    switch (judged.kind) {
      case 'done':
        return taken(judged.status, judged.body)
      case 'missing':
        return { kind: 'missing' }
      case 'refused':
        return { ...judged, code: 'person_refused' }
      default:
        return judged
    }
  })
}

/** Takes people's data off the platform; whoever is not there counts as done. */
export async function remove(lane: Lane, identityIds: readonly string[]): Promise<Results> {
  const people = identityIds.map((identityId) => ({ identityId }))
  return await forEach(lane, people, async ({ identityId }) => {
    const answer = await change(lane, 1, (client, options) =>
      client.deleteHrisUserIdentity({ params: paramsOf(lane, identityId) }, options),
    )
    const judged = judgeAnswer(answer)
    if (judged.kind === 'done' || judged.kind === 'missing')
      return { kind: 'taken', status: judged.status, stored: null }
    return judged.kind === 'refused' ? { ...judged, code: 'person_refused' } : judged
  })
}

/** Whether reading these people back takes no more than a few requests; where it takes more, sending them again is what tells most. */
export function isReadBackCheap(people: number, headcount: number): boolean {
  return people <= readOneByOne || headcount <= readOneByOne * listSize
}

/** Whether the platform holds this person, as far as it says so. */
export async function exists(lane: Lane, identityId: string): Promise<boolean | Stop> {
  const found = await readOne(lane, identityId)
  return 'kind' in found ? found : found.identity !== null
}

async function settleByReading(lane: Lane, unsure: readonly Unsure[], sent: Map<string, Sent>): Promise<Stop | null> {
  if (unsure.length === 0) return null
  const { found, stop } = await readBack(
    lane,
    unsure.map(({ person }) => person.identityId),
  )
  for (const { person, unchanged } of unsure) {
    const identity = found.get(person.identityId)
    // Who is not there, or is there with something else than was sent, is sent again in the next attempt.
    if (identity && (unchanged || holds(identity, recordOf(person)))) sent.set(person.identityId, taken(200, identity))
  }
  if (stop) return stop
  const open = unsure.filter(({ person }) => !sent.has(person.identityId)).length
  return open === 0
    ? null
    : {
        kind: 'retry',
        code: 'results_unmatched',
        status: 'unknown',
        message: `the platform's answer left open what became of ${open} people`,
      }
}

/** What the platform holds of these people; whoever it does not hold is left out. */
export async function readBack(
  lane: Lane,
  identityIds: readonly string[],
): Promise<{ found: Map<string, Identity>; stop: Stop | null }> {
  const found = new Map<string, Identity>()
  if (identityIds.length <= readOneByOne) {
    for (const identityId of identityIds) {
      const read = await readOne(lane, identityId)
      if ('kind' in read) return { found, stop: read }
      if (read.identity) found.set(identityId, read.identity)
    }
    return { found, stop: null }
  }
  const asked = new Set(identityIds)
  const stop = await listIdentities(lane, async (identities) => {
    for (const identity of identities) if (asked.has(identity.identityId)) found.set(identity.identityId, identity)
  })
  return { found, stop }
}

/** Hands everybody whom the platform's connection holds to `take`, some hundred at a time; answers what ended the walk early. */
export async function listIdentities(
  lane: Lane,
  take: (identities: readonly Identity[]) => Promise<void>,
): Promise<Stop | null> {
  const list = (input: Parameters<Platform['client']['listHrisUserIdentities']>[0]) =>
    request(lane, (client, options) => client.listHrisUserIdentities(input, options))
  let page: Identity[] = []
  try {
    for await (const identity of walk(list, {
      params: { connectionId: lane.connectionId },
      query: { size: listSize },
    })) {
      if (page.push(identity) < listSize) continue
      await take(page)
      page = []
    }
    await take(page)
    return null
  } catch (error) {
    if (error instanceof WalkInterrupted) return asStop(judgeRefusal(error.answer))
    throw error
  }
}

async function readOne(lane: Lane, identityId: string): Promise<{ identity: Identity | null } | Stop> {
  const answer = await request(lane, (client, options) =>
    client.getHrisUserIdentity({ params: paramsOf(lane, identityId) }, options),
  )
  const judged = judgeAnswer(answer)
  switch (judged.kind) {
    case 'done':
      return { identity: judged.body }
    case 'missing':
    case 'refused':
      return { identity: null }
    default:
      return judged
  }
}

/** Whether the platform has everything that the record says, the leaving date aside. */
function holds(identity: Identity, record: IdentityRecord): boolean {
  const { identityId: _key, separatedAt: _date, ...fields } = record
  return Object.entries(fields).every(([name, value]) => identity[name as keyof typeof fields] === value)
}

/** Whether the platform has everything that the record says, the leaving date too. */
export function holdsAll(identity: Identity, record: IdentityRecord): boolean {
  const { separatedAt } = record
  return holds(identity, record) && (separatedAt === undefined || sameDate(identity.separatedAt, separatedAt))
}

/** Whether two leaving dates are the same, whatever precision they are written with. */
export function sameDate(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b
  return Date.parse(a) === Date.parse(b)
}

function taken(status: number, identity: Pick<Identity, 'separatedAt'>): Sent {
  return { kind: 'taken', status, stored: identity.separatedAt }
}

function paramsOf(lane: Lane, identityId: string) {
  return { connectionId: lane.connectionId, userIdentityId: byIdentityId(identityId) }
}

type Call<A> = (client: Platform['client'], options: { signal: AbortSignal }) => Promise<A>

/** A request that changes something about so many people. */
async function change<A extends AnyAnswer>(lane: Lane, people: number, send: Call<A>): Promise<A | Unreachable> {
  const answer = await request(lane, send, async () => {
    await lane.mayChange?.(people)
    // This one may have waited for its turn since before.
    if (lane.isBrokenOff) throw new Error('another request of this attempt broke off')
  })
  lane.changed?.(answer)
  return answer
}

async function request<A extends AnyAnswer>(
  lane: Lane,
  send: Call<A>,
  first?: () => Promise<void> | undefined,
): Promise<A | Unreachable> {
  const { platform, signal } = lane
  return await platform.pace.send(async () => {
    await first?.()
    lane.requests++
    return await send(platform.client, { signal })
  }, signal)
}

/** Runs `send` for each person, `inFlight` at a time. Begins no further one after a stop or a throw, and waits for those under way. */
async function forEach<P extends { readonly identityId: string }>(
  lane: Lane,
  people: readonly P[],
  send: (person: P) => Promise<Sent | Stop>,
): Promise<Results> {
  const sent = new Map<string, Sent>()
  let stop: Stop | null = null
  const errors: unknown[] = []
  const waiting = people.values()
  const work = async (): Promise<void> => {
    for (const person of waiting) {
      if (stop || lane.isBrokenOff) return
      const result = await send(person)
      if (result.kind === 'wait' || result.kind === 'retry' || result.kind === 'blocked') stop ??= result
      else sent.set(person.identityId, result)
    }
  }
  const breakOff = (error: unknown): void => {
    lane.isBrokenOff = true
    errors.push(error)
  }
  await Promise.all(Array.from({ length: lane.platform.inFlight }, () => work().catch(breakOff)))
  if (errors.length > 0) throw errors[0]
  return { sent, stop }
}
