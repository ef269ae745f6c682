import { expect, test, vi } from 'vitest'
import { lazyQueue } from '../../src/queue/lazy-queue.ts'
import type { Queue } from '../../src/queue/queue.ts'

function recordingQueue(): { readonly queue: Queue; readonly calls: string[] } {
  const calls: string[] = []
  const record =
    <T>(call: string, answer: T) =>
    async () => {
      calls.push(call)
      return answer
    }
  const queue: Queue = {
    location: 'nowhere',
    enqueue: record('enqueue', undefined),
    work: record('work', { stop: async () => {}, [Symbol.asyncDispose]: async () => {} }),
    check: record('check', undefined),
    waiting: record('waiting', 3),
    unavailableJobs: record('unavailableJobs', new Set<string>()),
    clear: record('clear', undefined),
    [Symbol.asyncDispose]: record('closed', undefined),
  }
  return { queue, calls: calls }
}

test('a queue that nobody uses is neither opened nor closed', async () => {
  const open = vi.fn()

  const queue = lazyQueue('Redis at here:6379', open)
  await queue[Symbol.asyncDispose]()

  expect(queue.location).toBe('Redis at here:6379')
  expect(open).not.toHaveBeenCalled()
})

test('a queue is opened once, forwards every call, and is closed', async () => {
  const { queue: real, calls } = recordingQueue()
  const open = vi.fn(async () => real)

  const queue = lazyQueue('nowhere', open)
  await Promise.all([queue.enqueue([]), queue.check(), queue.clear()])
  const waiting = await queue.waiting()
  await queue.unavailableJobs()
  await queue.work({} as Parameters<Queue['work']>[0], { concurrency: 1 })
  await queue[Symbol.asyncDispose]()

  expect(open).toHaveBeenCalledTimes(1)
  expect(waiting).toBe(3)
  expect(calls).toEqual(['enqueue', 'check', 'clear', 'waiting', 'unavailableJobs', 'work', 'closed'])
})

test('an error of opening reaches the caller, and closing still works', async () => {
  const queue = lazyQueue('nowhere', () => Promise.reject(new Error('it is away')))

  const used = queue.enqueue([])

  await expect(used).rejects.toThrow('it is away')
  await expect(queue[Symbol.asyncDispose]()).resolves.toBeUndefined()
})
