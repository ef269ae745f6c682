import type { Reload } from '../../contract/control/processes.ts'
import { Failure } from '../../errors.ts'
import type { Config } from './config.ts'
import type { Secret } from './secret.ts'

/** Reloads of the configuration. `last`: the newest one; null if there was none. */
export type Reloads = {
  readonly last: Reload | null
  /** Requests a reload. Left out: only a signal or a restart reloads. */
  readonly ask?: () => void
}

/** Throws `config_invalid` for a configuration that a running process cannot change to. */
export async function refuseFixed(former: Config, next: Config): Promise<void> {
  const fixed: readonly (readonly [string, unknown, unknown])[] = [
    ['database', await addressOf(former.database), await addressOf(next.database)],
    ['queue', await addressOf(former.queue), await addressOf(next.queue)],
    ['dataDir', former.dataDir, next.dataDir],
    ['server.host', former.server.host, next.server.host],
    ['server.port', former.server.port, next.server.port],
  ]
  if (former.connections.size > 0 && next.connections.size === 0)
    throw new Failure(
      'config_invalid',
      'the configuration has lost its connections: restart the daemon if that is meant',
    )
  const changed = fixed.flatMap(([name, before, after]) => (before === after ? [] : [name]))
  if (changed.length === 0) return
  throw new Failure('config_invalid', `${changed.join(', ')} cannot change while the daemon runs: restart it`)
}

/** The address of a database or queue without its account: a password may be replaced. */
async function addressOf(address: Secret | null): Promise<string | null> {
  if (address === null) return null
  const url = URL.parse(await address.read())
  return url && `${url.protocol}//${url.host}${url.pathname}`
}

/** Why a new configuration is refused. An unexpected error refuses it too; the current one stays in effect. */
export function refusalReason(error: unknown): string {
  return error instanceof Failure ? error.message : 'an unexpected error; the log has it'
}
