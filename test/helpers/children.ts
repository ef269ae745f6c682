import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A program of ours in a process of its own; disposing kills it. */
export type Child = AsyncDisposable & {
  readonly pid: number
  /** What it prints, line by line. */
  readonly lines: AsyncIterableIterator<string>
  /** Ends its input and gives its exit code. */
  finish(): Promise<number | null>
  /** `kill -9`, and the end of it. */
  kill(): Promise<void>
}

export function startChild(script: URL, ...args: string[]): Child {
  const child = spawn(process.execPath, [script.pathname, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  if (child.pid === undefined) throw new Error(`cannot start ${script.pathname}`)
  const ended = once(child, 'exit')
  const kill = async () => {
    if (isRunning(child)) child.kill('SIGKILL')
    await ended
  }
  return {
    pid: child.pid,
    lines: createInterface(child.stdout)[Symbol.asyncIterator](),
    async finish() {
      child.stdin.end()
      await ended
      return child.exitCode
    },
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

/** The next line a child prints; its end is an error. */
export async function nextLine({ lines }: Child): Promise<string> {
  const { value, done } = await lines.next()
  if (done) throw new Error('the child ended without another line')
  return value
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}
