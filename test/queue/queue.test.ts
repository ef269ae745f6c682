import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { Postponed } from '../../src/queue/jobs.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { firstOf, isFull } from '../helpers/tier.ts'
import { backends, startQueue, type Where } from './queues.ts'
import { noting, runId, upsert, workers } from './samples.ts'

const many = isFull ? 500 : 100

describe.each(firstOf(2, backends))('a queue in $name', ({ open }) => {
  const shared = new AsyncDisposableStack()
  let where: Where
  beforeAll(async () => {
    where = shared.use(await open())
  })
  afterAll(() => shared.disposeAsync())

  describe('enqueueing', () => {
    test('every one of many jobs enqueued at once is worked on once', async () => {
      await using queue = await startQueue(where)
      const recorder = noting(many)

      await queue.enqueue(Array.from({ length: many }, (_, batch) => upsert(batch)))
      await using _working = await queue.work(recorder.workers, { concurrency: 8 })
      await recorder.enough

      expect(new Set(recorder.batches).size).toBe(many)
    })

    test('a job of a later round is queued after newer jobs, and counts as waiting', async () => {
      await using queue = await startQueue(where)
      const recorder = noting(4)

      await queue.enqueue([{ ...upsert(12), round: 2 }, { ...upsert(11), round: 1 }, upsert(1)])
      await queue.enqueue([upsert(2)])
      const waiting = await queue.waiting()
      await using _working = await queue.work(recorder.workers, { concurrency: 1 })
      await recorder.enough

      expect(waiting).toBe(4)
      expect(recorder.batches).toEqual([1, 2, 11, 12])
    })

    test('each line has its own workers: a job never waits for another line', async () => {
      await using queue = await startQueue(where)
      const [short, long] = [noting(1), noting(1)]
      const end = Promise.withResolvers<void>()
      const busy = workers({ upsert: () => end.promise })

      await queue.enqueue([{ ...upsert(1), line: 'long batches' }, { ...upsert(2), line: 'long batches' }, upsert(3)])
      const waiting = await queue.waiting()
      await using _busy = await queue.work(busy, { concurrency: 1, line: 'long batches' })
      await using _short = await queue.work(short.workers, { concurrency: 1 })
      await short.enough
      await queue.enqueue([{ ...upsert(4), line: 'long runs' }])
      await using _long = await queue.work(long.workers, { concurrency: 1, line: 'long runs' })
      await long.enough
      end.resolve()

      expect(waiting).toBe(3)
      expect([short.batches, long.batches]).toEqual([[3], [4]])
    })

    test('a job with the ID of an unfinished job is not added again', async () => {
      await using queue = await startQueue(where)
      const recorder = noting(2)

      await queue.enqueue([upsert(1), upsert(1)])
      await queue.enqueue([upsert(1), upsert(2)])
      await using _working = await queue.work(recorder.workers, { concurrency: 1 })
      await recorder.enough

      expect(recorder.batches).toEqual([1, 2])
    })

    test('a job is not added again while it is worked on', async () => {
      await using queue = await startQueue(where)
      const batches: number[] = []
      const last = Promise.withResolvers<void>()
      await using _working = await queue.work(
        workers({
          async upsert({ batch }) {
            batches.push(batch)
            if (batch === 1) await queue.enqueue([upsert(1), upsert(2)])
            if (batch === 2) last.resolve()
          },
        }),
        { concurrency: 1 },
      )

      await queue.enqueue([upsert(1)])
      await last.promise

      expect(batches).toEqual([1, 2])
    })

    test('a job that has finished can be enqueued again', async () => {
      await using queue = await startQueue(where)
      const first = noting(1)
      const second = noting(1)
      await using working = await queue.work(first.workers, { concurrency: 1 })
      await queue.enqueue([upsert(1, { id: 'again' })])
      await first.enough
      await working.stop({ withinMs: 10_000 })

      await queue.enqueue([upsert(2, { id: 'again' })])
      await using _working = await queue.work(second.workers, { concurrency: 1 })
      await second.enough

      expect(second.batches).toEqual([2])
    })

    test('a job with a delay waits', async () => {
      await using queue = await startQueue(where)
      const recorder = noting(1)

      await queue.enqueue([upsert(1, { delayMs: 3_600_000 }), upsert(2)])
      await using working = await queue.work(recorder.workers, { concurrency: 1 })
      await recorder.enough
      await working.stop({ withinMs: 10_000 })

      expect(recorder.batches).toEqual([2])
    })

    test('a job with a delay that is over is worked on', async () => {
      await using queue = await startQueue(where)
      const recorder = noting(1)
      await using _working = await queue.work(recorder.workers, { concurrency: 1 })

      await queue.enqueue([upsert(1, { delayMs: 50 })])
      await recorder.enough

      expect(recorder.batches).toEqual([1])
    })

    test('active and delayed jobs are listed separately from waiting ones', async () => {
      await using queue = await startQueue(where)
      const taken = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      await queue.enqueue([upsert(1)])
      await using _working = await queue.work(
        workers({
          async upsert() {
            taken.resolve()
            await goOn.promise
          },
        }),
        { concurrency: 1 },
      )
      await taken.promise

      await queue.enqueue([upsert(2), upsert(3, { delayMs: 3_600_000 })])
      const unavailable = await queue.unavailableJobs()
      goOn.resolve()

      expect(unavailable).toEqual(new Set(['upsert-1', 'upsert-3']))
    })

    test('an invalid payload is refused, with all jobs of its call', async () => {
      await using queue = await startQueue(where)
      const recorder = noting(1)
      const junk = { name: 'upsert', payload: { runId: 'none', batch: 2 }, id: 'junk' } as const

      const refused = queue.enqueue([upsert(1), junk])

      await expect(refused).rejects.toThrow(/runId/)
      await queue.enqueue([upsert(3)])
      await using _working = await queue.work(recorder.workers, { concurrency: 1 })
      await recorder.enough
      expect(recorder.batches).toEqual([3])
    })

    test('queues of different names do not share jobs', async () => {
      await using one = await startQueue(where)
      await using other = await startQueue(where)
      const recorder = noting(1)

      await one.enqueue([upsert(1)])
      await other.enqueue([upsert(2)])
      await using _working = await other.work(recorder.workers, { concurrency: 1 })
      await recorder.enough

      expect(recorder.batches).toEqual([2])
    })

    test('a waiting worker takes up a job that another queue of the name enqueues', async () => {
      const name = 'shared by two'
      await using consuming = await startQueue(where, { name })
      await using producing = await startQueue(where, { name })
      const recorder = noting(1)
      await using _working = await consuming.work(recorder.workers, { concurrency: 1 })

      await producing.enqueue([upsert(1)])
      await recorder.enough

      expect(recorder.batches).toEqual([1])
    })
  })

  describe('failing', () => {
    test('a job is tried again until its attempts are used up', async () => {
      const failed: unknown[] = []
      const over = Promise.withResolvers<void>()
      const events = silentEvents((event) => {
        if (event.event !== 'job.failed') return
        failed.push([event.attempt, event.final])
        if (event.final) over.resolve()
      })
      await using queue = await startQueue(where, { events, retry: { attempts: 3 } })
      await using _working = await queue.work(
        workers({
          async upsert() {
            throw new Failure('platform_unreachable', 'no answer')
          },
        }),
        { concurrency: 1 },
      )

      await queue.enqueue([upsert(1)])
      await over.promise

      expect(failed).toEqual([
        [1, false],
        [2, false],
        [3, true],
      ])
    })

    test('a failure that a retry cannot fix ends the job at once', async () => {
      const attempts: number[] = []
      const fence = Promise.withResolvers<void>()
      const events = silentEvents((event) => {
        if (event.event === 'job.failed') attempts.push(event.attempt)
      })
      await using queue = await startQueue(where, { events })
      await using _working = await queue.work(
        workers({
          async upsert({ batch }) {
            if (batch === 1) throw new Failure('blocked', 'the platform refuses the key')
            fence.resolve()
          },
        }),
        { concurrency: 1 },
      )

      await queue.enqueue([upsert(1), upsert(2, { delayMs: 200 })])
      await fence.promise

      expect(attempts).toEqual([1])
    })

    test('a postponed job comes back later and has as many attempts as before', async () => {
      const received: string[] = []
      const over = Promise.withResolvers<void>()
      const events = silentEvents((event) => {
        if (event.event === 'job.postponed') received.push(`postponed by ${event.delayMs}`)
        if (event.event === 'job.failed') received.push(`attempt ${event.attempt} failed`)
        if (event.event === 'job.finished') over.resolve()
      })
      await using queue = await startQueue(where, { events, retry: { attempts: 2 } })
      let times = 0
      await using _working = await queue.work(
        workers({
          async upsert() {
            times += 1
            if (times <= 3) throw new Postponed(times)
            if (times === 4) throw new Failure('platform_unreachable', 'no answer')
          },
        }),
        { concurrency: 1 },
      )

      await queue.enqueue([upsert(1)])
      await over.promise

      expect(received).toEqual(['postponed by 1', 'postponed by 2', 'postponed by 3', 'attempt 1 failed'])
    })
  })

  describe('stopping', () => {
    test('lets a job in flight finish and takes no further one', async () => {
      await using queue = await startQueue(where)
      const begun = Promise.withResolvers<void>()
      const leave = Promise.withResolvers<void>()
      const ended: number[] = []
      await using working = await queue.work(
        workers({
          async upsert({ batch }) {
            begun.resolve()
            await leave.promise
            ended.push(batch)
          },
        }),
        { concurrency: 1 },
      )
      await queue.enqueue([upsert(1), upsert(2)])
      await begun.promise

      const stopped = working.stop({ withinMs: 30_000 })
      leave.resolve()
      await stopped

      expect(ended).toEqual([1])
    })

    test('aborts jobs beyond the bound and returns them to the next worker', async () => {
      const returned: string[] = []
      const events = silentEvents((event) => {
        if (event.event === 'job.returned') returned.push(event.id)
      })
      await using queue = await startQueue(where, { events, retry: { attempts: 1 } })
      const begun = Promise.withResolvers<void>()
      await using working = await queue.work(
        workers({
          upsert(_payload, signal) {
            begun.resolve()
            return new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason))
            })
          },
        }),
        { concurrency: 1 },
      )
      await queue.enqueue([upsert(1)])
      await begun.promise

      await working.stop({ withinMs: 10 })

      const recorder = noting(1)
      await using _next = await queue.work(recorder.workers, { concurrency: 1 })
      await recorder.enough
      expect(returned).toEqual(['upsert-1'])
    })

    test('does not wait for a worker that ignores being aborted', async () => {
      await using queue = await startQueue(where)
      const begun = Promise.withResolvers<void>()
      await using working = await queue.work(
        workers({
          upsert() {
            begun.resolve()
            return new Promise(() => {})
          },
        }),
        { concurrency: 1 },
      )
      await queue.enqueue([upsert(1)])
      await begun.promise

      await working.stop({ withinMs: 10 })

      const recorder = noting(1)
      await using _next = await queue.work(recorder.workers, { concurrency: 1 })
      await recorder.enough
      expect(recorder.batches).toEqual([1])
    })

    test('disposing a queue stops its workers', async () => {
      const returned = Promise.withResolvers<string>()
      const events = silentEvents((event) => {
        if (event.event === 'job.returned') returned.resolve(event.id)
      })
      const begun = Promise.withResolvers<void>()
      {
        await using queue = await startQueue(where, { events })
        await queue.work(
          workers({
            upsert(_payload, signal) {
              begun.resolve()
              return new Promise((_, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason))
              })
            },
          }),
          { concurrency: 1 },
        )
        await queue.enqueue([upsert(1)])
        await begun.promise
      }

      await expect(returned.promise).resolves.toBe('upsert-1')
    })
  })

  test('clearing removes every job, and the queue stays usable', async () => {
    await using queue = await startQueue(where)
    const begun = Promise.withResolvers<void>()
    await using working = await queue.work(
      workers({
        upsert() {
          begun.resolve()
          return new Promise(() => {})
        },
      }),
      { concurrency: 1 },
    )
    await queue.enqueue([upsert(1), upsert(2), upsert(3, { delayMs: 1 })])
    await begun.promise

    await queue.clear()

    await working.stop({ withinMs: 0 })
    const recorder = noting(1)
    await queue.enqueue([upsert(4)])
    await using _next = await queue.work(recorder.workers, { concurrency: 1 })
    await recorder.enough
    expect(recorder.batches).toEqual([4])
  })

  test('a reachable queue passes its check', async () => {
    await using queue = await startQueue(where)

    const checked = queue.check()

    await expect(checked).resolves.toBeUndefined()
  })

  test('a queue that is opened and closed at once causes no errors', async () => {
    const unexpected: unknown[] = []
    const events = silentEvents((event) => {
      if (event.event === 'unexpected') unexpected.push(event.error)
    })

    for (let time = 0; time < 5; time += 1) {
      await using queue = await startQueue(where, { events })
      await using _working = await queue.work(workers({}), { concurrency: 4 })
    }

    expect(unexpected).toEqual([])
  })

  test('a job contains only its IDs', async () => {
    await using queue = await startQueue(where)
    const payloads: unknown[] = []
    const over = Promise.withResolvers<void>()
    await using _working = await queue.work(
      workers({
        async run(payload) {
          payloads.push(payload)
          over.resolve()
        },
      }),
      { concurrency: 1 },
    )

    await queue.enqueue([{ name: 'run', payload: { runId }, id: 'run-1' }])
    await over.promise

    expect(payloads).toEqual([{ runId }])
  })
})
