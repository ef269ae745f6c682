import { setTimeout as after, setImmediate as nextTurn } from 'node:timers/promises'
import { type GiveWay, longRows } from '../sync/sync.ts'

/** So long short work goes first, whatever waits for it, and for each second of long work it may be so many seconds more. */
const patience = { mostMs: 2000, perWorked: 3 }
/** For so long after short work was enqueued, or ended, the next piece of it may be on its way through the queue. */
const comesWithinMs = { enqueued: 200, ended: 50 }
/** If a piece of long work that went on beside short work takes longer than this, the next one does not wait for its end. */
const pieceMs = 250

/** The order in which the jobs of one process go on. It has one processor for all of them. */
export type Turns = {
  /** Does what is not known to be long. It counts as long from when it says that it has read as many rows as a long run. */
  short(work: (giveWay: GiveWay) => Promise<void>): Promise<void>
  /** Does long work, which gives way to short work between any two of its pieces. */
  long(work: (giveWay: GiveWay) => Promise<void>): Promise<void>
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
export function takeTurns(clock: Clock = machineClock): Turns {
  let shortOnes = 0
  let comesUntilMs = Number.NEGATIVE_INFINITY
  /** How much longer short work may go first, in milliseconds. */
  let leftMs = patience.mostMs
  const waiting: (() => void)[] = []
  let isLetting = false
  /** Whose piece goes on beside short work. */
  let passing: object | null = null
  let changed = Promise.withResolvers<void>()

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
      if (isQuiet()) {
        for (const pass of waiting.splice(0)) pass()
      } else if (leftMs <= 0 && passing === null) waiting.shift()?.()
      else await untilChanged()
    }
    isLetting = false
  }

  async function untilChanged(): Promise<void> {
    const sinceMs = clock.nowMs()
    const quietMs = shortOnes > 0 ? Number.POSITIVE_INFINITY : comesUntilMs - sinceMs
    const timer = new AbortController()
    const isOver = clock.wait(Math.min(quietMs, leftMs > 0 ? leftMs : pieceMs), timer.signal).then(
      () => true,
      () => false,
    )
    const wasPassing = passing
    if ((await Promise.race([changed.promise, isOver])) === true && leftMs <= 0 && passing === wasPassing)
      passing = null
    timer.abort()
    if (wasPassing === null) leftMs = Math.max(0, leftMs - (clock.nowMs() - sinceMs))
  }

  function patiently(): GiveWay {
    const self = {}
    let sinceMs = clock.nowMs()
    return async () => {
      leftMs = Math.min(patience.mostMs, leftMs + (clock.nowMs() - sinceMs) * patience.perWorked)
      if (passing === self) passing = null
      note()
      // What has come meanwhile is seen first.
      await nextTurn()
      if (!isQuiet()) {
        await new Promise<void>((resolve) => {
          waiting.push(() => {
            if (!isQuiet()) passing = self
            resolve()
          })
          void letPass()
        })
      }
      sinceMs = clock.nowMs()
    }
  }

  return {
    async short(work) {
      shortOnes++
      let giveWay: GiveWay | null = null
      try {
        await work(async (read) => {
          if (giveWay === null && (read?.rows ?? 0) >= longRows) {
            giveWay = patiently()
            endShort()
          }
          await giveWay?.(read)
        })
      } finally {
        if (giveWay === null) endShort()
      }
    },
    async long(work) {
      const giveWay = patiently()
      try {
        await work(giveWay)
      } finally {
        if (!isQuiet()) note()
      }
    },
    expectShort: () => expectFor(comesWithinMs.enqueued),
  }
}
