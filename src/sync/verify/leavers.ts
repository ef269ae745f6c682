import type { LeaverFinding } from '../../contract/control/leavers.ts'
import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import {
  type CheckResult,
  claimChecks,
  employedWithEmail,
  type LeaverCheck,
  recordCheckResults,
} from '../../store/leavers/checks.ts'
import type { Platform, SyncContext } from '../context/context.ts'
import { type Endpoint, request } from '../target/endpoint.ts'
import { classifyAnswer, classifyRefusal } from '../rate-limit/classify-answers.ts'

const formerStatuses = [
  'FORMER_EMPLOYEE',
  'FORMER_CONTRACTOR',
  'SPECIAL_FORMER_EMPLOYEE',
  'SPECIAL_FORMER_CONTRACTOR',
] as const
const isFormer = (status: string): boolean => (formerStatuses as readonly string[]).includes(status)

/** Above so many people, the list of people who have left costs fewer requests than asking for each. */
const defaultMaxLookUps = 20
const listSize = 500
const maxClaimed = 10_000
/** A run waits no longer for it than this; what was not read comes later. */
const timeoutMs = 30_000

type VerifyLeaversInput = {
  readonly connections: readonly string[]
  readonly all?: boolean
  readonly maxLookUps?: number
  readonly signal: AbortSignal
}
type Finding = Omit<CheckResult, 'id'>
type Addressed = LeaverCheck & { readonly email: string }
/** What was found of one person; or what keeps all others from being read as well. */
type Read = { readonly of: Finding } | { readonly stop: LeaverFinding }

/**
 * Reads in the platform's personnel whether departures that it acknowledged have taken effect, of people whose turn it is. Only reads,
 * at the pace of deliveries. Whatever goes wrong is noted with the departures: nothing else waits for it or fails because of it.
 */
export async function verifyLeavers(
  ctx: SyncContext,
  { connections, all = false, maxLookUps: mostAsked = defaultMaxLookUps, signal }: VerifyLeaversInput,
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
  const note = (results: readonly CheckResult[]): Promise<void> => recordCheckResults(db, results, now)
  try {
    const people = claimed.filter((person): person is Addressed => person.email !== null)
    await note(claimed.filter(({ email }) => email === null).map(({ id }) => ({ id, ...nothing('no_email') })))
    const left = people.length > mostAsked ? await readList(endpoint, people, note) : people
    // The others stay due, and come first at the next turn.
    const asked = left.slice(0, mostAsked)
    await readEach(endpoint, asked, note, await employedWithEmail(db, asked))
  } catch (error) {
    if (!endpoint.signal.aborted) ctx.events.unexpected({ during: 'leavers', error })
  }
}

function nothing(finding: LeaverFinding): Finding {
  return { visible: false, status: null, finding, detail: null }
}

type SaveResults = (results: readonly CheckResult[]) => Promise<void>

/** Notes who stands in the list of people who have left; answers the others. */
async function readList(
  endpoint: Endpoint,
  people: readonly Addressed[],
  note: SaveResults,
): Promise<readonly Addressed[]> {
  const statuses = new Map<string, string>()
  const list = (input: Parameters<Platform['client']['listPersonnel']>[0]) =>
    request(endpoint, (client, options) => client.listPersonnel(input, options))
  try {
    const query = { size: listSize, 'employmentStatus[]': [...formerStatuses], 'expand[]': ['user' as const] }
    for await (const { user, employmentStatus } of walk(list, { query })) {
      if (user) statuses.set(user.email.toLowerCase(), employmentStatus)
    }
  } catch (error) {
    if (!(error instanceof WalkInterrupted)) throw error
    const stop = stopOf(classifyRefusal(error.answer)) ?? 'no_operation'
    await note(people.map(({ id }) => ({ id, ...nothing(stop) })))
    return []
  }
  const statusOf = ({ email }: Addressed): string | undefined => statuses.get(email.toLowerCase())
  const gone = people.filter((person) => statusOf(person) !== undefined)
  await note(gone.map((person) => ({ id: person.id, ...visible(statusOf(person) ?? '') })))
  return people.filter((person) => statusOf(person) === undefined)
}

async function readEach(
  endpoint: Endpoint,
  people: readonly Addressed[],
  note: SaveResults,
  employed: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [at, person] of people.entries()) {
    const read = await readOne(endpoint, person, employed)
    if ('stop' in read) return await note(people.slice(at).map(({ id }) => ({ id, ...nothing(read.stop) })))
    await note([{ id: person.id, ...read.of }])
  }
}

async function readOne(endpoint: Endpoint, { email }: Addressed, employed: ReadonlyMap<string, string>): Promise<Read> {
  const answer = await request(endpoint, (client, options) =>
    client.getPersonnel({ params: { personnelId: `email:${email}` }, query: {} }, options),
  )
  const classified = classifyAnswer(answer)
  if (classified.kind === 'missing')
    return (await hasPersonnel(endpoint)) ? { of: nothing('no_person') } : { stop: 'no_operation' }
  if (classified.kind === 'refused') return { of: nothing('no_person') }
  if (classified.kind !== 'done') return { stop: stopOf(classified) ?? 'unreachable' }
  const { employmentStatus: status, statusUpdatedAt } = classified.body
  if (isFormer(status)) return { of: visible(status) }
  const other = employed.get(email.toLowerCase())
  const found = (finding: LeaverFinding, detail: string | null = null): Read => ({
    of: { visible: false, status, finding, detail },
  })
  if (status === 'OUT_OF_SCOPE' || status === 'SERVICE_ACCOUNT') return found('out_of_scope')
  if (statusUpdatedAt !== null) return found('set_by_hand', `on ${statusUpdatedAt.slice(0, 10)}`)
  if (status === 'UNKNOWN') return found('unmatched')
  return other === undefined ? found('still_employed') : found('other_key', other)
}

function visible(status: string): Finding {
  return { visible: true, status, finding: null, detail: null }
}

/** A platform without the operation says of it what it says of a person who is not there. */
async function hasPersonnel(endpoint: Endpoint): Promise<boolean> {
  const answer = await request(endpoint, (client, options) => client.listPersonnel({ query: { size: 1 } }, options))
  return classifyAnswer(answer).kind !== 'missing'
}

function stopOf({ kind }: { readonly kind: string }): LeaverFinding | null {
  if (kind === 'blocked') return 'not_permitted'
  return kind === 'wait' || kind === 'retry' ? 'unreachable' : null
}
