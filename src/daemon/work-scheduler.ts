import { setTimeout as after, setImmediate as nextTurn } from 'node:timers/promises'
import type { YieldToShortWork } from '../sync/context/context.ts'
import { minRowsOfLongRun } from '../sync/context/enqueue.ts'

/**
 * How long short work may go before waiting long work: a budget of `maxMs`, which each second of long work refills by
 * `refillPerSecond` seconds.
 */
const shortWorkBudget = { maxMs: 2000, refillPerSecond: 3 }
/** How long more short work is expected after some was enqueued, or has ended: it may be on its way through the queue. */
const expectedMs = { afterEnqueue: 200, afterEnd: 50 }
/** If a piece of long work beside short work takes longer than this, the next piece does not wait for its end. */
const maxPieceMs = 250

/** Decides which of its jobs a process works on. All of them share one processor. */
export type WorkScheduler = {
  /** Does work that is expected to be short. It counts as long once it reports as many rows as a long run has. */
  short(work: (yieldToShortWork: YieldToShortWork) => Promise<void>): Promise<void>
  /** Does long work, which yields to short work between its pieces. */
  long(work: (yieldToShortWork: YieldToShortWork) => Promise<void>): Promise<void>
  /** Announces short work that was enqueued. */
  expectShort(): void
}

/** The time of a machine, in milliseconds, and how to wait for it. The wait rejects once the signal aborts. */
export type Clock = { nowMs(): number; wait(ms: number, signal: AbortSignal): Promise<void> }

const machineClock: Clock = {
  nowMs: () => performance.now(),
  wait: (ms, signal) => after(ms, undefined, { signal }),
}

type LongWork = { readonly yieldToShortWork: YieldToShortWork; end(): void }

/**
 * Long work waits while short work runs or is expected. If short work does not end, pieces of long work run beside it, one at a time and
 * in the order in which they came, so that short work gets three seconds for each second of long work.
 */
export function createWorkScheduler(clock: Clock = machineClock): WorkScheduler {
  let runningShort = 0
  let expectedUntilMs = Number.NEGATIVE_INFINITY
  /** How much longer short work may go first. */
  let budgetMs = shortWorkBudget.maxMs
  const waiting: (() => void)[] = []
  let isReleasing = false
  /** The long work whose piece runs beside short work, and since when. */
  let released: { readonly owner: object; readonly sinceMs: number } | null = null
  let changed = Promise.withResolvers<void>()
  let lastTurn = Promise.resolve()

  function isQuiet(): boolean {
    return runningShort === 0 && expectedUntilMs <= clock.nowMs()
  }

  function notifyChange(): void {
    changed.resolve()
    changed = Promise.withResolvers()
  }

  function expectFor(ms: number): void {
    expectedUntilMs = Math.max(expectedUntilMs, clock.nowMs() + ms)
  }

  function endShort(): void {
    runningShort--
    expectFor(expectedMs.afterEnd)
    notifyChange()
  }

  /** Releases waiting pieces of long work until none waits. */
  async function releaseWaiting(): Promise<void> {
    if (isReleasing) return
    isReleasing = true
    while (waiting.length > 0) {
      if (released !== null && clock.nowMs() - released.sinceMs >= maxPieceMs) released = null
      if (isQuiet()) for (const release of waiting.splice(0)) release()
      else if (budgetMs <= 0 && released === null) waiting.shift()?.()
      else await untilChanged()
    }
    isReleasing = false
  }

  /** Waits until something has changed, or until the next piece may be released. */
  async function untilChanged(): Promise<void> {
    const sinceMs = clock.nowMs()
    const untilQuietMs = runningShort > 0 ? Number.POSITIVE_INFINITY : expectedUntilMs - sinceMs
    const untilReleaseMs = released === null ? budgetMs : released.sinceMs + maxPieceMs - sinceMs
    const timer = new AbortController()
    const isOver = clock.wait(Math.min(untilQuietMs, untilReleaseMs), timer.signal).catch(() => {})
    const usesBudget = released === null
    await Promise.race([changed.promise, isOver])
    timer.abort()
    if (usesBudget) budgetMs = Math.max(0, budgetMs - (clock.nowMs() - sinceMs))
  }

  function startLong(): LongWork {
    const owner = {}
    let sinceMs = clock.nowMs()

    function endPiece(): void {
      const refillMs = (clock.nowMs() - sinceMs) * shortWorkBudget.refillPerSecond
      budgetMs = Math.min(shortWorkBudget.maxMs, budgetMs + refillMs)
      if (released?.owner === owner) released = null
      notifyChange()
    }

    return {
      async yieldToShortWork() {
        endPiece()
        // Between two pieces the event loop takes up what has arrived.
        lastTurn = lastTurn.then(() => nextTurn())
        await lastTurn
        if (!isQuiet()) {
          await new Promise<void>((resolve, reject) => {
            waiting.push(() => {
              if (!isQuiet()) released = { owner, sinceMs: clock.nowMs() }
              resolve()
            })
            releaseWaiting().catch(reject)
          })
        }
        sinceMs = clock.nowMs()
      },
      end: endPiece,
    }
  }

  return {
    async short(work) {
      runningShort++
      let long: LongWork | null = null
      try {
        await work(async (read) => {
          if (long === null && (read?.rows ?? 0) >= minRowsOfLongRun) {
            long = startLong()
            endShort()
          }
          await long?.yieldToShortWork(read)
        })
      } finally {
        if (long === null) endShort()
        else (long as LongWork).end()
      }
    },
    async long(work) {
      const { yieldToShortWork, end } = startLong()
      try {
        await work(yieldToShortWork)
      } finally {
        end()
      }
    },
    expectShort: () => expectFor(expectedMs.afterEnqueue),
  }
}
