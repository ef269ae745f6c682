import { type Config, loadConfig } from '../daemon/config/config.ts'
import { resolveConfigPath } from '../daemon/config/config-path.ts'
import { Failure } from '../errors.ts'
import { type Control, controlOverSocket } from './control-client.ts'
import { findDaemon } from './find-daemon.ts'
import { createOutput, type Output } from './output.ts'
import { listenForStop, type StopSignal } from './stop-signal.ts'

export type CommonOptions = { readonly config?: string; readonly json?: boolean; readonly connection?: string }

/** What a command works with. */
export type Session = {
  readonly config: Config
  readonly output: Output
  readonly control: Control
  /** Aborted when a person wants the command to stop. */
  readonly signal: AbortSignal
}

/** Reads the configuration that the options name. */
export async function configOf({ config }: CommonOptions): Promise<Config> {
  return await loadConfig(resolveConfigPath(config, process.cwd()), process.env)
}

/**
 * Runs a command against the daemon where one runs, and otherwise against the opened store itself. With `works` this process then
 * also does the work that the command asks for.
 */
export async function withSession(
  options: CommonOptions,
  { works = false }: { works?: boolean },
  command: (session: Session) => Promise<number>,
): Promise<number> {
  const output = createOutput({ json: options.json ?? false })
  const config = await configOf(options)
  using stop = listenForStop()
  try {
    const daemon = await findDaemon(config)
    if (daemon) return await command({ config, output, control: controlOverSocket(daemon), signal: stop.signal })
    const { openHere } = await import('./here.ts')
    if (config.platform.isReadable) output.note(readableWarning(config))
    await using here = await openHere(config, { works, signal: stop.signal })
    return await command({ config, output, control: here.control, signal: stop.signal })
  } catch (error) {
    return stopped(error, stop, output)
  }
}

/** Said of an http:// address of another machine, which `platform.insecure` allows. */
export function readableWarning({ platform }: Config): string {
  return `! what is sent to ${platform.baseUrl} can be read and changed on the way: write https:// in platform.baseUrl`
}

/** The connection that the options name, or the only one there is. */
export function connectionNamed({ connection }: CommonOptions, { connections }: Config): string {
  const names = [...connections.keys()]
  if (connection !== undefined && names.includes(connection)) return connection
  const known = names.join(', ')
  if (connection !== undefined) {
    throw new Failure('usage', `there is no connection "${connection}" in the configuration; it has ${known}`)
  }
  const [only, ...others] = names
  if (only !== undefined && others.length === 0) return only
  throw new Failure('usage', `the configuration has several connections (${known}): name one with --connection`)
}

function stopped(error: unknown, stop: StopSignal, output: Output): number {
  const exit = stop.exit()
  if (exit === null) throw error
  output.note('stopped; what was accepted stays, and the next start goes on with it')
  return exit
}
