import { Worker } from 'node:worker_threads'
import { type ExpressionFault, idle, type Outcome, type Task, type WorkerSetup } from './task.ts'
import { errorCode } from '../../errors.ts'

/** How far expressions may go before a row, or the source, is given up. */
export type ExpressionLimits = {
  /** How long one expression may take for one row. */
  readonly rowMs: number
  /** How many rows may take longer, or more memory, before the source is refused. */
  readonly stuckRows: number
  readonly memoryMb: number
}

export const usualLimits: ExpressionLimits = { rowMs: 250, stuckRows: 20, memoryMb: 128 }

const ticksInARow = 4

/** Where the worker stopped, and why. */
type Stuck = { readonly at: number; readonly reason: string }

/** Owns the worker that evaluates expressions: starts it when it is needed, and anew when it got stuck. */
export class Evaluator implements AsyncDisposable {
  readonly #setup: WorkerSetup
  readonly #limits: ExpressionLimits
  readonly #progress: Int32Array
  #worker: Worker | null = null
  #pending: PromiseWithResolvers<Outcome | Stuck> | null = null
  #stuckRows = 0

  constructor(setup: Omit<WorkerSetup, 'progress'>, limits: ExpressionLimits) {
    const progress = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    this.#setup = { ...setup, progress }
    this.#progress = new Int32Array(progress)
    this.#limits = limits
  }

  /** Evaluates a task. A row at which the worker gets stuck has a fault, and the others are evaluated again by a new one. */
  async evaluate(task: Task): Promise<Outcome> {
    const stuck = new Map<number, ExpressionFault>()
    for (;;) {
      const answer = await this.#ask(task.map((row, index) => (stuck.has(index) ? null : row)))
      if ('refusal' in answer) return answer
      if ('results' in answer) return { ...answer, faults: new Map([...answer.faults, ...stuck]) }

      await this[Symbol.asyncDispose]()
      const { length } = this.#setup.expressions
      stuck.set(Math.floor(answer.at / length), { expression: answer.at % length, reason: answer.reason })
      this.#stuckRows += 1
      if (this.#stuckRows > this.#limits.stuckRows) {
        return { refusal: `expressions got stuck at more than ${this.#limits.stuckRows} rows (${answer.reason})` }
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  async #ask(task: Task): Promise<Outcome | Stuck> {
    this.#worker ??= this.#start()
    const worker = this.#worker
    const pending = Promise.withResolvers<Outcome | Stuck>()
    this.#pending = pending
    Atomics.store(this.#progress, 0, idle)
    const watch = this.#watch(pending)
    // Only a pending answer keeps the process alive.
    worker.ref()
    worker.postMessage(task)
    try {
      return await pending.promise
    } finally {
      this.#pending = null
      clearInterval(watch)
      worker.unref()
    }
  }

  /** Sees when the worker stands still. Ticks are counted and not time: a process that was stopped has not kept it waiting. */
  #watch({ resolve }: PromiseWithResolvers<Outcome | Stuck>): NodeJS.Timeout {
    const { rowMs } = this.#limits
    let before = idle
    let ticks = 0
    return setInterval(() => {
      const at = Atomics.load(this.#progress, 0)
      ticks = at === before && at !== idle ? ticks + 1 : 0
      before = at
      if (ticks >= ticksInARow) resolve({ at, reason: `the expression takes longer than ${rowMs} ms` })
    }, rowMs / ticksInARow)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: this.#setup,
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb },
      env: {},
      execArgv: [],
    })
    worker.on('message', (outcome: Outcome) => this.#pending?.resolve(outcome))
    worker.on('error', (error) => this.#failed(error))
    worker.on('exit', (code) => this.#pending?.reject(new Error(`the worker of expressions ended with ${code}`)))
    worker.unref()
    return worker
  }

  #failed(error: unknown): void {
    const at = Atomics.load(this.#progress, 0)
    const tooLarge = errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY'
    const reason = `the expression takes more than ${this.#limits.memoryMb} MiB of memory`
    if (tooLarge && at !== idle) this.#pending?.resolve({ at, reason })
    else this.#pending?.reject(error)
  }
}
