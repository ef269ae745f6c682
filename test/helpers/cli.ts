import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const command = fileURLToPath(new URL('../../bin/rollcall', import.meta.url))

export type Ended = { readonly exit: number | null; readonly stdout: string; readonly stderr: string }

/** A command under way; disposing kills it hard if it still runs. */
export type Running = AsyncDisposable & {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves when it has printed the text; rejects if it ends before. */
  waitForOutput(text: string): Promise<void>
  /** Everything it has printed so far. */
  output(): string
}

type StartOptions = { readonly env?: Readonly<Record<string, string>>; readonly command?: string }

/** Starts a command as a person would, without a terminal. */
export function startCommand(
  args: readonly string[],
  { env = {}, command: program = command }: StartOptions = {},
): Running {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A test of colours may run in the same process.
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, TZ: 'UTC', ...env },
  })
  const captured = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      captured[name] += text
      for (const listener of listeners) listener()
    })
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (exit) => resolve({ exit, ...captured }))
  })
  const waitForOutput = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const listen = () => {
        if (!(captured.stdout + captured.stderr).includes(text)) return
        listeners.delete(listen)
        resolve()
      }
      listeners.add(listen)
      listen()
      ended.then(({ stderr }) => reject(new Error(`the command ended without saying "${text}": ${stderr}`)), reject)
    })
  return {
    child,
    ended,
    waitForOutput,
    output: () => captured.stdout + captured.stderr,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Runs `bin/rollcall` to its end. */
export async function rollcall(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return await startCommand(args, { env }).ended
}
