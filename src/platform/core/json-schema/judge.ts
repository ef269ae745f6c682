import type { SchemaTask, Verdict } from './task.ts'
import { type SchemaLimits, SchemaThread } from './thread.ts'

const usualLimits: SchemaLimits = { taskMs: 3000, memoryMb: 256 }
const threads = 2

/**
 * Judges records by the JSON Schema of their resource, on threads of its own: schemas come from callers, and a pattern or a
 * reference can keep a validator busy for ever. An account waits for its own tasks, so that one with a bad schema holds
 * up one thread only.
 */
export class SchemaJudge implements AsyncDisposable {
  readonly #threads: readonly SchemaThread[]
  readonly #free: SchemaThread[]
  readonly #waiting: PromiseWithResolvers<SchemaThread>[] = []
  readonly #turns = new Map<number, Promise<unknown>>()

  constructor(limits: SchemaLimits = usualLimits) {
    this.#threads = Array.from({ length: threads }, () => new SchemaThread(limits))
    this.#free = [...this.#threads]
  }

  /** Judges records that belong to an account. */
  async judge(accountId: number, task: SchemaTask): Promise<Verdict> {
    return this.#inTurn(accountId, () => this.#onFreeThread((thread) => thread.judge(task)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread[Symbol.asyncDispose]()))
  }

  async #inTurn<T>(accountId: number, work: () => Promise<T>): Promise<T> {
    const result = Promise.resolve(this.#turns.get(accountId)).then(work)
    const turn = result.then(nothing, nothing)
    this.#turns.set(accountId, turn)
    try {
      return await result
    } finally {
      if (this.#turns.get(accountId) === turn) this.#turns.delete(accountId)
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

function nothing(): void {}
