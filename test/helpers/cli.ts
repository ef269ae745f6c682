import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../../bin/rollcall', import.meta.url))

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs `bin/rollcall` as an operator does, without a terminal, and waits for its end. */
export async function rollcall(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = [collected(child.stdout), collected(child.stderr)]
  const [code] = await once(child, 'close')
  return { code, stdout: stdout(), stderr: stderr() }
}

/** A process of `bin/rollcall` that runs until it is ended; disposing kills it hard if it still does. */
export type Running = AsyncDisposable & {
  readonly process: ChildProcess
  readonly ended: Promise<unknown>
  readonly stderr: () => string
  /** Resolves when its log has said so; rejects when it ends before. */
  says(what: string): Promise<void>
}

export function startRollcall(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const stderr = collected(child.stderr)
  child.stdout.resume()
  const ended = once(child, 'close')
  return {
    process: child,
    ended,
    stderr,
    async says(what) {
      while (!stderr().includes(what)) {
        const went = await Promise.race([once(child.stderr, 'data').then(() => 'on'), ended.then(() => 'ended')])
        if (went === 'ended' && !stderr().includes(what)) throw new Error(`it ended without "${what}": ${stderr()}`)
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
}

function collected(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}
