import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

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
  return start(script, args, { detached: false })
}

/** As `startChild`, in a process group of its own: a Ctrl-C in the terminal does not reach it. */
export function startDetachedChild(script: URL): Child {
  return start(script, [], { detached: true })
}

/** The next line a child prints; its end is an error. */
export async function nextLine({ lines }: Child): Promise<string> {
  const { value, done } = await lines.next()
  if (done) throw new Error('the child ended without another line')
  return value
}

function start(script: URL, args: readonly string[], { detached }: { readonly detached: boolean }): Child {
  const child = spawn(process.execPath, [fileURLToPath(script), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached,
  })
  if (child.pid === undefined) throw new Error(`cannot start ${script.href}`)
  const ended = once(child, 'exit')
  const kill = async () => {
    if (isRunning(child)) child.kill('SIGKILL')
    await ended
  }
  return {
    pid: child.pid,
    lines: linesOf(child.stdout),
    async finish() {
      child.stdin.end()
      await ended
      return child.exitCode
    },
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

/** Every whole line of a stream, also of what was written before its writer was killed. */
async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}
