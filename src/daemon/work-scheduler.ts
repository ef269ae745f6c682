import { setTimeout as after, setImmediate as nextTurn } from 'node:timers/promises'
import type { YieldToShortWork } from '../sync/context/context.ts'
import { minRowsOfLongRun } from '../sync/context/enqueue.ts'

/** So long short work goes first, whatever waits for it, and for each second of long work it may be so many seconds more. */
const patience = { mostMs: 2000, perWorked: 3 }
/** For so long after short work was enqueued, or ended, the next piece of it may be on its way through the queue. */
const comesWithinMs = { enqueued: 200, ended: 50 }
/** If a piece of long work that went on beside short work takes longer than this, the next one does not wait for its end. */
const pieceMs = 250

/** The order in which the jobs of one process go on. It has one processor for all of them. */
export type WorkScheduler = {
  /** Does what is not known to be long. It counts as long from when it says that it has read as many rows as a long run. */
  short(work: (yieldToShortWork: YieldToShortWork) => Promise<void>): Promise<void>
  /** Does long work, which gives way to short work between any two of its pieces. */
  long(work: (yieldToShortWork: YieldToShortWork) => Promise<void>): Promise<void>
  /** Says that short work was enqueued. */
  expectShort(): void
}

/** The time of a machine, in milliseconds, and how to wait for it. The wait rejects once the signal aborts. */
export type Clock = { nowMs(): number; wait(ms: number, signal: AbortSignal): Promise<void> }

const machineClock: Clock = {
  nowMs: () => performance.now(),
  wait: (ms, signal) => after(ms, undefined, { signal }),
}

/**
 * Long work waits while short work is under way or about to come. If that does not end, a piece of long work goes on now and then, one at a
 * time and in the order in which they came: for each second of them, short work has three.
 */
export function createWorkScheduler(clock: Clock = machineClock): WorkScheduler {
  let shortOnes = 0
  let comesUntilMs = Number.NEGATIVE_INFINITY
  /** How much longer short work may go first, in milliseconds. */
  let leftMs = patience.mostMs
  const waiting: (() => void)[] = []
  let isLetting = false
  /** Whose piece goes on beside short work, and since when. */
  let passing: { readonly who: object; readonly sinceMs: number } | null = null
  let changed = Promise.withResolvers<void>()
  let lastTurn = Promise.resolve()

  function isQuiet(): boolean {
    return shortOnes === 0 && comesUntilMs <= clock.nowMs()
  }

  function note(): void {
    changed.resolve()
    changed = Promise.withResolvers()
  }

  function expectFor(ms: number): void {
    comesUntilMs = Math.max(comesUntilMs, clock.nowMs() + ms)
  }

  function endShort(): void {
    shortOnes--
    expectFor(comesWithinMs.ended)
    note()
  }

  /** Lets those that wait go on, until none is left. */
  async function letPass(): Promise<void> {
    if (isLetting) return
    isLetting = true
    while (waiting.length > 0) {
      if (passing !== null && clock.nowMs() - passing.sinceMs >= pieceMs) passing = null
      if (isQuiet()) for (const pass of waiting.splice(0)) pass()
      else if (leftMs <= 0 && passing === null) waiting.shift()?.()
      else await untilChanged()
    }
    isLetting = false
  }

  /** Waits until something has changed, or the time for that has come. */
  async function untilChanged(): Promise<void> {
    const sinceMs = clock.nowMs()
    const quietMs = shortOnes > 0 ? Number.POSITIVE_INFINITY : comesUntilMs - sinceMs
    const passedMs = passing === null ? leftMs : passing.sinceMs + pieceMs - sinceMs
    const timer = new AbortController()
    const isOver = clock.wait(Math.min(quietMs, passedMs), timer.signal).catch(() => {})
    const isUsed = passing === null
    await Promise.race([changed.promise, isOver])
    timer.abort()
    if (isUsed) leftMs = Math.max(0, leftMs - (clock.nowMs() - sinceMs))
  }

  /** Gives way as long work does. It is told when the work has ended. */
  function patiently(): { readonly yieldToShortWork: YieldToShortWork; end(): void } {
    const self = {}
    let sinceMs = clock.nowMs()

    function endPiece(): void {
      leftMs = Math.min(patience.mostMs, leftMs + (clock.nowMs() - sinceMs) * patience.perWorked)
      if (passing?.who === self) passing = null
      note()
    }

    return {
      async yieldToShortWork() {
        endPiece()
        // What has come meanwhile is seen first, and between the pieces of any two.
        lastTurn = lastTurn.then(() => nextTurn())
        await lastTurn
        if (!isQuiet()) {
          await new Promise<void>((resolve, reject) => {
            waiting.push(() => {
              if (!isQuiet()) passing = { who: self, sinceMs: clock.nowMs() }
              resolve()
            })
            letPass().catch(reject)
          })
        }
        sinceMs = clock.nowMs()
      },
      end: endPiece,
    }
  }

  return {
    async short(work) {
      shortOnes++
      let long: ReturnType<typeof patiently> | null = null
      try {
        await work(async (read) => {
          if (long === null && (read?.rows ?? 0) >= minRowsOfLongRun) {
            long = patiently()
            endShort()
          }
          await long?.yieldToShortWork(read)
        })
      } finally {
        if (long === null) endShort()
        else (long as ReturnType<typeof patiently>).end()
      }
    },
    async long(work) {
      const { yieldToShortWork, end } = patiently()
      try {
        await work(yieldToShortWork)
      } finally {
        end()
      }
    },
    expectShort: () => expectFor(comesWithinMs.enqueued),
  }
}
