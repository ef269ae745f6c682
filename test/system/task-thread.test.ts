import { describe, expect, test } from 'vitest'
import { TaskThread } from '../../src/system/task-thread.ts'

const script = new URL('./children/tasks.ts', import.meta.url)
const openThread = (stepMs = 60_000) =>
  new TaskThread<readonly string[], string[], string>(script, { setup: 'done: ', limits: { stepMs, memoryMb: 32 } })

describe('a thread for tasks', () => {
  test('gives the result of each task', async () => {
    await using thread = openThread()

    expect(await thread.run(['a', 'b'])).toEqual({ result: ['done: a', 'done: b'] })
    expect(await thread.run(['c'])).toEqual({ result: ['done: c'] })
  })

  test.each([
    ['never ends', 'hang', 'too slow', 1000],
    ['fills the memory', 'fill', 'out of memory', 60_000],
  ] as const)('is ended by a step that %s, and the next task has a new one', async (_case, step, stopped, stepMs) => {
    await using thread = openThread(stepMs)

    expect(await thread.run(['a', step, 'b'])).toEqual({ stopped, step: 1 })
    expect(await thread.run(['c'])).toEqual({ result: ['done: c'] })
  })

  test('blames no step for time in which it got no processor', async () => {
    await using thread = openThread(100)

    expect(await thread.run(['a', 'wait', 'b'])).toEqual({ result: ['done: a', 'done: wait', 'done: b'] })
  })

  test.each([
    ['throws', 'throw', 'the task is broken'],
    ['ends the thread', 'exit', 'the thread ended with 3'],
  ])('reports a task that %s, and the next task has a new thread', async (_case, step, message) => {
    await using thread = openThread()

    await expect(thread.run([step])).rejects.toThrow(message)
    expect(await thread.run(['c'])).toEqual({ result: ['done: c'] })
  })

  test('ends with what is running in it', async () => {
    const thread = openThread()
    const running = thread.run(['hang'])

    await thread[Symbol.asyncDispose]()

    await expect(running).rejects.toThrow('the thread ended')
  })
})
