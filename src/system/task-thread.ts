import { parentPort, Worker, workerData } from 'node:worker_threads'
import { errorCode } from '../errors.ts'

/** The step number while no step is running. */
const idle = -1
const looksPerStep = 4
/** While native code runs in a thread, its processor time cannot be read: it is then stopped after this multiple of the limit. */
const maxSilentSteps = 20
/** In a package that is installed, each thread needs the hook that strips types (bin/strip-types.mjs). Threads do not inherit it. */
const isPackage = import.meta.url.includes('/node_modules/')
const typeStripper = new URL('../../bin/strip-types.mjs', import.meta.url).href

type ThreadLimits = {
  /** How much time of a processor one step of a task may take. */
  readonly stepMs: number
  readonly memoryMb: number
}

/** The result of a task, or why the thread was stopped and in which step. */
type TaskEnd<Result> =
  | { readonly result: Result }
  | { readonly stopped: 'too slow' | 'out of memory'; readonly step: number }

/** The data a thread is started with. Both sides share the memory that holds the number of the running step. */
type Start<Setup> = { readonly setup: Setup; readonly step: SharedArrayBuffer }

/**
 * Owns a thread for tasks that may never end, such as expressions and schemas that people write. The first task starts the thread. A step
 * that takes too long or too much memory stops it, and the next task starts a new one. `script`: the module that the thread runs, which
 * calls `performTasks`.
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

  /** Performs one task. Call it again only after the task has ended. */
  async run(task: Task): Promise<TaskEnd<Result>> {
    this.#worker ??= this.#startWorker()
    try {
      const end = await this.#perform(this.#worker, task)
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

  async #perform(worker: Worker, task: Task): Promise<TaskEnd<Result>> {
    const { promise, resolve, reject } = Promise.withResolvers<TaskEnd<Result>>()
    const onMessage = (result: Result) => resolve({ result })
    const onError = (error: unknown) => {
      const step = Math.max(0, Atomics.load(this.#step, 0))
      if (errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY') resolve({ stopped: 'out of memory', step })
      else reject(error)
    }
    const onExit = (code: number) => reject(new Error(`the thread ended with ${code}`))
    Atomics.store(this.#step, 0, idle)
    const watch = this.#watch(worker, (step) => resolve({ stopped: 'too slow', step }))
    worker.once('message', onMessage).once('error', onError).once('exit', onExit)
    // Only a running task keeps the process alive.
    worker.ref()
    worker.postMessage(task)
    try {
      return await promise
    } finally {
      clearInterval(watch)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      worker.unref()
    }
  }

  /**
   * Calls `onTooSlow` if a step takes too long. Counts the time that the thread has had of a processor, so that neither a busy machine nor a
   * suspended process blames a task.
   */
  #watch(worker: Worker, onTooSlow: (step: number) => void): NodeJS.Timeout {
    const { stepMs } = this.#limits
    let seen = { step: idle, usedMs: 0, looks: 0 }
    return setInterval(async () => {
      const step = Atomics.load(this.#step, 0)
      if (step === seen.step) seen.looks += 1
      else seen = { step, usedMs: Number.NaN, looks: 0 }
      if (step === idle) return
      if (seen.looks >= looksPerStep * maxSilentSteps) return onTooSlow(step)
      const at = seen
      const usedMs = await processorMs(worker)
      if (at !== seen || usedMs === null) return
      if (Number.isNaN(at.usedMs)) at.usedMs = usedMs
      else if (usedMs - at.usedMs >= stepMs) onTooSlow(step)
    }, stepMs / looksPerStep)
  }

  #startWorker(): Worker {
    const worker = new Worker(this.#script, {
      workerData: this.#start,
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb },
      env: {},
      execArgv: isPackage ? ['--import', typeStripper] : [],
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

/** The time that a thread has had of a processor; null if the thread has ended. */
async function processorMs(worker: Worker): Promise<number | null> {
  try {
    const { user, system } = await worker.cpuUsage()
    return (user + system) / 1000
  } catch {
    return null
  }
}

/** Called inside a thread: performs its tasks. `perform` calls `begin` with a number at the start of each step; the first step is 0. */
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

/** Called inside a thread: the `setup` that it was started with. */
export function threadSetup<Setup>(): Setup {
  return (workerData as Start<Setup>).setup
}
