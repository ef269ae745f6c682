import type { ClientConfig } from 'pg'
import { Failure } from '../errors.ts'
import { PreparingClient } from './prepared.ts'
import type { ServerAddress, ServerHost } from './server-address.ts'

/**
 * The client of a pool. Its session begins with these settings. They are sent as a statement: poolers do not pass on what a connection asks
 * for at its start. Each client connects to the host that was reached last; when that one refuses, the next client tries the next host.
 */
export function createServerClient({ hosts }: ServerAddress, settings: Readonly<Record<string, string>>) {
  let current = 0

  return class ServerClient extends PreparingClient {
    readonly #tried: number

    constructor(config: ClientConfig = {}) {
      super({ ...config, connectionString: hostAt(current).url })
      this.#tried = current
    }

    // node-postgres' pool connects with a callback and drops a client that it cannot use.
    override connect(...[done]: readonly unknown[]): never {
      const told = done as (error?: Error) => void
      // Between the connection and the pool's own listener, an error would end the process.
      this.on('error', () => {})
      const connect = super.connect as (done: (error?: Error) => void) => void
      return connect.call(this, (error) => {
        if (error) return this.#leave(told, error)
        beginSession(this, hostAt(this.#tried), settings).then(
          () => told(),
          (refusal: Error) => {
            this.end().catch(() => {})
            this.#leave(told, refusal)
          },
        )
      }) as never
    }

    #leave(told: (error: Error) => void, error: Error): void {
      // Clients that failed together move on by one host together.
      if (current === this.#tried) current = (current + 1) % hosts.length
      told(error)
    }
  }

  function hostAt(index: number): ServerHost {
    return hosts[index] as ServerHost
  }
}

/** Settings that a server does not know, because it is older, are left out. */
const begin = `
  SELECT pg_is_in_recovery() AS "isReplica", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
    (SELECT count(set_config(name, value, false)) FROM json_each_text($1) AS wanted(name, value)
      WHERE current_setting(name, true) IS NOT NULL) AS set`

type Begun = { readonly isReplica: boolean; readonly isReadOnly: boolean }

async function beginSession(
  client: PreparingClient,
  { name }: ServerHost,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const asked: Promise<{ rows: Begun[] }> = client.query(begin, [JSON.stringify(settings)])
  const [begun] = (await asked).rows
  if (begun?.isReplica) {
    throw new Failure(
      'database_unreachable',
      `${name} is a replica, which takes no writes; name the primary, or all hosts with commas between them`,
    )
  }
  if (begun?.isReadOnly) {
    throw new Failure(
      'database_unreachable',
      `${name} lets this user only read (default_transaction_read_only is on); turn it off for the user`,
    )
  }
}
