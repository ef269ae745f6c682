import { setTimeout as sleep } from 'node:timers/promises'
import {
  BrokenCircuitError,
  bulkhead,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  DelegateBackoff,
  handleWhenResult,
} from 'cockatiel'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { Pool } from '../../database/pool.ts'
import { prepared } from '../../database/prepared.ts'
import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import { isPlatformFailing } from './classify-answers.ts'

/** What every request to one platform passes. */
export type Pace = {
  /**
   * Sends a request as soon as fewer than the permitted number are in flight and the budget has one left. While the circuit is
   * open nothing is sent, and the answer says so. Rejects when `signal` aborts before the request has gone out.
   */
  send<A extends AnyAnswer>(request: () => Promise<A>, signal: AbortSignal): Promise<A | Unreachable>
  /** The same pace for what has time: it leaves the last of the budget, and one of the requests in flight, to whatever else there is. */
  readonly patient: Pace
  /** Stops all requests of all processes for so long: the platform asked for patience. */
  pause(delayMs: number): Promise<void>
  /** How many requests the budget has left in the window under way, and whether the circuit of this process is open. */
  standing(): Promise<{ readonly remaining: number; readonly isOpen: boolean }>
}

export type PaceOptions = {
  /** Where the budget is kept, shared by all processes of this store; null: in memory, for a process without a store. */
  readonly pool: Pool | null
  /** What the budget is for. */
  readonly platform: string
  readonly requestsPerMinute: number
  readonly inFlight: number
  readonly circuit?: CircuitOptions
}

export type CircuitOptions = {
  /** How many requests in a row have to fail. */
  readonly failures: number
  /** How long the first break lasts at most, and the longest. */
  readonly firstMs: number
  readonly mostMs: number
}

/** So many requests in so many seconds. */
type Window = { readonly points: number; readonly duration: number }

type Budget = RateLimiterPostgres | RateLimiterMemory

/** Patient work leaves this share of the budget, and takes it when no more than this share of its window is left. */
const leftShare = 0.2

const defaultCircuit: CircuitOptions = { failures: 5, firstMs: 5000, mostMs: 60_000 }
const table = { tableName: 'request_budget', schemaName: 'rollcall', tableCreated: true, clearExpiredByTimeout: false }

/** The pace of one platform: a budget for all processes, and a circuit and a number of requests in flight for this process. */
export function createPace({
  pool,
  platform,
  requestsPerMinute,
  inFlight,
  circuit = defaultCircuit,
}: PaceOptions): Pace {
  const window = windowOf(requestsPerMinute)
  const budget: Budget = pool
    ? new RateLimiterPostgres({ ...table, ...window, storeClient: unnamed(pool), storeType: 'pool', keyPrefix: '' })
    : new RateLimiterMemory(window)
  const slots = bulkhead(inFlight, Number.POSITIVE_INFINITY)
  const patientSlots = bulkhead(Math.max(1, inFlight - 1), Number.POSITIVE_INFINITY)
  const taking = bulkhead(1, Number.POSITIVE_INFINITY)
  let breakMs = 0
  let probeAtMs = 0
  const breaker = circuitBreaker(
    handleWhenResult((answer) => isPlatformFailing(answer as AnyAnswer)),
    {
      breaker: new ConsecutiveBreaker(circuit.failures),
      // The only place from which the length of a break can be learned.
      halfOpenAfter: new DelegateBackoff(({ attempt }) => {
        breakMs = breakMsOf(attempt, circuit)
        return breakMs
      }),
    },
  )
  // After the breaker has looked at its clock: the process may stand still between the two.
  breaker.onBreak(() => {
    probeAtMs = performance.now() + breakMs
  })

  async function withinCircuit<A extends AnyAnswer>(
    send: () => Promise<A>,
    signal: AbortSignal,
  ): Promise<A | Unreachable> {
    try {
      return await breaker.execute(send, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof BrokenCircuitError)) throw error
      // The breaker counts in whole milliseconds of another clock, and may be one behind.
      return withheld(Math.max(0, Math.ceil(probeAtMs - performance.now())) + 1)
    }
  }

  const shared: Omit<Pace, 'send' | 'patient'> = {
    async standing() {
      const used = await budget.get(platform)
      return {
        remaining: Math.max(0, used?.remainingPoints ?? window.points),
        isOpen: breaker.state === CircuitState.Open,
      }
    },
    async pause(delayMs) {
      const standing = await budget.get(platform)
      const isPaused = standing !== null && standing.remainingPoints <= 0 && standing.msBeforeNext >= delayMs
      if (!isPaused && delayMs > 0) await budget.block(platform, delayMs / 1000)
    },
  }
  const patient: Pace = {
    ...shared,
    get patient() {
      return patient
    },
    async send(request, signal) {
      return await withinCircuit(async () => {
        return await patientSlots.execute(async () => {
          return await slots.execute(async () => {
            // One after the other: several that look at once would together take what they are to leave.
            await taking.execute(async () => {
              await untilSpare(budget, { platform, window, signal })
              await take(budget, platform, signal)
            }, signal)
            return await request()
          }, signal)
        }, signal)
      }, signal)
    },
  }
  return {
    ...shared,
    patient,
    async send(request, signal) {
      return await withinCircuit(async () => {
        return await slots.execute(async () => {
          await take(budget, platform, signal)
          return await request()
        }, signal)
      }, signal)
    },
  }
}

/** The limiter names its statements, and the sessions of the embedded database share their names. */
function unnamed(pool: Pool) {
  return { query: ({ text, values }: { text: string; values: unknown[] }) => pool.query(`${prepared}${text}`, values) }
}

/**
 * A tenth of the budget in every six seconds or so: requests cannot pile up at the border of two windows, so that no minute, wherever
 * it begins, sees more than eleven tenths. 450 a minute stay below the platform's 500.
 */
function windowOf(requestsPerMinute: number): Window {
  const points = Math.max(1, Math.floor(requestsPerMinute / 10))
  return { points, duration: (points * 60) / requestsPerMinute }
}

async function take(budget: Budget, platform: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    try {
      await budget.consume(platform)
      return
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      await sleep(Math.max(refusal.msBeforeNext, 1), undefined, { signal })
    }
  }
}

/** Waits until the budget has more left than is to be left, or its window is nearly over. */
async function untilSpare(
  budget: Budget,
  { platform, window: { points, duration }, signal }: { platform: string; window: Window; signal: AbortSignal },
): Promise<void> {
  const left = Math.floor(points * leftShare)
  const lastMs = duration * 1000 * leftShare
  for (;;) {
    signal.throwIfAborted()
    const standing = await budget.get(platform)
    if (standing === null || standing.remainingPoints > left || standing.msBeforeNext <= lastMs) return
    await sleep(standing.msBeforeNext - lastMs, undefined, { signal })
  }
}

/** Doubling, and never two processes at the same time: at least half of the bound, the rest by chance. */
function breakMsOf(attempt: number, { firstMs, mostMs }: CircuitOptions): number {
  const boundMs = Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 20))
  return boundMs / 2 + Math.random() * (boundMs / 2)
}

function withheld(retryAfterMs: number): Unreachable {
  const message = 'the platform failed several times in a row; it is left alone for a while'
  return { status: 'unreachable', reason: 'withheld', message, sent: false, retryAfterMs }
}
