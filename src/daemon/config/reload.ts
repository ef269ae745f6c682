import type { Reload } from '../../contract/control/processes.ts'
import { Failure } from '../../errors.ts'
import type { Config } from './config.ts'
import type { Secret } from './secret.ts'

/** What became of the newest reload; null as long as none was asked for. */
export type Reloads = {
  readonly last: Reload | null
  /** Has the configuration read again soon. Left out: that takes a signal, or a new start. */
  readonly ask?: () => void
}

/** Refuses a configuration that this process cannot take up while it runs. */
export async function refuseFixed(former: Config, next: Config): Promise<void> {
  const fixed: readonly (readonly [string, unknown, unknown])[] = [
    ['database', await placeOf(former.database), await placeOf(next.database)],
    ['queue', await placeOf(former.queue), await placeOf(next.queue)],
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

/** Where a database or queue is, without the account: a password may be replaced. */
async function placeOf(address: Secret | null): Promise<string | null> {
  if (address === null) return null
  const url = URL.parse(await address.read())
  return url && `${url.protocol}//${url.host}${url.pathname}`
}

/** Why a configuration is not taken up. An error that nobody expected refuses it as well: what works goes on. */
export function refusalReason(error: unknown): string {
  return error instanceof Failure ? error.message : 'an unexpected error; the log has it'
}
