import { expect, test } from 'vitest'
import { type Clock, createWorkScheduler } from '../../src/daemon/work-scheduler.ts'

test('long work waits between two pieces while short work and its follow-up are under way', async () => {
  const { clock, pass } = manualClock()
  const turns = createWorkScheduler(clock)
  const order: string[] = []
  const run = Promise.withResolvers<void>()
  const batch = Promise.withResolvers<void>()

  const short = turns.short(() => run.promise)
  const long = turns.long(async (yieldToShortWork) => {
    await yieldToShortWork()
    order.push('long')
  })
  await pass(1000)
  order.push('run ends')
  run.resolve()
  await short
  await pass(40)
  const next = turns.short(() => batch.promise)
  await pass(500)
  order.push('batch ends')
  batch.resolve()
  await next
  await pass(50)
  await long

  expect(order).toEqual(['run ends', 'batch ends', 'long'])
})

test('enqueued short work goes first even before it has begun', async () => {
  const { clock, pass } = manualClock()
  const turns = createWorkScheduler(clock)
  const order: string[] = []

  turns.expectShort()
  const long = turns.long(async (yieldToShortWork) => {
    await yieldToShortWork()
    order.push('long')
  })
  await pass(199)
  await turns.short(async () => void order.push('short'))
  await pass(50)
  await long

  expect(order).toEqual(['short', 'long'])
})

test('short work that never ends leaves a quarter of the time to long work, a piece at a time', async () => {
  const { clock, pass } = manualClock()
  const turns = createWorkScheduler(clock)
  const workedMs = { one: 0, other: 0 }
  let atOnce = 0
  let mostAtOnce = 0
  const works = async (who: keyof typeof workedMs, mayEnd: () => boolean) => {
    await turns.long(async (yieldToShortWork) => {
      while (!mayEnd()) {
        await yieldToShortWork()
        mostAtOnce = Math.max(mostAtOnce, ++atOnce)
        await clock.wait(100, new AbortController().signal)
        workedMs[who] += 100
        atOnce--
      }
    })
  }
  let isOver = false

  void turns.short(() => new Promise(() => {}))
  const long = [works('one', () => isOver), works('other', () => isOver)]
  await pass(1900)
  const atFirst = { ...workedMs }
  for (let elapsedMs = 1900; elapsedMs < 42_000; elapsedMs += 50) await pass(50)
  const worked = { ...workedMs }
  isOver = true
  await pass(10_000)
  await Promise.all(long)

  expect(atFirst).toEqual({ one: 0, other: 0 })
  expect(worked.one + worked.other).toBeGreaterThanOrEqual(9000)
  expect(worked.one + worked.other).toBeLessThanOrEqual(10_500)
  expect(Math.abs(worked.one - worked.other)).toBeLessThanOrEqual(200)
  expect(mostAtOnce).toBe(1)
})

test('a slow piece does not stop other long work', async () => {
  const { clock, pass } = manualClock()
  const turns = createWorkScheduler(clock)
  const order: string[] = []
  const commit = Promise.withResolvers<void>()

  void turns.short(() => new Promise(() => {}))
  const committing = turns.long(async (yieldToShortWork) => {
    await yieldToShortWork()
    order.push('commits')
    await commit.promise
  })
  const other = turns.long(async (yieldToShortWork) => {
    await yieldToShortWork()
    order.push('leaver')
  })
  await pass(2000)
  await pass(249)
  const before = [...order]
  await pass(1)
  await other
  commit.resolve()
  await committing

  expect(before).toEqual(['commits'])
  expect(order).toEqual(['commits', 'leaver'])
})

test('a long run that ends makes way for the next one, however often short work comes and goes', async () => {
  const { clock, pass } = manualClock()
  const turns = createWorkScheduler(clock)
  const order: string[] = []
  const works = (who: string) =>
    turns.long(async (yieldToShortWork) => {
      await yieldToShortWork()
      order.push(who)
    })
  const comesAndGoes = async (untilMs: number) => {
    while (clock.nowMs() < untilMs) await turns.short(() => clock.wait(100, new AbortController().signal))
  }

  const short = comesAndGoes(5000)
  const long = [works('one'), works('other')]
  await pass(2200)
  const soon = [...order]
  await pass(10_000)
  await Promise.all([short, ...long])

  expect(soon).toEqual(['one', 'other'])
})

test('a run of unknown size yields once it has read as many rows as a long one', async () => {
  const { clock, pass } = manualClock()
  const turns = createWorkScheduler(clock)
  const order: string[] = []
  const small = Promise.withResolvers<void>()

  const short = turns.short(() => small.promise)
  const first = turns.short(async (yieldToShortWork) => {
    await yieldToShortWork({ rows: 4999 })
    order.push('4999 rows')
    await yieldToShortWork({ rows: 5000 })
    order.push('5000 rows')
  })
  await pass(1000)
  order.push('small')
  small.resolve()
  await short
  await pass(50)
  await first

  expect(order).toEqual(['4999 rows', 'small', '5000 rows'])
})

test('failed work lets the next work begin', async () => {
  const { clock, pass } = manualClock()
  const turns = createWorkScheduler(clock)

  await expect(turns.short(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone')
  await pass(50)
  const done = turns.long(async (yieldToShortWork) => await yieldToShortWork())

  await expect(done).resolves.toBeUndefined()
})

/** A clock that only the test moves. */
function manualClock(): { readonly clock: Clock; pass(ms: number): Promise<void> } {
  let nowMs = 0
  const timers = new Set<{ readonly atMs: number; readonly ring: () => void }>()
  const idle = async () => {
    for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    clock: {
      nowMs: () => nowMs,
      wait: (ms, signal) =>
        new Promise((resolve, reject) => {
          const timer = { atMs: nowMs + ms, ring: resolve }
          timers.add(timer)
          signal.addEventListener('abort', () => {
            timers.delete(timer)
            reject(signal.reason)
          })
        }),
    },
    async pass(ms) {
      const untilMs = nowMs + ms
      for (;;) {
        await idle()
        const [next] = [...timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)
        if (next === undefined) break
        timers.delete(next)
        nowMs = next.atMs
        next.ring()
      }
      nowMs = untilMs
      await idle()
    },
  }
}
