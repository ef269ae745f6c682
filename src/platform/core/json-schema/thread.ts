import { Worker } from 'node:worker_threads'
import { ready, type SchemaTask, type Verdict } from './task.ts'

/** How far a schema may go for one request before it is given up. */
export type SchemaLimits = { readonly taskMs: number; readonly memoryMb: number }

const ticksInATask = 10

/** Owns a thread that judges records: starts it when it is needed, and again when a schema kept it for too long. */
export class SchemaThread implements AsyncDisposable {
  readonly #limits: SchemaLimits
  #worker: Worker | null = null

  constructor(limits: SchemaLimits) {
    this.#limits = limits
  }

  /** Judges one task; the next may only follow once this one is answered. */
  async judge(task: SchemaTask): Promise<Verdict> {
    this.#worker ??= await this.#start()
    const verdict = await this.#ask(this.#worker, task)
    if (verdict !== null) return verdict
    await this[Symbol.asyncDispose]()
    return { refusal: `judging takes longer than ${this.#limits.taskMs} ms` }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  /** The thread's answer, or null where it takes too long. Ticks are counted and not time: a process that was stopped has not kept it waiting. */
  async #ask(worker: Worker, task: SchemaTask): Promise<Verdict | null> {
    const { taskMs, memoryMb } = this.#limits
    const { promise, resolve, reject } = Promise.withResolvers<Verdict | null>()
    const failed = (error: unknown) => {
      if (isOutOfMemory(error)) resolve({ refusal: `judging takes more than ${memoryMb} MiB of memory` })
      else reject(error)
    }
    const ended = (code: number) => failed(new Error(`the thread that judges records ended with ${code}`))
    let ticks = 0
    const watch = setInterval(() => {
      ticks += 1
      if (ticks >= ticksInATask) resolve(null)
    }, taskMs / ticksInATask)
    worker.once('message', resolve)
    worker.once('error', failed)
    worker.once('exit', ended)
    // Only a pending answer keeps the process alive.
    worker.ref()
    worker.postMessage(task)
    try {
      return await promise
    } finally {
      clearInterval(watch)
      worker.off('message', resolve)
      worker.off('error', failed)
      worker.off('exit', ended)
      worker.unref()
    }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb },
      env: {},
      execArgv: [],
    })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    worker.once('message', (message) => {
      if (message === ready) resolve()
      else reject(new Error('the thread that judges records began with something else'))
    })
    worker.on('error', reject)
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = null
    })
    await promise
    return worker
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
