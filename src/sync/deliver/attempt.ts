import { undeliveredCodes } from '../../contract/failures.ts'
import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import type { IdentityRecord } from '../../identity/record.ts'
import { type ClaimedDelivery, stillHolds, storeStep } from '../../store/deliveries/claim.ts'
import { type PersonOutcome, type RequestOutcome, recordOutcomes } from '../../store/deliveries/outcomes.ts'
import type { PendingBatch, PendingChange, Step } from '../../store/deliveries/pending.ts'
import type { SyncContext } from '../context/context.ts'
import { Overtaken } from '../context/overtaken.ts'
import { isUncertain, mayBeCausedByRequest, type RefusedAnswer, type Stop } from '../rate-limit/classify-answers.ts'
import { type Call, type Endpoint, request } from '../target/endpoint.ts'
import { auditEntriesOf } from './audit-entries.ts'

/** One attempt at a batch: its dependencies and its progress. deliver.ts describes its states. */
export type Attempt = Endpoint & {
  readonly ctx: SyncContext
  readonly claim: ClaimedDelivery
  /** A batch of updates with more people than this goes through the batch upsert. */
  readonly updateWave: number
  /** The changes that were due when it began; null until they are read. */
  read: PendingBatch | null
  /** The same by key; built when first needed. */
  changes: ReadonlyMap<string, PendingChange> | null
  /** How many people of the batch are due. */
  pending: number
  /** The keys of those who have a leaving date. */
  leavers: ReadonlySet<string>
  /** How many outcomes this attempt has recorded. */
  recordedCount: number
  /** The keys of the people whom it has closed: they are no longer due. */
  readonly closedIds: string[]
  /** Failures of requests, or items of an answer, about a single person. */
  readonly failedAlone: Map<string, Stop>
  /** Which people are closed as undelivered if the platform fails on them; null: nobody. */
  closingRule: ClosingRule | null
  /** How many people it has closed as undelivered. */
  undelivered: number
  /** A request may have reached the platform, or still may, and its outcome is unknown. */
  uncertain: boolean
  /** It has cleared leaving dates, so dates that were read before may be outdated. */
  hasCleared: boolean
  /** One of several concurrent requests threw: no further one begins. */
  isAborted: boolean
  /** The outcome if the platform took all remaining people as desired; written with the end of the attempt. */
  batchOutcome: RequestOutcome | null
}

/**
 * Who of a batch may be closed as undelivered if the platform fails on them in this attempt too. `canCloseAnyone`: the batch has failed for
 * long, so everybody may. `closedBefore`: the keys of those whom an earlier run has closed; they may in any case.
 */
export type ClosingRule = { readonly canCloseAnyone: boolean; readonly closedBefore: ReadonlySet<string> }

/** A record as JSON, with the fields that are needed without parsing it. */
export type RecordText = { readonly identityId: string; readonly separatedAt: string | null; readonly json: string }

/** The result for one record. `stored`: its leaving date on the platform afterwards. */
export type PersonResult =
  | { readonly kind: 'taken'; readonly status: number; readonly stored: string | null }
  | RefusedAnswer
  /** The person is not there, or the platform does not have the operation. */
  | { readonly kind: 'missing' }

/** Results by key. A person without a result is still due, for the reason in `stop`. */
export type Results = { readonly results: ReadonlyMap<string, PersonResult>; readonly stop: Stop | null }

/** An attempt that has read and sent nothing yet. */
export function newAttempt(ctx: SyncContext, claim: ClaimedDelivery, signal: AbortSignal): Attempt {
  return {
    ctx,
    claim,
    platform: ctx.platform,
    signal,
    connectionId: 0,
    records: null,
    updateWave: ctx.connections.get(claim.connection)?.delivery.updateWave ?? 0,
    requests: 0,
    read: null,
    changes: null,
    pending: 0,
    leavers: new Set(),
    recordedCount: 0,
    closedIds: [],
    failedAlone: new Map(),
    closingRule: null,
    undelivered: 0,
    uncertain: false,
    hasCleared: false,
    isAborted: false,
    batchOutcome: null,
  }
}

/** Parses the record of a person. */
export function parseRecord({ json }: Pick<RecordText, 'json'>): IdentityRecord {
  return JSON.parse(json)
}

/** The change of a person that was due when the attempt began. */
function findChange(attempt: Attempt, identityId: string): PendingChange | undefined {
  attempt.changes ??= new Map(attempt.read?.changes.map((change) => [change.identityId, change]))
  return attempt.changes.get(identityId)
}

/**
 * Whether the rest of a batch is sent after a stop: in a batch that has failed before, a single person may be the cause. If the platform is
 * the cause, its circuit soon opens.
 */
export function shouldContinue({ claim }: Attempt, stop: Stop): boolean {
  return claim.failures > 0 && mayBeCausedByRequest(stop)
}

/** Records that the platform failed on one person. */
export function recordFailedAlone({ failedAlone }: Attempt, identityId: string, stop: Stop): void {
  if (mayBeCausedByRequest(stop)) failedAlone.set(identityId, stop)
}

/** The fields of the batch in log events. */
export function batchRef({ claim: { runId, connection, kind: job, batch } }: Attempt) {
  return { runId, connection, job, batch }
}

/**
 * Makes a request that changes this number of people. Right before it, this checks that the attempt still owns the batch, so that a process
 * that was suspended for hours sends no old facts.
 */
export async function sendChange<A extends AnyAnswer>(
  attempt: Attempt,
  people: number,
  call: Call<A>,
): Promise<A | Unreachable> {
  const { ctx, claim } = attempt
  const answer = await request(attempt, call, async () => {
    if (!(await stillHolds(ctx.store.db, claim))) throw new Overtaken()
    // Another request may have thrown while this one waited.
    if (attempt.isAborted) throw new Error('another request of this attempt broke off')
    ctx.events.requestBegun({ ...batchRef(attempt), people })
  })
  if (isUncertain(answer)) attempt.uncertain = true
  ctx.events.requestEnded({ ...batchRef(attempt), status: statusOf(answer) })
  return answer
}

function statusOf(answer: AnyAnswer): string {
  if (answer.status === 'unreachable') return answer.reason
  return String('httpStatus' in answer ? answer.httpStatus : answer.status)
}

/** Stores the step of these corrections. */
export async function beginStep(attempt: Attempt, step: Step, identityIds: readonly string[]): Promise<void> {
  const { ctx, claim } = attempt
  if (!(await storeStep(ctx.store.db, claim, { identityIds, step }))) throw new Overtaken()
  attempt.hasCleared ||= step === 'clearing'
  recordStep(attempt, step, identityIds.length)
}

/** Logs a stored step. */
export function recordStep(attempt: Attempt, step: Step, people: number): void {
  attempt.ctx.events.stepStored({ ...batchRef(attempt), step, people })
}

/** Records outcomes. If the platform took all remaining people as desired, that is written with the end of the attempt. */
export async function saveOutcomes(attempt: Attempt, people: readonly PersonOutcome[], sentAt: Date): Promise<void> {
  if (people.length === 0) return
  const { ctx, claim } = attempt
  const now = ctx.now()
  const auditEntries = auditEntriesOf(people, {
    db: ctx.store.db,
    claim,
    changeOf: (identityId) => findChange(attempt, identityId),
    now,
  })
  // Only of these people: another one of the batch may have been refused by an earlier request of this attempt.
  const leavers = people.map(({ identityId }) => identityId).filter((identityId) => attempt.leavers.has(identityId))
  const outcome = { people, sentAt, answeredAt: now, leavers, auditEntries }
  const isBatch = people.length === attempt.pending && people.every(({ holds }) => holds === 'desired')
  if (isBatch) attempt.batchOutcome = outcome
  else if (await recordOutcomes(ctx.store.db, claim, outcome)) reportOutcomes(attempt, people)
  else throw new Overtaken()
  attempt.recordedCount += people.length
  const closed = people.filter(({ state }) => state !== 'due')
  attempt.pending -= closed.length
  for (const { identityId } of closed) attempt.closedIds.push(identityId)
}

/** Logs outcomes that are written. */
export function reportOutcomes(attempt: Attempt, people: readonly PersonOutcome[]): void {
  const { runId, connection } = attempt.claim
  const { events } = attempt.ctx
  events.outcomesRecorded({ ...batchRef(attempt), people: people.length })
  for (const { identityId, state, answer } of people) {
    if (state !== 'problem') continue
    const status = typeof answer.status === 'number' ? answer.status : 0
    if (undeliveredCodes.has(answer.code ?? '')) events.personUndelivered({ runId, connection, identityId, status })
    else events.personRefused({ runId, connection, identityId, status })
  }
}

/** The outcome of a person whom the platform refused or does not have. */
export function problemOutcome(identityId: string, result: Exclude<PersonResult, { kind: 'taken' }>): PersonOutcome {
  const { status, code, message } =
    result.kind === 'refused'
      ? result
      : { status: 404, code: 'person_missing', message: 'the platform does not know this person' }
  return { identityId, state: 'problem', answer: { status, code, message } }
}
