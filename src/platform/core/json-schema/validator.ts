import { TaskThread } from '../../../system/task-thread.ts'
import type { SchemaTask, ValidationResult } from './worker.ts'

/** The limits of one validation task. */
type SchemaLimits = { readonly taskMs: number; readonly memoryMb: number }

type SchemaThread = TaskThread<SchemaTask, ValidationResult>

const usualLimits: SchemaLimits = { taskMs: 3000, memoryMb: 256 }
const threads = 2

/**
 * Validates records by the JSON Schema of their resource, in its own threads: schemas come from callers, and a pattern or a
 * reference can occupy a thread for ever. An account has one task at a time, so that a bad schema occupies one thread only.
 */
export class SchemaValidator implements AsyncDisposable {
  readonly #limits: SchemaLimits
  readonly #threads: readonly SchemaThread[]
  readonly #free: SchemaThread[]
  readonly #waiting: PromiseWithResolvers<SchemaThread>[] = []
  readonly #lastTask = new Map<number, Promise<unknown>>()

  constructor(limits: SchemaLimits = usualLimits) {
    this.#limits = limits
    this.#threads = Array.from({ length: threads }, () => createThread(limits))
    this.#free = [...this.#threads]
  }

  /** Validates records of an account; a schema that exceeds the limits is a refusal. */
  async validate(accountId: number, task: SchemaTask): Promise<ValidationResult> {
    return this.#inTurn(accountId, () => this.#onFreeThread((thread) => this.#result(thread, task)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread[Symbol.asyncDispose]()))
  }

  async #result(thread: SchemaThread, task: SchemaTask): Promise<ValidationResult> {
    const { taskMs, memoryMb } = this.#limits
    const end = await thread.run(task)
    if ('result' in end) return end.result
    return {
      refusal:
        end.stopped === 'too slow'
          ? `validation takes longer than ${taskMs} ms`
          : `validation takes more than ${memoryMb} MiB of memory`,
    }
  }

  async #inTurn<T>(accountId: number, work: () => Promise<T>): Promise<T> {
    const result = Promise.resolve(this.#lastTask.get(accountId)).then(work)
    const turn = result.then(nothing, nothing)
    this.#lastTask.set(accountId, turn)
    try {
      return await result
    } finally {
      if (this.#lastTask.get(accountId) === turn) this.#lastTask.delete(accountId)
    }
  }

  async #onFreeThread<T>(work: (thread: SchemaThread) => Promise<T>): Promise<T> {
    const thread = this.#free.pop() ?? (await this.#nextFree())
    try {
      return await work(thread)
    } finally {
      const next = this.#waiting.shift()
      if (next) next.resolve(thread)
      else this.#free.push(thread)
    }
  }

  #nextFree(): Promise<SchemaThread> {
    const waiting = Promise.withResolvers<SchemaThread>()
    this.#waiting.push(waiting)
    return waiting.promise
  }
}

function createThread({ taskMs, memoryMb }: SchemaLimits): SchemaThread {
  const script = new URL('./worker.ts', import.meta.url)
  return new TaskThread(script, { setup: null, limits: { stepMs: taskMs, memoryMb } })
}

function nothing(): void {}
