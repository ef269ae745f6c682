import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { z } from 'zod'
import { peakMiB } from './report.ts'

const start = fileURLToPath(new URL('../../bin/start.mjs', import.meta.url))
const platformScript = fileURLToPath(new URL('simulated-platform.ts', import.meta.url))
const lookMs = 20

const Totals = z.object({
  requests: z.int(),
  refused: z.int(),
  people: z.int(),
  unknown: z.array(z.string()),
  answeredMs: z.number(),
})

/** What a simulated platform has been asked. `answeredMs`: when it acknowledged the newest batch, in milliseconds of the system clock. */
export type Totals = z.infer<typeof Totals>

/** A platform in a separate process, which keeps people in memory. `totals` throws if it was asked for something that it does not know. */
export async function startSimulatedPlatform({
  requestsPerMinute,
  latencyMs,
}: {
  readonly requestsPerMinute: number
  readonly latencyMs: number
}) {
  await using opening = new AsyncDisposableStack()
  const child = opening.use(startProcess([platformScript, `${requestsPerMinute}`, `${latencyMs}`]))
  const { baseUrl } = z.object({ baseUrl: z.string() }).parse(JSON.parse(await child.waitForOutput('}')))
  const opened = opening.move()
  return {
    baseUrl,
    async totals(): Promise<Totals> {
      const totals = Totals.parse(await (await fetch(new URL('/totals', baseUrl))).json())
      if (totals.unknown.length > 0) throw new Error(`the simulated platform does not know ${totals.unknown[0]}`)
      return totals
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** A daemon of all roles in a separate process, after its start. */
export async function startDaemonProcess(config: string): Promise<AsyncDisposable & { readonly pid: number }> {
  await using opening = new AsyncDisposableStack()
  const daemon = opening.use(startProcess([start, 'serve', '--json', '--config', config]))
  await daemon.waitForOutput('daemon started')
  const opened = opening.move()
  return { pid: daemon.pid, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Waits until these runs have ended. Returns how long the last one took from its request, in seconds. Throws unless all succeeded. */
export async function finished(store: pg.Client, runIds: readonly string[]): Promise<number> {
  while (!(await areFinished(store, runIds))) await pause(lookMs)
  const { rows } = await store.query<{ seconds: number }>(
    `select max(extract(epoch from finished_at - created_at))::float8 as seconds from rollcall.runs where id = any($1)`,
    [runIds],
  )
  return rows[0]?.seconds ?? Number.NaN
}

/** Whether these runs have ended. Throws if one of them did not succeed. */
export async function areFinished(store: pg.Client, runIds: readonly string[]): Promise<boolean> {
  const { rows } = await store.query<{ state: string; reason: string | null }>(
    'select distinct state, reason from rollcall.runs where id = any($1)',
    [runIds],
  )
  const wrong = rows.find(({ state }) => ['held', 'failed', 'finished_with_problems', 'cancelled'].includes(state))
  if (wrong) throw new Error(`a run came to ${wrong.state}: ${wrong.reason}`)
  return rows.every(({ state }) => state === 'finished' || state === 'unchanged')
}

/** The processor time and the peak memory of a process. */
export async function usedBy(pid: number): Promise<{ readonly cpuSeconds: number; readonly peakMib: number }> {
  const ticks = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return { cpuSeconds: (Number(ticks[11]) + Number(ticks[12])) / 100, peakMib: await peakMiB(pid) }
}

type Started = AsyncDisposable & { readonly pid: number; waitForOutput(text: string): Promise<string> }

/** A separate Node process. Only the end of its output is kept. */
function startProcess(args: readonly string[]): Started {
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let output = ''
  const listeners = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      output = `${output}${piece}`.slice(-4000)
      for (const listen of listeners) listen()
    })
  return {
    pid: child.pid ?? 0,
    async waitForOutput(text) {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const listen = () => {
        if (output.includes(text)) resolve(output)
      }
      listeners.add(listen)
      listen()
      child.once('exit', () => reject(new Error(`a process ended:\n${output}`)))
      return await promise
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      await ended
    },
  }
}
