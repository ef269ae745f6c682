import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import type { HandEdit, LastSync, ShownRecord } from '../../identity/effective/cause.ts'
import type { Platform } from '../context/context.ts'
import { classifyAnswer } from '../rate-limit/classify-answers.ts'
import { type Endpoint, personParams, request } from '../target/endpoint.ts'

const syncEvent = 'USER_IDENTITY_PERSONNEL_SYNCED'
const editEvent = 'EMPLOYMENT_STATUS_UPDATED'
const pageSize = 500
/** Maximum number of pages of records changed since the last identity sync, over all connections. */
const maxChangedPages = 20
/** Maximum number of requests for records and edits, over all connections, so that a comparison of 100,000 people stays below 250 requests. */
const maxRequests = 45
/** Maximum number of pages of events of each source. Older edits are shown without a name. */
const maxEventPages = 2
/** Where people edit by hand: in the platform itself, and through its interface. */
const handSources = ['APP', 'PUBLIC_API'] as const

/** How many requests a comparison may still make for what the list of everybody does not show. */
type RequestBudget = { changedPages: number; requests: number }

/** The budget of one comparison. The rest is for pages of events. */
export function createRequestBudget(): RequestBudget {
  return { changedPages: maxChangedPages, requests: maxRequests - maxEventPages * handSources.length }
}

/** When the platform's newest identity sync ran, according to its events. Throws `WalkInterrupted` if the platform may answer later. */
export async function readLastSync(endpoint: Endpoint): Promise<LastSync> {
  const query = { type: syncEvent, size: 1, sort: 'createdAt', sortDir: 'DESC' } as const
  const answer = await request(endpoint, (client, options) => client.listEvents({ query }, options))
  const classified = classifyAnswer(answer)
  if (classified.kind === 'blocked' || classified.kind === 'missing') return 'unknown'
  if (classified.kind !== 'done') throw new WalkInterrupted(answer)
  const [newest] = classified.body.data
  return newest ? new Date(newest.createdAt) : null
}

/** Records by key, and whether these are all that changed. */
type ChangedRecords = { readonly records: ReadonlyMap<string, ShownRecord>; readonly isComplete: boolean }

/** The records of a connection that changed after a time, by key. If a page is refused or the budget is used up, those read by then. */
export async function readChangedRecords(
  endpoint: Endpoint,
  since: Date,
  budget: RequestBudget,
): Promise<ChangedRecords> {
  const changed = new Map<string, ShownRecord>()
  const maxRead = budget.changedPages * pageSize
  if (maxRead === 0) return { records: changed, isComplete: false }
  let read = 0
  const list = (input: Parameters<Platform['client']['listHrisUserIdentities']>[0]) => {
    budget.changedPages--
    budget.requests--
    return request(endpoint, (client, options) => client.listHrisUserIdentities(input, options))
  }
  const { connectionId } = endpoint
  const query = { size: pageSize, sort: 'updatedAt', sortDir: 'DESC' } as const
  const records = walk(list, { params: { connectionId }, query })
  try {
    for await (const { identityId, updatedAt, startedAt, separatedAt } of records) {
      if (Date.parse(updatedAt) <= since.getTime()) return { records: changed, isComplete: true }
      changed.set(identityId, { updatedAt, startedAt, separatedAt })
      // The next page is not requested only to be left out.
      if (++read >= maxRead) return { records: changed, isComplete: false }
    }
  } catch (error) {
    if (!(error instanceof WalkInterrupted)) throw error
    return { records: changed, isComplete: false }
  }
  return { records: changed, isComplete: true }
}

/** The identity record of a person. `unknown` if the platform cannot say. */
export async function readRecord(endpoint: Endpoint, identityId: string): Promise<ShownRecord> {
  const answer = await request(endpoint, (client, options) =>
    client.getHrisUserIdentity({ params: personParams(endpoint, identityId) }, options),
  )
  const classified = classifyAnswer(answer)
  if (classified.kind === 'done') {
    const { updatedAt, startedAt, separatedAt } = classified.body
    return { updatedAt, startedAt, separatedAt }
  }
  return classified.kind === 'missing' ? 'missing' : 'unknown'
}

/** The newest edits by hand of these people, as far as the events of the platform can be read. */
export async function readEdits(endpoint: Endpoint, people: ReadonlySet<number>): Promise<Map<number, HandEdit>> {
  const edits = new Map<number, HandEdit>()
  if (people.size === 0) return edits
  for (const source of handSources) {
    for await (const { createdAt, user, metadata } of editEvents(endpoint, source)) {
      const { kind, id } = metadata?.targetEntity ?? {}
      if (kind !== 'personnel' || typeof id !== 'number' || !people.has(id)) continue
      const known = edits.get(id)
      if (known === undefined || known.at < createdAt) edits.set(id, { by: user?.email ?? null, at: createdAt })
    }
  }
  return edits
}

async function* editEvents(endpoint: Endpoint, source: (typeof handSources)[number]) {
  const list = (input: Parameters<Platform['client']['listEvents']>[0]) =>
    request(endpoint, (client, options) => client.listEvents(input, options))
  const query = {
    ...({ type: editEvent, source, size: pageSize, sort: 'createdAt', sortDir: 'DESC' } as const),
    'expand[]': ['user' as const, 'metadata' as const],
  }
  let read = 0
  try {
    for await (const event of walk(list, { query })) {
      yield event
      if (++read >= maxEventPages * pageSize) return
    }
  } catch (error) {
    if (!(error instanceof WalkInterrupted)) throw error
  }
}
