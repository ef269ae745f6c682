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

type Budget = RateLimiterPostgres | RateLimiterMemory

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
  let probeAtMs = 0
  const breaker = circuitBreaker(
    handleWhenResult((answer) => isPlatformFailing(answer as AnyAnswer)),
    {
      breaker: new ConsecutiveBreaker(circuit.failures),
      // The only place from which the length of a break can be learned.
      halfOpenAfter: new DelegateBackoff(({ attempt }) => {
        const breakMs = breakMsOf(attempt, circuit)
        probeAtMs = performance.now() + breakMs
        return breakMs
      }),
    },
  )

  return {
    async send(request, signal) {
      try {
        return await breaker.execute(async () => {
          return await slots.execute(async () => {
            await take(budget, platform, signal)
            return await request()
          }, signal)
        }, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof BrokenCircuitError)) throw error
        // The breaker counts in whole milliseconds of another clock, and may be one behind.
        return withheld(Math.max(0, Math.ceil(probeAtMs - performance.now())) + 1)
      }
    },
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
}

/** The limiter names its statements, and the sessions of the embedded database share their names. */
function unnamed(pool: Pool) {
  return { query: ({ text, values }: { text: string; values: unknown[] }) => pool.query(`${prepared}${text}`, values) }
}

/**
 * A tenth of the budget in every six seconds or so: requests cannot pile up at the border of two windows, so that no minute, wherever
 * it begins, sees more than eleven tenths. 450 a minute stay below the platform's 500.
 */
function windowOf(requestsPerMinute: number): { points: number; duration: number } {
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

/** Doubling, and never two processes at the same time: at least half of the bound, the rest by chance. */
function breakMsOf(attempt: number, { firstMs, mostMs }: CircuitOptions): number {
  const boundMs = Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 20))
  return boundMs / 2 + Math.random() * (boundMs / 2)
}

function withheld(retryAfterMs: number): Unreachable {
  const message = 'the platform failed several times in a row; it is left alone for a while'
  return { status: 'unreachable', reason: 'withheld', message, sent: false, retryAfterMs }
}
