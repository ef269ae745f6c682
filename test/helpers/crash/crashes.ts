import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Control, controlOverSocket } from '../../../src/cli/session/control-client.ts'
import { readAddress } from '../../../src/daemon/control/address-file.ts'
import type { Workplace } from '../workplace.ts'

const program = fileURLToPath(new URL('daemon.ts', import.meta.url))
const restless: readonly string[] = ['waiting', 'reading', 'planned', 'delivering']
const endings: readonly string[] = ['run.finished', 'run.unchanged', 'run.held', 'run.failed']

/** An event as the daemon printed it before acting on it. */
export type DaemonEvent = { readonly event: string } & Readonly<Record<string, unknown>>

/** A daemon in a process of its own that can be killed, or configured to die at a step. */
export type CrashDaemon = AsyncDisposable & {
  readonly pid: number | undefined
  /** All events it has printed so far. */
  readonly events: readonly DaemonEvent[]
  /** Nobody has killed it, and it has not ended by itself. */
  readonly lives: boolean
  /** Lets it begin, and resolves when it serves. */
  start(): Promise<void>
  /** From now on it dies by its own hand at a step, see `crash-daemon.ts`. */
  dieAt(step: string, nth?: number): Promise<void>
  /** Resolves when it has printed the event; rejects if it ends before. */
  waitForEvent(event: string): Promise<void>
  /** The same for a number of events of any kind. */
  waitForEventCount(count: number): Promise<void>
  /** Resolves when the process has ended, with its exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  /** How much memory it needs, in bytes, after everything else was collected. */
  weigh(): Promise<number>
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>
  /** Where a daemon that serves has its console. */
  url(): string
  /** The control API of a daemon that serves. */
  control(): Promise<Control>
  /** Resolves when every run has come to rest. */
  atRest(): Promise<void>
}

/** Prepares a daemon that starts on command. */
export function prepareDaemon({ folder, configFile }: Workplace): CrashDaemon {
  const child = spawn(process.execPath, [program, configFile], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // A daemon that is dying may not read its input.
  child.stdin.on('error', () => {})
  const events: DaemonEvent[] = []
  const lines = createInterface(child.stdout)
  const ended = once(child, 'close').then(([code, signal]): number | NodeJS.Signals | null => code ?? signal)
  const state = { lives: true }
  let control: Promise<Control> | undefined
  child.on('exit', () => {
    state.lives = false
  })
  lines.on('line', (line) => events.push(JSON.parse(line)))

  /** Resolves with the first value of `find`, which is called at once and after each event. */
  async function until<T>(expectation: string, find: () => T | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const look = () => {
      const answer = find()
      if (answer !== undefined) resolve(answer)
    }
    lines.on('line', look)
    look()
    ended.then((end) => reject(new Error(`the daemon ended (${end}) before ${expectation}`)))
    return await promise.finally(() => lines.off('line', look))
  }

  const sendLine = (line: string) => {
    child.stdin.write(`${line}\n`)
  }
  const addressOf = () => events.find(({ event }) => event === 'daemon.started')?.address
  const countEvents = (...names: readonly string[]) => events.filter(({ event }) => names.includes(event)).length

  const daemon: CrashDaemon = {
    pid: child.pid,
    events,
    get lives() {
      return state.lives
    },
    ended,
    async start() {
      sendLine('start')
      await until('it served', addressOf)
    },
    async dieAt(step, nth = 1) {
      const before = countEvents('armed')
      sendLine(`die ${step} ${nth}`)
      await until('it was armed', () => countEvents('armed') > before || undefined)
    },
    async waitForEvent(event) {
      await until(`it told ${event}`, () => events.find((one) => one.event === event))
    },
    async waitForEventCount(count) {
      await until(`it told ${count} events`, () => events.length >= count || undefined)
    },
    async weigh() {
      const before = countEvents('weighed')
      sendLine('weigh')
      await until('it was weighed', () => countEvents('weighed') > before || undefined)
      const weighed = events.findLast(({ event }) => event === 'weighed')
      return Number(weighed?.heapBytes) + Number(weighed?.externalBytes)
    },
    async kill(signal = 'SIGKILL') {
      if (state.lives) child.kill(signal)
      state.lives = false
      return await ended
    },
    url: () => String(addressOf() ?? ''),
    async control() {
      // One for all, as each keeps connections of its own open.
      control ??= readAddress(`${folder}/data`).then((address) =>
        controlOverSocket({ socket: address?.socket ?? 'nowhere' }),
      )
      return await control
    },
    async atRest() {
      const client = await daemon.control()
      for (;;) {
        const before = countEvents(...endings)
        const { data } = await client.listRuns({ query: { limit: 1000 } })
        if (!data.some(({ state: runState }) => restless.includes(runState))) return
        await until('its runs came to rest', () => countEvents(...endings) > before || undefined)
      }
    },
    async [Symbol.asyncDispose]() {
      await daemon.kill()
    },
  }
  return daemon
}
