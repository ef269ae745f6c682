import { Failure } from '../errors.ts'
import { createPool, type Engine, type Pool } from './pool.ts'
import { PreparingClient } from './prepared.ts'
import { settingArguments } from './session-settings.ts'

const defaultPoolSize = 10
const connectTimeoutMs = 30_000

/**
 * Nothing here waits for anything but the database inside of a transaction. A process that does so all the same is stopped, or was cut off:
 * the server ends its session, so that the rows that it has locked are free for the others.
 */
const serverSettings = { idle_in_transaction_session_timeout: '30s' }

type PostgresAddress = {
  readonly url: URL
  /** Host, port and database, fit for messages: it never holds user or password. */
  readonly place: string
}

/** Connects to a PostgreSQL server, or fails with `database_unreachable` and the reason. */
export async function openServer(options: {
  at: string
  settings: Readonly<Record<string, string>>
  poolSize?: number | undefined
}): Promise<Engine> {
  const address = parsePostgresAddress(options.at)
  const pool = createPostgresPool(address, options)
  try {
    await pool.query('SELECT 1')
  } catch (error) {
    await pool.end()
    throw new Failure('database_unreachable', `cannot use ${address.place}: ${reasonOf(error)}`, { cause: error })
  }
  return { kind: 'postgres', pool, place: address.place, [Symbol.asyncDispose]: () => pool.end() }
}

/** Reads `postgres://user:password@host:5432/name`; refuses what is no such address without repeating it, as it may hold a password. */
function parsePostgresAddress(at: string): PostgresAddress {
  const url = URL.parse(at)
  if (url === null) {
    throw new Failure(
      'config_invalid',
      'the database address cannot be read; write postgres://user:password@host:5432/name and percent-encode special characters in the password',
    )
  }
  const host = decodeURIComponent(url.hostname) || url.searchParams.get('host') || 'localhost'
  const port = url.port || url.searchParams.get('port') || '5432'
  return { url, place: `PostgreSQL at ${host}:${port}${url.pathname}` }
}

/** A pool over a PostgreSQL server. Connects lazily; what the address says in `options` comes before our settings. */
function createPostgresPool(
  { url }: PostgresAddress,
  {
    settings,
    poolSize = defaultPoolSize,
  }: { settings: Readonly<Record<string, string>>; poolSize?: number | undefined },
): Pool {
  const bare = new URL(url)
  bare.searchParams.delete('options')
  const options = [url.searchParams.get('options') ?? '', ...settingArguments({ ...serverSettings, ...settings })]
    .join(' ')
    .trim()
  return createPool({
    Client: PreparingClient,
    connectionString: bare.href,
    options,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  })
}

/** A host with several addresses fails with one error for each of them and an empty message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  return error instanceof Error ? error.message : String(error)
}
