import { setTimeout as sleep } from 'node:timers/promises'
import { bulkhead } from 'cockatiel'
import type { Pool } from '../../database/pool.ts'
import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import { type Budget, ownBudget, sharedBudget, type Window } from './budget.ts'
import { type Circuit, type CircuitOptions, createCircuit } from './circuit.ts'
import { failureOf, isPlatformFailing } from './classify-answers.ts'

/** Every request to one platform goes through its rate limiter. */
export type RateLimiter = {
  /**
   * Sends a request as soon as fewer than the permitted number are in flight and the budget has one left. While the circuit is
   * open nothing is sent, and the answer says so. Rejects when `signal` aborts before the request has gone out.
   */
  send<A extends AnyAnswer>(request: () => Promise<A>, signal: AbortSignal): Promise<A | Unreachable>
  /** For work that can wait: keeps the last 20 % of the budget and one slot in flight free for other work. */
  readonly lowPriority: RateLimiter
  /** Stops all requests of all processes for this long, because the platform asked to wait. */
  pause(delayMs: number): Promise<void>
  /** How many requests remain in the current window, when it ends, and whether the circuit of this process is open. */
  readBudget(): Promise<{ readonly remaining: number; readonly remainingMs: number; readonly isOpen: boolean }>
}

/** The limits of one platform, and where its budget is stored. */
export type RateLimiterOptions = {
  /** Where the budget is stored, shared by all processes of this store; null: in memory, for a process without a store. */
  readonly pool: Pool | null
  /** The platform that the budget is for. */
  readonly platform: string
  readonly requestsPerMinute: number
  readonly inFlight: number
  readonly circuit?: CircuitOptions
}

/** Low-priority work leaves this share of the budget to other work, and uses it only in the same last share of a window. */
const reservedShare = 0.2

const defaultCircuit: CircuitOptions = { failures: 5, firstMs: 5000, maxMs: 60_000 }

/** The rate limiter of one platform: a budget for all processes, and a circuit and a number of requests in flight for this process. */
export function createRateLimiter({
  pool,
  platform,
  requestsPerMinute,
  inFlight,
  circuit = defaultCircuit,
}: RateLimiterOptions): RateLimiter {
  const window = windowOf(requestsPerMinute)
  const budget = pool ? sharedBudget(pool, platform, window) : ownBudget(window)
  const slots = bulkhead(inFlight, Number.POSITIVE_INFINITY)
  const lowPrioritySlots = bulkhead(Math.max(1, inFlight - 1), Number.POSITIVE_INFINITY)
  const taking = bulkhead(1, Number.POSITIVE_INFINITY)
  const breaker = createCircuit<AnyAnswer>(circuit, isPlatformFailing)
  const watched = outageWatch(budget)

  const shared: Omit<RateLimiter, 'send' | 'lowPriority'> = {
    async readBudget() {
      const state = await budget.read()
      return {
        remaining: state?.remaining ?? window.requests,
        remainingMs: state?.remainingMs ?? 0,
        isOpen: breaker.isOpen,
      }
    },
    async pause(delayMs) {
      if (delayMs > 0) await budget.pause(delayMs)
    },
  }
  const lowPriority: RateLimiter = {
    ...shared,
    get lowPriority() {
      return lowPriority
    },
    async send(request, signal) {
      // One after the other: several requests that read the budget at the same time would together use up the reserve.
      const takeUnreserved = async () => {
        await awaitUnreserved(budget, window, signal)
        return await take(budget, signal)
      }
      const sendInSlot = async () => await watched(request, await taking.execute(takeUnreserved, signal))
      const inSlot = async () => await slots.execute(sendInSlot, signal)
      return await withinCircuit(breaker, async () => await lowPrioritySlots.execute(inSlot, signal), signal)
    },
  }
  return {
    ...shared,
    lowPriority,
    async send(request, signal) {
      const sendInSlot = async () => await watched(request, await take(budget, signal))
      return await withinCircuit(breaker, async () => await slots.execute(sendInSlot, signal), signal)
    },
  }
}

async function withinCircuit<A extends AnyAnswer>(
  breaker: Circuit<AnyAnswer>,
  send: () => Promise<A>,
  signal: AbortSignal,
): Promise<A | Unreachable> {
  try {
    const outcome = await breaker.run(send, signal)
    return 'answer' in outcome ? outcome.answer : withheldAnswer(outcome.withheldMs)
  } catch (error) {
    // Whatever noticed the abort first, the reason is that of the signal.
    signal.throwIfAborted()
    throw error
  }
}

type BudgetGrant = { readonly isFailing: boolean }

/** Returns a function that makes a request and records in the budget whether the platform answers. */
function outageWatch(budget: Budget) {
  /** The newest request of this process failed; another process may have seen an answer since. */
  let isFailing = false
  return async <A extends AnyAnswer>(request: () => Promise<A>, { isFailing: wasFailing }: BudgetGrant): Promise<A> => {
    const answer = await request()
    const failure = failureOf(answer)
    // An error of the budget must not replace the answer.
    if (failure !== null) {
      isFailing = true
      await budget.recordFailure(failure).catch(() => undefined)
    } else if ((wasFailing || isFailing) && answer.status !== 'unreachable') {
      isFailing = false
      await budget.endOutage().catch(() => undefined)
    }
    return answer
  }
}

/**
 * A window of about six seconds with a tenth of the budget: requests cannot pile up at the border of two windows, so no minute, wherever it
 * begins, sees more than eleven tenths. 450 a minute stay below the platform's 500.
 */
function windowOf(requestsPerMinute: number): Window {
  const requests = Math.max(1, Math.floor(requestsPerMinute / 10))
  return { requests, ms: Math.ceil((requests * 60_000) / requestsPerMinute) }
}

async function take(budget: Budget, signal: AbortSignal): Promise<BudgetGrant> {
  for (;;) {
    signal.throwIfAborted()
    const { waitMs, isFailing } = await budget.take()
    if (waitMs === 0) return { isFailing }
    await sleep(waitMs, undefined, { signal })
  }
}

/** Waits until more than the reserve remains in the budget, or its window is nearly over. */
async function awaitUnreserved(budget: Budget, { requests, ms }: Window, signal: AbortSignal): Promise<void> {
  const reserved = Math.floor(requests * reservedShare)
  const lastMs = ms * reservedShare
  for (;;) {
    signal.throwIfAborted()
    const state = await budget.read()
    if (state === null || state.remaining > reserved || state.remainingMs <= lastMs) return
    await sleep(state.remainingMs - lastMs, undefined, { signal })
  }
}

function withheldAnswer(retryAfterMs: number): Unreachable {
  const message = 'the platform failed several times in a row; no request is sent for a while'
  return { status: 'unreachable', reason: 'withheld', message, sent: false, retryAfterMs }
}
