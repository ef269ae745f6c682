import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import type { HandEdit, LastSync, ShownRecord } from '../../identity/effective/cause.ts'
import type { Platform } from '../context/context.ts'
import { classifyAnswer } from '../rate-limit/classify-answers.ts'
import { type Endpoint, personParams, request } from '../target/endpoint.ts'

const syncEvent = 'USER_IDENTITY_PERSONNEL_SYNCED'
const editEvent = 'EMPLOYMENT_STATUS_UPDATED'
const pageSize = 500
/** Maximum number of pages of records changed since the last identity sync. */
const maxChangedPages = 20
/** Maximum number of pages of events of each source. Older edits are shown without a name. */
const maxEventPages = 2
/** Where people edit by hand: in the platform itself, and through its interface. */
const handSources = ['APP', 'PUBLIC_API'] as const

/** When the platform's newest identity sync ran, according to its events. */
export async function readLastSync(endpoint: Endpoint): Promise<LastSync> {
  const query = { type: syncEvent, size: 1, sort: 'createdAt', sortDir: 'DESC' } as const
  const answer = await request(endpoint, (client, options) => client.listEvents({ query }, options))
  const classified = classifyAnswer(answer)
  if (classified.kind !== 'done') return 'unknown'
  const [newest] = classified.body.data
  return newest ? new Date(newest.createdAt) : null
}

/** The records of a connection that changed after a time, by key. If a page is refused, those read by then. */
export async function readChangedRecords(endpoint: Endpoint, since: Date): Promise<Map<string, ShownRecord>> {
  const changed = new Map<string, ShownRecord>()
  const list = (input: Parameters<Platform['client']['listHrisUserIdentities']>[0]) =>
    request(endpoint, (client, options) => client.listHrisUserIdentities(input, options))
  const { connectionId } = endpoint
  const query = { size: pageSize, sort: 'updatedAt', sortDir: 'DESC' } as const
  const records = walk(list, { params: { connectionId }, query })
  try {
    for await (const { identityId, updatedAt, separatedAt } of records) {
      if (Date.parse(updatedAt) <= since.getTime() || changed.size >= maxChangedPages * pageSize) break
      changed.set(identityId, { updatedAt, separatedAt })
    }
  } catch (error) {
    if (!(error instanceof WalkInterrupted)) throw error
  }
  return changed
}

/** The identity record of a person. `unknown` if the platform cannot say. */
export async function readRecord(endpoint: Endpoint, identityId: string): Promise<ShownRecord> {
  const answer = await request(endpoint, (client, options) =>
    client.getHrisUserIdentity({ params: personParams(endpoint, identityId) }, options),
  )
  const classified = classifyAnswer(answer)
  if (classified.kind === 'done')
    return { updatedAt: classified.body.updatedAt, separatedAt: classified.body.separatedAt }
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
