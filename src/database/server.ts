import { Failure } from '../errors.ts'
import type { FolderPolicy } from './embedded.ts'
import { createPool, type Engine, type Pool } from './pool.ts'
import { refuseSharedSessions } from './pooler.ts'
import { parseServerAddress, type ServerAddress } from './server-address.ts'
import { createServerClient } from './server-client.ts'
import { serverReason } from './server-reason.ts'
import { serverSettings } from './session-settings.ts'
import { defaultSessionCheckMs } from './session-watch.ts'

const defaultPoolSize = 14
const connectTimeoutMs = 30_000
/** Idle time after which the system probes whether the other side is still there. */
const keepAliveAfterMs = 10_000

/**
 * Connects to a PostgreSQL server. With several hosts, to the one that takes writes. Fails with `database_unreachable` and the reason, and
 * with `config_invalid` if a pooler in between shares its sessions.
 */
export async function openServer(options: {
  at: string
  settings: Readonly<Record<string, string>>
  poolSize?: number
  existing?: FolderPolicy
  sessionCheckMs?: number
}): Promise<Engine> {
  const address = parseServerAddress(options.at)
  const pool = createServerPool(address, options)
  try {
    await reach(pool, address)
    await refuseSharedSessions(pool, address.location)
  } catch (error) {
    await pool.end()
    throw error
  }
  return { kind: 'postgres', pool, location: address.location, [Symbol.asyncDispose]: () => pool.end() }
}

type ServerPoolOptions = {
  readonly settings: Readonly<Record<string, string>>
  readonly poolSize?: number
  readonly sessionCheckMs?: number
}

/** A pool of connections to a PostgreSQL server. It connects on first use. */
function createServerPool(
  address: ServerAddress,
  { settings, poolSize = defaultPoolSize, sessionCheckMs = defaultSessionCheckMs }: ServerPoolOptions,
): Pool {
  return createPool({
    Client: createServerClient(address, { settings: serverSettings(settings, address.sets), sessionCheckMs }),
    ...(address.options !== '' && { options: address.options }),
    ...(address.ssl !== undefined && { ssl: address.ssl }),
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  })
}

/** Tries each host once. A refusal of one leads the next connection to the next one. */
async function reach(pool: Pool, { hosts, location }: ServerAddress): Promise<void> {
  const refusals: unknown[] = []
  for (const _ of hosts) {
    const refusal = await pool.query('SELECT 1').then(
      () => null,
      (error: unknown) => ({ error }),
    )
    if (refusal === null) return
    refusals.push(refusal.error)
  }
  throw new Failure(
    'database_unreachable',
    `cannot use ${location}: ${[...new Set(refusals.map(serverReason))].join('; ')}`,
    {
      cause: refusals.at(-1),
    },
  )
}
