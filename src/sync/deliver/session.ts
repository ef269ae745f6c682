import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import { pluralize } from '../../identity/pluralize.ts'
import { storeSession } from '../../store/deliveries/claim.ts'
import type { PersonOutcome } from '../../store/deliveries/outcomes.ts'
import type { PendingChange } from '../../store/deliveries/pending.ts'
import { desiredRecords } from '../../store/roster/desired-records.ts'
import { getRun } from '../../store/runs/runs.ts'
import { Overtaken } from '../context/overtaken.ts'
import {
  type AnswerClass,
  asStop,
  classifyAnswer,
  classifyRefusal,
  type RefusedAnswer,
  type Stop,
} from '../rate-limit/classify-answers.ts'
import { request, requireRecords } from '../target/endpoint.ts'
import { type Attempt, parseRecord, problemOutcome, type RecordText, saveOutcomes, sendChange } from './attempt.ts'
import { deletePeople } from './one-by-one.ts'
import { shapeRefusal } from './upsert.ts'

/** How long to wait before checking again whether a session that is not ours has ended. */
const patienceMs = 60_000
/** Maximum number of refused records that are named. */
const maxNamedRefusals = 1000
const listSize = 100

type SessionState = 'IN_PROGRESS' | 'ACTIVE' | 'CANCELED' | 'ARCHIVED'
type Session = { readonly sessionId: string; readonly status: SessionState }

/**
 * Sends every record of the connection in one session, which replaces what the platform has: readers see the previous set or the new one.
 * A session that an earlier attempt left open is completed if all of it was sent, and cancelled otherwise. If any record is refused, the
 * session is cancelled, and every change of the run becomes a problem.
 */
export async function deliverSession(attempt: Attempt, pending: readonly PendingChange[]): Promise<Stop | null> {
  const { ctx, claim } = attempt
  const { db } = ctx.store
  const sentAt = ctx.now()
  const before = await closeOpenSessions(attempt)
  if (typeof before === 'object') return before
  if (before === 'completed') {
    await recordAll(attempt, pending, sentAt)
    return null
  }
  const session = `rollcall-${claim.runId}-${claim.attempt}`
  const staged = await stage(attempt, session, desiredRecords(db, claim.connection))
  if ('stop' in staged) {
    await cancel(attempt, session)
    return staged.stop
  }
  if (staged.refused.size > 0) {
    if (staged.sent > 0) await cancel(attempt, session)
    await recordRefusals(attempt, pending, { refused: staged.refused, sentAt })
    return null
  }
  // A session begins with its first record, so an empty set has none: the remaining records are deleted one by one.
  if (staged.sent === 0) return await deletePeople(attempt, pending)
  if (!(await storeSession(db, claim, session))) throw new Overtaken()
  const stop = await complete(attempt, session)
  if (stop === null) await recordAll(attempt, pending, sentAt)
  return stop
}

/** Ends the open sessions that would block a new one. `completed`: the set of this batch is already live. */
async function closeOpenSessions(attempt: Attempt): Promise<'free' | 'completed' | Stop> {
  const { claim } = attempt
  const open = await sessionsOf(attempt, 'IN_PROGRESS')
  if ('kind' in open) return open
  for (const { sessionId } of open) {
    if (sessionId === claim.session) {
      // Its completion was requested only after all of it was sent.
      const stop = await complete(attempt, sessionId)
      return stop ?? 'completed'
    }
    if (!(await isOurs(attempt, sessionId))) return notOurs(sessionId)
    const stop = await cancel(attempt, sessionId)
    if (stop !== null) return stop
  }
  if (claim.session === null) return 'free'
  const active = await sessionsOf(attempt, 'ACTIVE')
  if ('kind' in active) return active
  return active.some(({ sessionId }) => sessionId === claim.session) ? 'completed' : 'free'
}

/** Whether a session was begun by a run of this connection. */
async function isOurs({ ctx, claim }: Attempt, sessionId: string): Promise<boolean> {
  const [, runId] = /^rollcall-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-\d+$/.exec(sessionId) ?? []
  const run = runId === undefined ? null : await getRun(ctx.store.db, runId)
  return run?.connection === claim.connection
}

function notOurs(sessionId: string): Stop {
  const message = `session ${sessionId} of the connection is in progress and is not ours: the platform takes one at a time`
  // A failure and no pause, so that it is listed and alerted if it lasts.
  return { kind: 'retry', code: 'session_in_progress', status: 'session_in_progress', notBeforeMs: patienceMs, message }
}

async function sessionsOf(attempt: Attempt, status: SessionState): Promise<readonly Session[] | Stop> {
  const { params } = requireRecords(attempt)
  const sessions: Session[] = []
  try {
    const list = (input: Parameters<Attempt['platform']['client']['listCustomDataSessions']>[0]) =>
      request(attempt, (client, options) => client.listCustomDataSessions(input, options))
    for await (const session of walk(list, { params, query: { size: listSize, status } })) sessions.push(session)
    return sessions
  } catch (error) {
    if (error instanceof WalkInterrupted) return asStop(classifyRefusal(error.answer))
    throw error
  }
}

type StageResult =
  | { readonly sent: number; readonly refused: ReadonlyMap<string, RefusedAnswer> }
  | { readonly stop: Stop }

/** Uploads a set in batches, several at once. Ends with the first stop; refused records are gathered first. */
async function stage(
  attempt: Attempt,
  session: string,
  set: AsyncIterable<readonly RecordText[]>,
): Promise<StageResult> {
  const refused = new Map<string, RefusedAnswer>()
  const connection = attempt.ctx.connections.get(attempt.claim.connection)
  const limits = connection?.delivery ?? { batchSize: 1000, batchBytes: 1_000_000 }
  let sent = 0
  let stop: Stop | null = null
  const running = new Set<Promise<void>>()
  const errors: unknown[] = []
  for await (const batch of batchesOf(set, limits)) {
    if (stop !== null || errors.length > 0 || refused.size >= maxNamedRefusals) break
    const upload = async (): Promise<void> => {
      const uploaded = await uploadBatch(attempt, { session, people: batch, refused })
      if (typeof uploaded === 'number') sent += uploaded
      else stop ??= uploaded
    }
    // Two first requests would begin two sessions.
    if (sent === 0) {
      await Promise.all(running)
      if (sent === 0) {
        await upload()
        continue
      }
    }
    const task: Promise<void> = upload()
      .catch((error: unknown) => {
        attempt.isAborted = true
        errors.push(error)
      })
      .finally(() => running.delete(task))
    running.add(task)
    if (running.size >= attempt.platform.inFlight) await Promise.race(running)
  }
  await Promise.all(running)
  if (errors.length > 0) throw errors[0]
  return stop === null ? { sent, refused } : { stop }
}

async function* batchesOf(
  set: AsyncIterable<readonly RecordText[]>,
  { batchSize, batchBytes }: { readonly batchSize: number; readonly batchBytes: number },
): AsyncGenerator<readonly RecordText[]> {
  let batch: RecordText[] = []
  let bytes = 0
  for await (const page of set) {
    for (const person of page) {
      const size = Buffer.byteLength(person.json)
      if (batch.length > 0 && (batch.length >= batchSize || bytes + size > batchBytes)) {
        yield batch
        batch = []
        bytes = 0
      }
      batch.push(person)
      bytes += size
    }
  }
  if (batch.length > 0) yield batch
}

type Upload = {
  readonly session: string
  readonly people: readonly RecordText[]
  readonly refused: Map<string, RefusedAnswer>
}

/** Uploads records. A batch that is refused as a whole is halved until the refused records are alone. Returns how many the platform took. */
async function uploadBatch(attempt: Attempt, { session, people, refused }: Upload): Promise<number | Stop> {
  const { params, shape } = requireRecords(attempt)
  const fitting = people.flatMap((person) => {
    const desired = parseRecord(person)
    const fault = shape.faultOf(desired, false)
    if (fault !== null) refused.set(person.identityId, shapeRefusal(fault))
    return fault === null ? [{ person, attributes: shape.attributesOf(desired) }] : []
  })
  // The set will be cancelled in any case: the remaining records are checked only to report every fault.
  if (fitting.length === 0) return 0
  const answer = await sendChange(attempt, fitting.length, (client, options) =>
    client.uploadSessionRecords(
      { params: { ...params, sessionId: session }, body: { data: fitting.map(({ attributes }) => attributes) } },
      options,
    ),
  )
  const classified = classifyAnswer(answer)
  if (classified.kind === 'done') {
    const items = classified.body
    if (items.length !== fitting.length) return unmatchedStop(fitting.length)
    const failed = items.find(({ statusCode }) => statusCode >= 500)
    if (failed) return unmatchedStop(fitting.length)
    items.forEach(({ statusCode: status, error }, position) => {
      const person = fitting[position]?.person
      if (person === undefined || status < 400) return
      const message = error?.message ?? 'the platform gave no reason'
      refused.set(person.identityId, { kind: 'refused', code: 'item_refused', status, message })
    })
    return items.length
  }
  if (classified.kind === 'missing') return asStop(classified)
  if (classified.kind !== 'refused') return classified
  const lost = await lostSession(attempt, session)
  if (lost !== null) return lost
  const [only, ...others] = fitting
  if (only !== undefined && others.length === 0) {
    refused.set(only.person.identityId, { ...classified, code: 'person_refused' })
    return 0
  }
  const middle = Math.ceil(fitting.length / 2)
  let taken = 0
  for (const half of [fitting.slice(0, middle), fitting.slice(middle)]) {
    const uploaded = await uploadBatch(attempt, { session, people: half.map(({ person }) => person), refused })
    if (typeof uploaded !== 'number') return uploaded
    taken += uploaded
  }
  return taken
}

function unmatchedStop(people: number): Stop {
  const message = `the platform's answer left open what became of ${pluralize(people, 'record')}`
  return { kind: 'retry', code: 'results_unmatched', status: 'unknown', message }
}

/** The stop if a refusal came because the session has ended or another one is in progress; null for another reason. */
async function lostSession(attempt: Attempt, session: string): Promise<Stop | null> {
  const open = await sessionsOf(attempt, 'IN_PROGRESS')
  if ('kind' in open) return open
  const other = open.find(({ sessionId }) => sessionId !== session)
  if (other !== undefined) return notOurs(other.sessionId)
  if (open.length > 0) return null
  for (const status of ['ACTIVE', 'CANCELED', 'ARCHIVED'] as const) {
    const ended = await sessionsOf(attempt, status)
    if ('kind' in ended) return ended
    if (ended.some(({ sessionId }) => sessionId === session)) return endedByOthers(session, status)
  }
  return null
}

function endedByOthers(session: string, status: string): Stop {
  const message = `session ${session} became ${status} though nobody here ended it: all of its records are sent again`
  return { kind: 'retry', code: 'session_lost', status: 'session_lost', message }
}

/** Makes the staged set the live one. */
async function complete(attempt: Attempt, session: string): Promise<Stop | null> {
  const classified = await act(attempt, session, 'complete')
  if (classified.kind === 'done') return null
  if (classified.kind !== 'refused' && classified.kind !== 'missing') return classified
  return endedByOthers(session, 'something else')
}

/** Discards a staged set. A set that is already gone counts as discarded. */
async function cancel(attempt: Attempt, session: string): Promise<Stop | null> {
  const classified = await act(attempt, session, 'cancel')
  const isGone = classified.kind === 'done' || classified.kind === 'refused' || classified.kind === 'missing'
  return isGone ? null : classified
}

async function act(attempt: Attempt, sessionId: string, action: 'complete' | 'cancel'): Promise<AnswerClass> {
  const params = { ...requireRecords(attempt).params, sessionId }
  const answer = await sendChange(attempt, 0, (client, options) =>
    client.performSessionAction({ params, body: { action } }, options),
  )
  return classifyAnswer(answer)
}

async function recordAll(attempt: Attempt, pending: readonly PendingChange[], sentAt: Date): Promise<void> {
  const answer = { status: 200, message: 'in a session that is live' }
  const outcomes = pending.map(
    ({ identityId, json }): PersonOutcome => ({
      identityId,
      state: 'confirmed',
      holds: json === null ? { confirmed: null } : 'desired',
      answer,
    }),
  )
  await saveOutcomes(attempt, outcomes, sentAt)
}

async function recordRefusals(
  attempt: Attempt,
  pending: readonly PendingChange[],
  { refused, sentAt }: { refused: ReadonlyMap<string, RefusedAnswer>; sentAt: Date },
): Promise<void> {
  const [first] = refused
  const others: RefusedAnswer = {
    kind: 'refused',
    code: 'session_refused',
    status: first?.[1].status ?? 0,
    message: `the session was cancelled, as ${refused.size} of its records are refused (the first is ${first?.[0]}: ${first?.[1].message})`,
  }
  const outcomes = pending.map(({ identityId }) => problemOutcome(identityId, refused.get(identityId) ?? others))
  await saveOutcomes(attempt, outcomes, sentAt)
}
