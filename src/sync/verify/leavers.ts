import type { LeaverFinding } from '../../contract/control/leavers.ts'
import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import { targetOf } from '../../store/connections/connections.ts'
import {
  type CheckResult,
  claimChecks,
  employedWithEmail,
  type LeaverCheck,
  recordCheckResults,
} from '../../store/leavers/checks.ts'
import type { Platform, SyncContext } from '../context/context.ts'
import { classifyAnswer, classifyRefusal } from '../rate-limit/classify-answers.ts'
import { type Endpoint, request } from '../target/endpoint.ts'

const formerStatuses = [
  'FORMER_EMPLOYEE',
  'FORMER_CONTRACTOR',
  'SPECIAL_FORMER_EMPLOYEE',
  'SPECIAL_FORMER_CONTRACTOR',
] as const
const isFormer = (status: string): boolean => (formerStatuses as readonly string[]).includes(status)

/** Above this number of people, a list of former people costs fewer requests than single look-ups. */
const defaultMaxLookUps = 20
const listSize = 500
const maxClaimed = 10_000
/** Maximum time that a run waits for this verification. The rest is verified later. */
const timeoutMs = 30_000

type VerifyLeaversInput = {
  readonly connections: readonly string[]
  readonly all?: boolean
  readonly maxLookUps?: number
  readonly signal: AbortSignal
}
type Finding = Omit<CheckResult, 'id'>
type CheckWithEmail = LeaverCheck & { readonly email: string }
/** The finding about one person, or why no further person can be read. */
type CheckOutcome = { readonly of: Finding } | { readonly stop: LeaverFinding }

/**
 * Verifies in the platform's personnel whether acknowledged departures of the people who are due have taken effect. It only reads, within the
 * rate limit. Failures are recorded with the departures: nothing else waits for it or fails because of it.
 */
export async function verifyLeavers(
  ctx: SyncContext,
  { connections, all = false, maxLookUps = defaultMaxLookUps, signal }: VerifyLeaversInput,
): Promise<void> {
  const { db } = ctx.store
  const now = ctx.now()
  const claimed = await claimChecks(db, { connections, all, limit: maxClaimed, now })
  if (claimed.length === 0) return
  const endpoint = {
    platform: ctx.platform,
    connectionId: 0,
    records: null,
    requests: 0,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }
  const saveResults: SaveResults = (results) => recordCheckResults(db, results, now)
  try {
    const people = claimed.filter((person): person is CheckWithEmail => person.email !== null)
    await saveResults(
      claimed.filter(({ email }) => email === null).map(({ id }) => ({ id, ...findingWithoutStatus('no_email') })),
    )
    // A search has only the people of these connections, and may be some seconds old. The plain list has everybody as they are now.
    const targets = await Promise.all(connections.map((name) => targetOf(db, name)))
    const connectionIds = targets.flatMap(({ id }) => id ?? [])
    const unfound =
      people.length > maxLookUps ? await readSearch(endpoint, people, { connectionIds, saveResults }) : people
    const remaining = unfound.length > maxLookUps ? await readList(endpoint, unfound, saveResults) : unfound
    // The others stay due, and come first next time.
    const selected = remaining.slice(0, maxLookUps)
    await readEach(endpoint, selected, saveResults, await employedWithEmail(db, selected))
  } catch (error) {
    if (!endpoint.signal.aborted) ctx.events.unexpected({ during: 'leavers', error })
  }
}

function findingWithoutStatus(finding: LeaverFinding): Finding {
  return { visible: false, status: null, finding, detail: null }
}

type SaveResults = (results: readonly CheckResult[]) => Promise<void>

type Search = { readonly connectionIds: readonly number[]; readonly saveResults: SaveResults }
type RefusedAnswer = WalkInterrupted['answer']

/** Saves results for the former people of these connections whom a search finds; returns the others, and everybody if it is refused. */
async function readSearch(
  endpoint: Endpoint,
  people: readonly CheckWithEmail[],
  { connectionIds, saveResults }: Search,
): Promise<readonly CheckWithEmail[]> {
  if (connectionIds.length === 0) return people
  const list = (input: Parameters<Platform['client']['searchPersonnel']>[0]) =>
    request(endpoint, (client, options) => client.searchPersonnel(input, options))
  const listed = walk(list, { query: { ...formerPeople, 'hrisConnectionIds[]': [...connectionIds] } })
  const statuses = await readStatuses(listed, people)
  return 'refused' in statuses ? people : saveFormer(people, statuses.byEmail, saveResults)
}

/** Saves results for the people in the list of former people; returns the others. */
async function readList(
  endpoint: Endpoint,
  people: readonly CheckWithEmail[],
  saveResults: SaveResults,
): Promise<readonly CheckWithEmail[]> {
  const list = (input: Parameters<Platform['client']['listPersonnel']>[0]) =>
    request(endpoint, (client, options) => client.listPersonnel(input, options))
  const statuses = await readStatuses(walk(list, { query: formerPeople }), people)
  if (!('refused' in statuses)) return saveFormer(people, statuses.byEmail, saveResults)
  const stop = stopOf(classifyRefusal(statuses.refused)) ?? 'no_operation'
  await saveResults(people.map(({ id }) => ({ id, ...findingWithoutStatus(stop) })))
  return []
}

/** Those whose departure has just taken effect are the first. */
const formerPeople = {
  size: listSize,
  'employmentStatus[]': [...formerStatuses],
  'expand[]': ['user' as const],
  sort: 'updatedAt' as const,
  sortDir: 'DESC' as const,
}

type ListedPerson = { readonly employmentStatus: string; readonly user?: { readonly email: string } }

/** The statuses of listed people by address in lower case, as far as `people` are among them; or the answer that ended the list. */
async function readStatuses(
  listed: AsyncIterable<ListedPerson>,
  people: readonly CheckWithEmail[],
): Promise<{ readonly byEmail: ReadonlyMap<string, string> } | { readonly refused: RefusedAnswer }> {
  const byEmail = new Map<string, string>()
  const missing = new Set(people.map(({ email }) => email.toLowerCase()))
  try {
    for await (const { user, employmentStatus } of listed) {
      const email = user?.email.toLowerCase()
      if (email === undefined || !missing.delete(email)) continue
      byEmail.set(email, employmentStatus)
      if (missing.size === 0) break
    }
    return { byEmail }
  } catch (error) {
    if (error instanceof WalkInterrupted) return { refused: error.answer }
    throw error
  }
}

async function saveFormer(
  people: readonly CheckWithEmail[],
  byEmail: ReadonlyMap<string, string>,
  saveResults: SaveResults,
): Promise<readonly CheckWithEmail[]> {
  const statusOf = ({ email }: CheckWithEmail): string | undefined => byEmail.get(email.toLowerCase())
  const gone = people.filter((person) => statusOf(person) !== undefined)
  await saveResults(gone.map((person) => ({ id: person.id, ...visibleFinding(statusOf(person) ?? '') })))
  return people.filter((person) => statusOf(person) === undefined)
}

async function readEach(
  endpoint: Endpoint,
  people: readonly CheckWithEmail[],
  saveResults: SaveResults,
  employed: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [at, person] of people.entries()) {
    const read = await readOne(endpoint, person, employed)
    if ('stop' in read)
      return await saveResults(people.slice(at).map(({ id }) => ({ id, ...findingWithoutStatus(read.stop) })))
    await saveResults([{ id: person.id, ...read.of }])
  }
}

async function readOne(
  endpoint: Endpoint,
  { email }: CheckWithEmail,
  employed: ReadonlyMap<string, string>,
): Promise<CheckOutcome> {
  const answer = await request(endpoint, (client, options) =>
    client.getPersonnel({ params: { personnelId: `email:${email}` }, query: {} }, options),
  )
  const classified = classifyAnswer(answer)
  if (classified.kind === 'missing')
    return (await hasPersonnel(endpoint)) ? { of: findingWithoutStatus('no_person') } : { stop: 'no_operation' }
  if (classified.kind === 'refused') return { of: findingWithoutStatus('no_person') }
  if (classified.kind !== 'done') return { stop: stopOf(classified) ?? 'unreachable' }
  const { employmentStatus: status, statusUpdatedAt } = classified.body
  if (isFormer(status)) return { of: visibleFinding(status) }
  const other = employed.get(email.toLowerCase())
  const result = (finding: LeaverFinding, detail: string | null = null): CheckOutcome => ({
    of: { visible: false, status, finding, detail },
  })
  if (status === 'OUT_OF_SCOPE' || status === 'SERVICE_ACCOUNT') return result('out_of_scope')
  if (statusUpdatedAt !== null) return result('set_by_hand', `on ${statusUpdatedAt.slice(0, 10)}`)
  if (status === 'UNKNOWN') return result('unmatched')
  return other === undefined ? result('still_employed') : result('other_key', other)
}

function visibleFinding(status: string): Finding {
  return { visible: true, status, finding: null, detail: null }
}

/** Whether the platform has the operation: without it, it also answers as if the person were missing. */
async function hasPersonnel(endpoint: Endpoint): Promise<boolean> {
  const answer = await request(endpoint, (client, options) => client.listPersonnel({ query: { size: 1 } }, options))
  return classifyAnswer(answer).kind !== 'missing'
}

function stopOf({ kind }: { readonly kind: string }): LeaverFinding | null {
  if (kind === 'blocked') return 'not_permitted'
  return kind === 'wait' || kind === 'retry' ? 'unreachable' : null
}
