import { setTimeout as sleep } from 'node:timers/promises'
import { bulkhead } from 'cockatiel'
import type { Pool } from '../../database/pool.ts'
import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import { type Budget, ownBudget, sharedBudget, type Window } from './budget.ts'
import { type CircuitOptions, createCircuit } from './circuit.ts'
import { failureOf, isPlatformFailing } from './classify-answers.ts'

/** What every request to one platform passes. */
export type RateLimiter = {
  /**
   * Sends a request as soon as fewer than the permitted number are in flight and the budget has one left. While the circuit is
   * open nothing is sent, and the answer says so. Rejects when `signal` aborts before the request has gone out.
   */
  send<A extends AnyAnswer>(request: () => Promise<A>, signal: AbortSignal): Promise<A | Unreachable>
  /** The same pace for what has time: it leaves the last of the budget, and one of the requests in flight, to whatever else there is. */
  readonly lowPriority: RateLimiter
  /** Stops all requests of all processes for so long: the platform asked for patience. */
  pause(delayMs: number): Promise<void>
  /** How many requests the budget has left in the window under way, when that ends, and whether the circuit of this process is open. */
  readBudget(): Promise<{ readonly remaining: number; readonly remainingMs: number; readonly isOpen: boolean }>
}

export type RateLimiterOptions = {
  /** Where the budget is kept, shared by all processes of this store; null: in memory, for a process without a store. */
  readonly pool: Pool | null
  /** What the budget is for. */
  readonly platform: string
  readonly requestsPerMinute: number
  readonly inFlight: number
  readonly circuit?: CircuitOptions
}

/** Patient work leaves this share of the budget, and takes it when no more than this share of its window is left. */
const reservedShare = 0.2

const defaultCircuit: CircuitOptions = { failures: 5, firstMs: 5000, maxMs: 60_000 }

/** The pace of one platform: a budget for all processes, and a circuit and a number of requests in flight for this process. */
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
  /** The newest request of this process failed; another process may have seen an answer since. */
  let isFailing = false
  const breaker = createCircuit<AnyAnswer>(circuit, isPlatformFailing)

  async function withinCircuit<A extends AnyAnswer>(
    send: () => Promise<A>,
    signal: AbortSignal,
  ): Promise<A | Unreachable> {
    try {
      const outcome = await breaker.run(send, signal)
      return 'answer' in outcome ? outcome.answer : withheld(outcome.withheldMs)
    } catch (error) {
      // Whatever noticed it first, the reason is that of the signal.
      signal.throwIfAborted()
      throw error
    }
  }

  /** Makes a request, and records whether the platform answers. What cannot be recorded must not take the place of the answer. */
  async function watched<A extends AnyAnswer>(request: () => Promise<A>, wasFailing: boolean): Promise<A> {
    const answer = await request()
    const failure = failureOf(answer)
    if (failure !== null) {
      isFailing = true
      await budget.recordFailure(failure).catch(() => undefined)
    } else if ((wasFailing || isFailing) && answer.status !== 'unreachable') {
      isFailing = false
      await budget.endOutage().catch(() => undefined)
    }
    return answer
  }

  const shared: Omit<RateLimiter, 'send' | 'lowPriority'> = {
    async readBudget() {
      const left = await budget.read()
      return {
        remaining: left?.remaining ?? window.requests,
        remainingMs: left?.remainingMs ?? 0,
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
      return await withinCircuit(async () => {
        return await lowPrioritySlots.execute(async () => {
          return await slots.execute(async () => {
            // One after the other: several that look at once would together take what they are to leave.
            const taken = await taking.execute(async () => {
              await awaitUnreserved(budget, window, signal)
              return await take(budget, signal)
            }, signal)
            return await watched(request, taken.isFailing)
          }, signal)
        }, signal)
      }, signal)
    },
  }
  return {
    ...shared,
    lowPriority: lowPriority,
    async send(request, signal) {
      return await withinCircuit(async () => {
        return await slots.execute(async () => {
          const taken = await take(budget, signal)
          return await watched(request, taken.isFailing)
        }, signal)
      }, signal)
    },
  }
}

/**
 * A tenth of the budget in every six seconds or so: requests cannot pile up at the border of two windows, so that no minute, wherever
 * it begins, sees more than eleven tenths. 450 a minute stay below the platform's 500.
 */
function windowOf(requestsPerMinute: number): Window {
  const requests = Math.max(1, Math.floor(requestsPerMinute / 10))
  return { requests, ms: Math.ceil((requests * 60_000) / requestsPerMinute) }
}

async function take(budget: Budget, signal: AbortSignal): Promise<{ readonly isFailing: boolean }> {
  for (;;) {
    signal.throwIfAborted()
    const { waitMs, isFailing } = await budget.take()
    if (waitMs === 0) return { isFailing }
    await sleep(waitMs, undefined, { signal })
  }
}

/** Waits until the budget has more left than is to be left, or its window is nearly over. */
async function awaitUnreserved(budget: Budget, { requests, ms }: Window, signal: AbortSignal): Promise<void> {
  const reserved = Math.floor(requests * reservedShare)
  const lastMs = ms * reservedShare
  for (;;) {
    signal.throwIfAborted()
    const standing = await budget.read()
    if (standing === null || standing.remaining > reserved || standing.remainingMs <= lastMs) return
    await sleep(standing.remainingMs - lastMs, undefined, { signal })
  }
}

function withheld(retryAfterMs: number): Unreachable {
  const message = 'the platform failed several times in a row; it is left alone for a while'
  return { status: 'unreachable', reason: 'withheld', message, sent: false, retryAfterMs }
}
