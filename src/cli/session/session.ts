import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../daemon/config/config.ts'
import { findConfig } from '../../daemon/config/config-path.ts'
import { type LoadOptions, loadConfig } from '../../daemon/config/load-config.ts'
import { Failure } from '../../errors.ts'
import type { CommandContext } from './command-context.ts'
import type { Control } from './control-client.ts'
import { type DaemonEndpoint, findDaemon } from './find-daemon.ts'
import { createOutput, type Output } from './output.ts'
import { listenForStop, type StopSignal } from './stop-signal.ts'

/** How long a daemon that has the store may take until it responds. */
const maxDaemonStartMs = 5000
const daemonCheckMs = 250

/** The options that all commands share. */
export type CommonOptions = {
  readonly config?: string
  readonly json?: boolean
  /** Whether the command says which configuration it uses. */
  readonly verbose?: boolean
  readonly connection?: string
}

/** The options of commands that show values of people. `out`: the file that they are written to. */
type ShownOptions = { readonly showValues?: boolean; readonly out?: string }

const hiddenValues = '! values are shown on a terminal only, or with --json: what goes to a file or a pipe has none'

/** What a command works with. */
export type Session = {
  readonly config: Config
  readonly output: Output
  readonly control: Control
  /** Aborted when a person wants the command to stop. */
  readonly signal: AbortSignal
}

/**
 * Reads the configuration that the options name, or the default one. An unreadable secret is refused at once, unless it may be read later
 * or never. A connection that the options name and the configuration lacks is refused too.
 */
export async function configOf(
  options: CommonOptions,
  { secrets = 'now' }: Pick<LoadOptions, 'secrets'> = {},
): Promise<Config> {
  const { file, namedBy } = findConfig({ option: options.config, env: process.env, workingDirectory: process.cwd() })
  if (options.verbose) createOutput(options).printMessage(`the configuration is ${file}, from ${namedBy}`)
  const help = namedBy === 'ROLLCALL_CONFIG' ? 'set ROLLCALL_CONFIG to the configuration' : undefined
  const config = await loadConfig(file, process.env, { secrets, ...(help !== undefined && { help }) })
  if (options.connection !== undefined) requireConnection(options, config)
  return config
}

/**
 * Runs a command against the running daemon, or else against the store itself. With `hasWorkers` this process also does the work that the
 * command requests; with `isReadOnly` it opens no queue.
 */
export async function withSession(
  options: CommonOptions & ShownOptions,
  { hasWorkers = false, isReadOnly = false }: CommandContext,
  command: (session: Session) => Promise<number>,
): Promise<number> {
  const output = createOutput(options)
  if (options.showValues && options.out === undefined && !output.mayShowValues(options))
    output.printMessage(hiddenValues)
  const config = await configOf(options, { secrets: 'when needed' })
  using stop = listenForStop()
  try {
    const daemon = await findDaemon(config)
    if (daemon) return await command({ config, output, control: await controlOf(daemon), signal: stop.signal })
    const { openLocally: openHere } = await import('./command-context.ts')
    if (config.platform.isUnencrypted) output.printMessage(unencryptedWarning(config))
    // Work needs secrets at some point; a command that cannot have them says so before it begins.
    const complete = hasWorkers ? await configOf({ ...options, verbose: false }) : config
    const opened = await openHere(complete, { hasWorkers, isReadOnly, signal: stop.signal }).catch(
      async (error: unknown) => {
        const startedDaemon = await daemonOfStore(error, config, stop.signal)
        if (startedDaemon === null) throw error
        return startedDaemon
      },
    )
    if (!('control' in opened))
      return await command({ config, output, control: await controlOf(opened), signal: stop.signal })
    await using here = opened
    return await command({ config: complete, output, control: here.control, signal: stop.signal })
  } catch (error) {
    return reportStop(error, stop, output)
  }
}

/** The client of the daemon takes a while to load, and is not needed without a daemon. */
async function controlOf(daemon: DaemonEndpoint): Promise<Control> {
  const { controlOverSocket } = await import('./control-client.ts')
  return controlOverSocket(daemon)
}

/**
 * The daemon that uses an embedded store, once it responds; null if none does soon. While it starts or reloads, it has its store some
 * seconds before it responds.
 */
async function daemonOfStore(error: unknown, config: Config, signal: AbortSignal): Promise<DaemonEndpoint | null> {
  if (!(error instanceof Failure) || error.code !== 'already_active') return null
  const until = performance.now() + maxDaemonStartMs
  while (performance.now() < until && !signal.aborted) {
    await pause(daemonCheckMs)
    const daemon = await findDaemon(config)
    if (daemon) return daemon
  }
  return null
}

/** Warns about an http:// address of another machine, which `platform.insecure` allows. */
function unencryptedWarning({ platform }: Config): string {
  return `! others on the network can read and change what is sent to ${platform.baseUrl}: use https:// in platform.baseUrl`
}

/** The connection that the options name, or the only one there is. */
export function requireConnection({ connection }: CommonOptions, { connections }: Config): string {
  const names = [...connections.keys()]
  if (connection !== undefined && names.includes(connection)) return connection
  if (names.length === 0) throw noConnection
  const known = names.join(', ')
  if (connection !== undefined) {
    throw new Failure('usage', `there is no connection "${connection}" in the configuration; it has ${known}`)
  }
  // Linked connections are read with the connection that they are linked to.
  const [only, ...others] = [...connections.values()].flatMap(({ name, linkedTo }) =>
    linkedTo === undefined ? [name] : [],
  )
  if (only !== undefined && others.length === 0) return only
  throw new Failure('usage', `the configuration has several connections (${known}): name one with --connection`)
}

const noConnection = new Failure(
  'config_invalid',
  'the configuration has no connection yet: create the first one with "rollcall init", or in the console of "rollcall serve"',
)

function reportStop(error: unknown, stop: StopSignal, output: Output): number {
  const exit = stop.exit()
  if (exit === null) throw error
  output.printMessage('stopped; accepted changes stay, and the next start continues with them')
  return exit
}
