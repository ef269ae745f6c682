import { Failure } from '../errors.ts'
import { createPool, type Engine, type Pool } from './pool.ts'
import { PreparingClient } from './prepared.ts'
import { settingArguments } from './session-settings.ts'

const defaultPoolSize = 10
const connectTimeoutMs = 30_000

/**
 * Our code waits for nothing but the database inside a transaction. If a transaction stays idle, its process was suspended or cut off.
 * The server then ends the session, so that the locked rows are free for others.
 */
const serverSettings = { idle_in_transaction_session_timeout: '30s' }

type PostgresAddress = {
  readonly url: URL
  /** Host, port and database, for messages. It never holds user or password. */
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

/** Reads `postgres://user:password@host:5432/name`. A refusal does not repeat the address, because it may hold a password. */
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

/** A pool of connections to a PostgreSQL server. It connects on first use. Our settings follow the `options` of the address. */
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

/** The reason in words. A host with several addresses fails with one error for each, in an error without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  return error instanceof Error ? error.message : String(error)
}
