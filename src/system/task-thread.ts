import { parentPort, Worker, workerData } from 'node:worker_threads'
import { errorCode } from '../errors.ts'

/** What stands in place of the number of a step while no step is running. */
const idle = -1
const ticksInAStep = 4

type ThreadLimits = {
  /** How long one step of a task may take. */
  readonly stepMs: number
  readonly memoryMb: number
}

/** The result of a task, or why the thread was ended before it had one, and in which step. */
type TaskEnd<Result> =
  | { readonly result: Result }
  | { readonly stopped: 'too slow' | 'out of memory'; readonly step: number }

/** What a thread is started with. The number of the running step is in memory that both sides share. */
type Start<Setup> = { readonly setup: Setup; readonly step: SharedArrayBuffer }

/**
 * Owns a thread for tasks that may never end, such as expressions and schemas that people write. The thread starts with the first
 * task. It is ended when a step takes too long or too much memory, and the next task starts a new one. `script` is the module that
 * the thread runs; it calls `performTasks`.
 */
export class TaskThread<Task, Result, Setup = null> implements AsyncDisposable {
  readonly #script: URL
  readonly #start: Start<Setup>
  readonly #limits: ThreadLimits
  readonly #step: Int32Array
  #worker: Worker | null = null

  constructor(script: URL, { setup, limits }: { readonly setup: Setup; readonly limits: ThreadLimits }) {
    const step = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    this.#script = script
    this.#start = { setup, step }
    this.#limits = limits
    this.#step = new Int32Array(step)
  }

  /** Performs one task. The next one may only follow when this one has ended. */
  async run(task: Task): Promise<TaskEnd<Result>> {
    this.#worker ??= this.#started()
    try {
      const end = await this.#ended(this.#worker, task)
      if ('stopped' in end) await this[Symbol.asyncDispose]()
      return end
    } catch (error) {
      await this[Symbol.asyncDispose]()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  async #ended(worker: Worker, task: Task): Promise<TaskEnd<Result>> {
    const { promise, resolve, reject } = Promise.withResolvers<TaskEnd<Result>>()
    const answered = (result: Result) => resolve({ result })
    const failed = (error: unknown) => {
      const step = Math.max(0, Atomics.load(this.#step, 0))
      if (errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY') resolve({ stopped: 'out of memory', step })
      else reject(error)
    }
    const exited = (code: number) => reject(new Error(`the thread ended with ${code}`))
    Atomics.store(this.#step, 0, idle)
    const watch = this.#watch((step) => resolve({ stopped: 'too slow', step }))
    worker.once('message', answered).once('error', failed).once('exit', exited)
    // Only a running task keeps the process alive.
    worker.ref()
    worker.postMessage(task)
    try {
      return await promise
    } finally {
      clearInterval(watch)
      worker.off('message', answered).off('error', failed).off('exit', exited)
      worker.unref()
    }
  }

  /** Notices a step that goes on for too long. It counts ticks instead of time, so that a process that was suspended blames no task. */
  #watch(tooSlow: (step: number) => void): NodeJS.Timeout {
    let before = idle
    let ticks = 0
    return setInterval(() => {
      const step = Atomics.load(this.#step, 0)
      ticks = step === before && step !== idle ? ticks + 1 : 0
      before = step
      if (ticks >= ticksInAStep) tooSlow(step)
    }, this.#limits.stepMs / ticksInAStep)
  }

  #started(): Worker {
    const worker = new Worker(this.#script, {
      workerData: this.#start,
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb },
      env: {},
      execArgv: [],
    })
    // An error between two tasks ends the thread. The next task starts another one.
    worker.on('error', () => {})
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = null
    })
    worker.unref()
    return worker
  }
}

/** Inside a thread: performs its tasks. `perform` calls `begin` with a number at the start of each step; the first step is 0. */
export function performTasks<Task, Result>(
  perform: (task: Task, begin: (step: number) => void) => Result | Promise<Result>,
): void {
  const { step }: Start<unknown> = workerData
  const running = new Int32Array(step)
  const begin = (number: number): void => {
    Atomics.store(running, 0, number)
  }
  parentPort?.on('message', async (task: Task) => {
    begin(0)
    const result = await perform(task, begin)
    begin(idle)
    parentPort?.postMessage(result)
  })
}

/** Inside a thread: what it was started with. */
export function threadSetup<Setup>(): Setup {
  return (workerData as Start<Setup>).setup
}
