import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { loadsOfService } from '../helpers/loads.ts'
import { newDatabase } from './place.ts'
import { bareArguments, bareSurroundings, openFolder } from './start.ts'

const rollcall = fileURLToPath(new URL('../../bin/rollcall', import.meta.url))
const readyText = 'daemon started'

/** The memory, in MiB, of a daemon that has nothing to do and of a bare Node that has loaded the same libraries, and their number. */
export type Idle = { readonly ours: number; readonly reference: number; readonly libraries: number }

/** Measures the memory of both after the same time. The store is PostgreSQL, because an embedded database would be in the process. */
export async function measureIdle(server: string, seconds: number): Promise<Idle> {
  await using opening = new AsyncDisposableStack()
  const { config } = opening.use(await openFolder(opening.use(await newDatabase(server)).url))
  const args = ['serve', '--json', '--config', config]
  const { libraries } = await loadsOfService(args, readyText)
  const ours = await measureMemory([rollcall, ...args], readyText, seconds)
  const reference = await measureMemory(
    [process.execPath, ...bareArguments(libraries, seconds * 10_000)],
    'there',
    seconds,
  )
  return { ours, reference, libraries: libraries.length }
}

async function measureMemory(
  [program = '', ...args]: readonly string[],
  ready: string,
  seconds: number,
): Promise<number> {
  const child = spawn(program, args, { ...bareSurroundings, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  try {
    await waitForOutput(child, ready)
    await pause(seconds * 1000)
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${child.pid}/status`, 'utf8')) ?? []
    return Number(kib) / 1024
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

async function waitForOutput(child: ChildProcess, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      output = `${output}${piece}`.slice(-4000)
      if (output.includes(text)) resolve()
    })
  child.once('exit', () => reject(new Error(`the process ended before it was ready:\n${output}`)))
  await promise
}
