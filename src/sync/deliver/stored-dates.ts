import { rosterSize } from '../../store/roster/roster.ts'
import type { Lease } from '../../store/workers/leases.ts'
import { asStop, classifyAnswer, type Stop } from '../rate-limit/classify-answers.ts'
import { request } from '../target/endpoint.ts'
import { defaultSingleLookUps, listSize, lookUpPeople, singleLookUpLimit } from '../target/look-up.ts'
import type { Attempt } from './attempt.ts'

/**
 * The leaving dates on the platform, as read by the batches of one run. All batches of the run in this process share one reading of the
 * list, which is read only as far as needed: a run reads the list at most once, however many batches it has.
 */
type Reading = {
  readonly runId: string
  /** Above this number of people, reading the list costs fewer requests than single look-ups. */
  readonly maxSingleLookUps: number
  /** How many people were looked up one by one. */
  singleLookUps: number
  /** The people read so far who have a date. */
  readonly dates: Map<string, string>
  cursor: string | undefined
  readonly cursors: Set<string>
  isComplete: boolean
  /** Resolves when the batch that reads now is done; batches read one after the other. */
  turn: Promise<unknown>
}

type Dates = { readonly dates: ReadonlyMap<string, string | null>; readonly stop: Stop | null }

/** The newest reading of each connection, in each process. */
const readings = new WeakMap<Lease, Map<string, Reading>>()

/**
 * Reads the leaving dates of people who are known to be on the platform. The list may have been read earlier in the run, so do not call this
 * for people whose date this run has cleared.
 */
export async function lookUpStoredDates(attempt: Attempt, identityIds: readonly string[]): Promise<Dates> {
  const reading = await readingOf(attempt)
  const turn = reading.turn.then(() => readDates(attempt, reading, identityIds))
  reading.turn = turn.catch(() => undefined)
  return await turn
}

/** Forgets what the batches of a run have read. */
export function forgetStoredDates(lease: Lease, { connection, runId }: { connection: string; runId: string }): void {
  const ours = readings.get(lease)
  if (ours?.get(connection)?.runId === runId) ours.delete(connection)
}

async function readingOf({ ctx, claim, records }: Attempt): Promise<Reading> {
  const ours = readings.getOrInsertComputed(ctx.lease, () => new Map())
  const size = await rosterSize(ctx.store.db, claim.connection)
  const known = ours.get(claim.connection)
  if (known?.runId === claim.runId) return known
  const reading: Reading = {
    runId: claim.runId,
    maxSingleLookUps: singleLookUpLimit({ records }, size),
    singleLookUps: 0,
    dates: new Map(),
    cursor: undefined,
    cursors: new Set(),
    isComplete: false,
    turn: Promise.resolve(),
  }
  ours.set(claim.connection, reading)
  return reading
}

async function readDates(attempt: Attempt, reading: Reading, identityIds: readonly string[]): Promise<Dates> {
  const { dates } = reading
  const open = (): string[] => identityIds.filter((identityId) => !dates.has(identityId))
  const isFew = reading.singleLookUps + open().length <= defaultSingleLookUps
  // The list begins with the newest people, and a batch that is sent again is mostly about them.
  const mostPages = isFew ? 0 : open().length
  for (let pages = 0; open().length > 0 && !reading.isComplete; pages++) {
    const canAsk = reading.singleLookUps + open().length <= reading.maxSingleLookUps
    if (canAsk && pages >= mostPages) break
    const stop = await readPage(attempt, reading)
    if (stop) return { dates, stop }
  }
  // The list is complete: people without a date in it have none.
  const others: readonly [string, string | null][] = reading.isComplete ? open().map((id) => [id, null]) : []
  if (reading.isComplete || open().length === 0) return { dates: new Map([...dates, ...others]), stop: null }
  reading.singleLookUps += open().length
  const { people, stop } = await lookUpPeople(attempt, open(), { maxSingleLookUps: reading.maxSingleLookUps })
  const lookedUp = [...people.values()].map(({ identityId, separatedAt }) => [identityId, separatedAt] as const)
  return { dates: new Map([...dates, ...lookedUp]), stop }
}

async function readPage(attempt: Attempt, reading: Reading): Promise<Stop | null> {
  const { connectionId } = attempt
  const query = { size: listSize, sort: 'createdAt', sortDir: 'DESC', cursor: reading.cursor } as const
  const answer = await request(attempt, (client, options) =>
    client.listHrisUserIdentities({ params: { connectionId }, query }, options),
  )
  const classified = classifyAnswer(answer)
  if (classified.kind === 'refused' || classified.kind === 'missing') {
    // The platform may no longer know a cursor that it gave hours ago.
    const { status, message } = classified
    return reading.cursor === undefined ? asStop(classified) : restartList(reading, status, `refuses it: ${message}`)
  }
  if (classified.kind !== 'done') return classified
  const { data, pagination } = classified.body
  for (const { identityId, separatedAt } of data) if (separatedAt !== null) reading.dates.set(identityId, separatedAt)
  const cursor = pagination.cursor || undefined
  if (cursor !== undefined && reading.cursors.has(cursor)) return restartList(reading, 200, 'repeats a page of it')
  if (cursor !== undefined) reading.cursors.add(cursor)
  reading.isComplete = cursor === undefined
  reading.cursor = cursor
  return null
}

/** Makes the next attempt read the list from its beginning. */
function restartList(reading: Reading, status: number, why: string): Stop {
  reading.cursor = undefined
  reading.cursors.clear()
  return { kind: 'retry', code: 'unreadable', status, message: `the platform does not go on with its list: it ${why}` }
}
