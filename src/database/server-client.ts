import type { ClientConfig } from 'pg'
import { errorCode, Failure } from '../errors.ts'
import { PreparingClient } from './prepared.ts'
import type { ServerAddress, ServerHost } from './server-address.ts'
import { type Session, SessionWatch, serverMark } from './session-watch.ts'

/** How long one of several hosts may take to accept a connection, before the next host is tried. */
const hostTimeoutMs = 10_000

/**
 * The client of a pool. Its session begins with these settings. They are sent as a statement, because poolers drop the start parameters of a
 * connection. Each client connects to the host that was reached last; when that one refuses, the next client tries the next host.
 */
export function createServerClient(
  { hosts, location }: ServerAddress,
  { settings, checkIntervalMs }: { settings: Readonly<Record<string, string>>; checkIntervalMs: number },
) {
  let current = 0

  return class ServerClient extends PreparingClient {
    readonly #tried: number
    readonly #watch: SessionWatch

    constructor(options: ClientConfig = {}) {
      const config = {
        ...options,
        connectionString: hostAt(current).url,
        ...(hosts.length > 1 && { connectionTimeoutMillis: hostTimeoutMs }),
      }
      super(config)
      this.#tried = current
      this.#watch = new SessionWatch(this, { config, checkIntervalMs })
    }

    // node-postgres' pool connects with a callback and drops a client that it cannot use.
    override connect(...[done]: readonly unknown[]): never {
      const notify = done as (error?: Error) => void
      // Between the connection and the pool's own listener, an error would end the process.
      this.on('error', () => {})
      const connect = super.connect as (done: (error?: Error) => void) => void
      return connect.call(this, (error) => {
        if (error) return this.#useNextHost(notify, error)
        beginSession(this, hostAt(this.#tried), settings).then(
          (session) => {
            this.#watch.begins(session)
            notify()
          },
          (refusal: Error) => {
            this.#watch.ends()
            super.end().catch(() => {})
            this.#useNextHost(notify, refusal)
          },
        )
      }) as never
    }

    // The pool asks with a callback, others wait for a promise.
    override query(...parameters: readonly unknown[]): never {
      const query = super.query as (...passed: readonly unknown[]) => unknown
      const answer = query.apply(
        this,
        parameters.map((argument) =>
          isCallback(argument) ? explaining(argument, { location, answered: this.#watch.expectAnswer() }) : argument,
        ),
      )
      if (!(answer instanceof Promise)) return answer as never
      const answered = this.#watch.expectAnswer()
      const result = answer.catch((error: unknown) => Promise.reject(explained(error, location)))
      return result.finally(answered) as never
    }

    override end(...done: readonly unknown[]): never {
      this.#watch.ends()
      const end = super.end as (...passed: readonly unknown[]) => unknown
      return end.apply(this, [...done]) as never
    }

    #useNextHost(notify: (error: Error) => void, error: Error): void {
      // Several clients that failed on the same host move on to the next host only once.
      if (current === this.#tried) current = (current + 1) % hosts.length
      notify(error)
    }
  }

  function hostAt(index: number): ServerHost {
    return hosts[index] as ServerHost
  }
}

/** Error codes of a cancelled statement, with the rest of the message and what helps. Other limits end the connection. */
const adviceByCode: Readonly<Record<string, string>> = {
  '57014':
    'has cancelled a statement: if the address sets statement_timeout, raise it; otherwise an administrator did it',
  '55P03': 'has let a statement wait too long for a lock: the address sets lock_timeout, so raise it',
}

type Callback = (error: unknown, ...answer: unknown[]) => void

function isCallback(value: unknown): value is Callback {
  return typeof value === 'function'
}

function explaining(
  callback: Callback,
  { location, answered }: { readonly location: string; readonly answered: () => void },
): Callback {
  return (error, ...answer) => {
    answered()
    callback(explained(error, location), ...answer)
  }
}

function explained(error: unknown, location: string): unknown {
  const advice = adviceByCode[errorCode(error) ?? '']
  return advice === undefined ? error : new Failure('database_unreachable', `${location} ${advice}`, { cause: error })
}

/** Sets the settings of the session, except those that an older server does not know, and returns facts about it. */
const beginStatement = `
  SELECT pg_backend_pid() AS pid, ${serverMark} AS server, pg_is_in_recovery() AS "isReplica", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
    (SELECT count(set_config(name, value, false)) FROM json_each_text($1) AS desired(name, value)
      WHERE current_setting(name, true) IS NOT NULL) AS set`

type BegunSession = Session & { readonly isReplica: boolean; readonly isReadOnly: boolean }

async function beginSession(
  client: PreparingClient,
  { name }: ServerHost,
  settings: Readonly<Record<string, string>>,
): Promise<Session> {
  const answer: Promise<{ rows: BegunSession[] }> = client.query(beginStatement, [JSON.stringify(settings)])
  const begun = (await answer).rows[0] as BegunSession
  if (begun.isReplica) {
    throw new Failure(
      'database_unreachable',
      `${name} is a replica, which takes no writes; name the primary, or all hosts with commas between them`,
    )
  }
  if (begun.isReadOnly) {
    throw new Failure(
      'database_unreachable',
      `${name} lets this user only read (default_transaction_read_only is on); turn it off for the user`,
    )
  }
  return begun
}
