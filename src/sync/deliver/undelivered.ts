/*
 * A platform that always fails on one person must not keep the run of that person open, because every later run of the connection, with the
 * departures of the next export, waits for it. Such a person is closed as a problem, in doubt, and tried again by later runs.
 */
import type { AnyAnswer } from '../../http/client/answer.ts'
import type { PersonOutcome } from '../../store/deliveries/outcomes.ts'
import { isOverdue, knownUndelivered, markUndeliveredInDoubt } from '../../store/deliveries/undelivered.ts'
import { waitingRunsOf } from '../../store/runs/runs.ts'
import { classifyAnswer, mayBeCausedByRequest, type Stop } from '../rate-limit/classify-answers.ts'
import { request, requireRecords } from '../target/endpoint.ts'
import { type Attempt, type ClosingRule, saveOutcomes } from './attempt.ts'

/**
 * How often a batch must have failed before people are closed for the first time; those whom an earlier run closed may be closed again after
 * one failure. Time alone is not enough: a corrected clock jumps by hours.
 */
const minFailures = 3

/**
 * Which people may be closed if the platform fails on them again. Null: nobody. Nobody may be closed unless the platform answers a small
 * request now: if it is unreachable, the failure is not about a person.
 */
export async function readClosingRule(attempt: Attempt, identityIds: readonly string[]): Promise<ClosingRule | null> {
  const { ctx, claim } = attempt
  if (claim.failures === 0) return null
  const { connection, hasProblems } = claim
  const canCloseAnyone = claim.failures >= minFailures && isOverdue(claim.failingSince, ctx.now())
  const closedBefore = hasProblems
    ? await knownUndelivered(ctx.store.db, { connection, identityIds })
    : new Set<string>()
  if (!canCloseAnyone && closedBefore.size === 0) return null
  return (await isAnswering(attempt)) ? { canCloseAnyone, closedBefore } : null
}

async function isAnswering(attempt: Attempt): Promise<boolean> {
  const { connectionId, records } = attempt
  const query = { size: 1 }
  const answer = await request<AnyAnswer>(attempt, (client, options) =>
    records === null
      ? client.listHrisUserIdentities({ params: { connectionId }, query }, options)
      : client.listCustomDataRecords({ params: requireRecords(attempt).params, query }, options),
  )
  return classifyAnswer(answer).kind === 'done'
}

/**
 * Closes the people on whom the platform has failed for too long. Returns why the attempt stopped if somebody is still due. While
 * deliveries of the batch still succeed, only people whom an earlier run has closed are closed again: further attempts divide the failing
 * requests until they contain one person each.
 */
export async function closeUndelivered(attempt: Attempt, stop: Stop | null): Promise<Stop | null> {
  if (stop === null || attempt.closingRule === null) return stop
  const toClose = attempt.claim.kind === 'session' ? await recordsToClose(attempt, stop) : peopleToClose(attempt)
  if (toClose.size === 0) return stop
  const outcomes = [...toClose].map(([identityId, { status, code, message }]): PersonOutcome => {
    return { identityId, state: 'problem', answer: { status, code, message } }
  })
  const { ctx, claim } = attempt
  attempt.undelivered = toClose.size
  await markUndeliveredInDoubt(ctx.store.db, claim, { identityIds: [...toClose.keys()], now: ctx.now() })
  await saveOutcomes(attempt, outcomes, ctx.now())
  return attempt.pending === 0 ? null : stop
}

function peopleToClose({ closingRule, failedAlone, recordedCount, closedIds }: Attempt): ReadonlyMap<string, Stop> {
  const isClosable = (identityId: string) =>
    closingRule?.closedBefore.has(identityId) || (closingRule?.canCloseAnyone && recordedCount === 0)
  const closed = new Set(closedIds)
  return new Map([...failedAlone].filter(([identityId]) => isClosable(identityId) && !closed.has(identityId)))
}

/** A session fails as a whole. It is closed only if another run waits, because that run may bring a set of records that the platform accepts. */
async function recordsToClose(attempt: Attempt, stop: Stop): Promise<ReadonlyMap<string, Stop>> {
  const { ctx, claim, read, closedIds } = attempt
  if (!mayBeCausedByRequest(stop) || (await waitingRunsOf(ctx.store.db, claim.connection)).length === 0)
    return new Map()
  const closed = new Set(closedIds)
  const open = read?.changes.filter(({ identityId }) => !closed.has(identityId)) ?? []
  return new Map(open.map(({ identityId }) => [identityId, stop]))
}
