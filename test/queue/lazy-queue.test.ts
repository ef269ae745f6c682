import { expect, test, vi } from 'vitest'
import type { Queue } from '../../src/queue/queue.ts'
import { lazyQueue } from '../../src/queue/lazy-queue.ts'

function listening(): { readonly queue: Queue; readonly told: string[] } {
  const told: string[] = []
  const tells =
    <T>(what: string, answer: T) =>
    async () => {
      told.push(what)
      return answer
    }
  const queue: Queue = {
    location: 'nowhere',
    enqueue: tells('enqueue', undefined),
    work: tells('work', { stop: async () => {}, [Symbol.asyncDispose]: async () => {} }),
    check: tells('check', undefined),
    waiting: tells('waiting', 3),
    held: tells('held', new Set<string>()),
    clear: tells('clear', undefined),
    [Symbol.asyncDispose]: tells('closed', undefined),
  }
  return { queue, told }
}

test('a queue that nobody uses is neither opened nor closed', async () => {
  const open = vi.fn()

  const queue = lazyQueue('Redis at here:6379', open)
  await queue[Symbol.asyncDispose]()

  expect(queue.location).toBe('Redis at here:6379')
  expect(open).not.toHaveBeenCalled()
})

test('a queue is opened once, passes everything on, and is closed', async () => {
  const { queue: real, told } = listening()
  const open = vi.fn(async () => real)

  const queue = lazyQueue('nowhere', open)
  await Promise.all([queue.enqueue([]), queue.check(), queue.clear()])
  const waiting = await queue.waiting()
  await queue.held()
  await queue.work({} as Parameters<Queue['work']>[0], { concurrency: 1 })
  await queue[Symbol.asyncDispose]()

  expect(open).toHaveBeenCalledTimes(1)
  expect(waiting).toBe(3)
  expect(told).toEqual(['enqueue', 'check', 'clear', 'waiting', 'held', 'work', 'closed'])
})

test('what keeps a queue from opening is told to who uses it, and the end goes on', async () => {
  const queue = lazyQueue('nowhere', () => Promise.reject(new Error('it is away')))

  const used = queue.enqueue([])

  await expect(used).rejects.toThrow('it is away')
  await expect(queue[Symbol.asyncDispose]()).resolves.toBeUndefined()
})
