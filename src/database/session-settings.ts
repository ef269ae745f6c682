import { Failure } from '../errors.ts'

/**
 * The server parameters of every session. Times are written in UTC, so that both engines and all hosts agree. A random page costs
 * hardly more than the next one, because databases are not on spinning disks any more: with PostgreSQL's default, finding the people
 * of one batch would read the whole of a large table. Compiling a statement costs up to a second each time, and saves nothing where rows are
 * found by their keys.
 */
export function sessionSettings(schemas: readonly string[]): Readonly<Record<string, string>> {
  for (const schema of schemas) {
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
      throw new Failure(
        'config_invalid',
        `"${schema}" cannot be the name of a database schema; use lower case letters, digits and _`,
      )
    }
  }
  return { search_path: schemas.join(','), timezone: 'UTC', random_page_cost: '1.1', jit: 'off' }
}

/**
 * Settings of server sessions that override those of the role and the database: values have one format, and statements and sessions have
 * no time limit.
 */
const everywhere = {
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
}

/**
 * Limits that the address of the database may override. Planning a million people takes statements of minutes, and some sessions only
 * listen or hold a lock. Inside a transaction our code waits for nothing but the database. If a transaction stays idle, its process was
 * suspended or disconnected, and the server ends the session, so that its locks are free for others.
 */
const limits = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '30s',
}

/** The settings of every session on a server, without the limits that its address sets by itself. */
export function serverSettings(
  settings: Readonly<Record<string, string>>,
  setByAddress: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const ownLimits = Object.entries(limits).filter(([name]) => !setByAddress.has(name))
  return { ...everywhere, ...Object.fromEntries(ownLimits), ...settings }
}

/** Settings as command line arguments of a server process. */
export function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
