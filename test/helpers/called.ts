import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Ended } from './cli.ts'

/** The message to a command host. */
export type CommandRequest = {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly input: string
  /** The folder that the command is called in. */
  readonly cwd: string
}
/** Its response. */
export type CommandResponse = Ended

const program = fileURLToPath(new URL('command-host.ts', import.meta.url))
/** Hosts that wait for their next command. Each ends with this process. */
const idle: ChildProcess[] = []

/**
 * Runs a command to its end as `rollcall` in `cli.ts` does, but in a process that stays for the next one: loading the program takes
 * longer than most commands do. What only a process of its own can show (signals, memory, the terminal) is started there.
 */
export async function call(
  args: readonly string[],
  {
    env = { ...process.env, NO_COLOR: '1' },
    input = '',
    cwd = process.cwd(),
  }: { env?: NodeJS.ProcessEnv; input?: string; cwd?: string } = {},
): Promise<Ended> {
  const host = idle.pop() ?? startHost()
  host.ref()
  host.channel?.ref()
  const answer = once(host, 'message').then(([answered]): CommandResponse => answered)
  const gone = once(host, 'exit').then(([code]): CommandResponse => {
    throw new Error(`the process of the command "${args.join(' ')}" ended with ${code}`)
  })
  gone.catch(() => undefined)
  host.send({ args, env, input, cwd } satisfies CommandRequest)
  const ended = await Promise.race([answer, gone])
  host.unref()
  host.channel?.unref()
  idle.push(host)
  return ended
}

function startHost(): ChildProcess {
  const host = fork(program, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [],
    env: { ...process.env, TZ: 'UTC' },
  })
  host.setMaxListeners(0)
  return host
}
