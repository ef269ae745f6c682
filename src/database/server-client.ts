import type { ClientConfig } from 'pg'
import { errorCode, Failure } from '../errors.ts'
import { PreparingClient } from './prepared.ts'
import type { ServerAddress, ServerHost } from './server-address.ts'
import { type Session, SessionWatch, serverMark } from './session-watch.ts'

/** How long one of several hosts may take to accept a connection, before the next host is tried. */
const hostTimeoutMs = 10_000

/**
 * Creates the client class of a pool. A statement sets the settings of each session, because poolers do not pass on the start parameters
 * of a connection. All clients use the same current host. If a connection to it fails, later clients use the next host of the list.
 */
export function createServerClient(
  { hosts, location }: ServerAddress,
  { settings, sessionCheckMs }: { settings: Readonly<Record<string, string>>; sessionCheckMs: number },
) {
  let currentHost = 0

  return class ServerClient extends PreparingClient {
    readonly #hostIndex: number
    readonly #watch: SessionWatch

    constructor(options: ClientConfig = {}) {
      const config = {
        ...options,
        connectionString: hostAt(currentHost).url,
        ...(hosts.length > 1 && { connectionTimeoutMillis: hostTimeoutMs }),
      }
      super(config)
      this.#hostIndex = currentHost
      this.#watch = new SessionWatch(this, { config, sessionCheckMs })
    }

    // node-postgres' pool connects with a callback and drops a client that it cannot use.
    override connect(...[callback]: readonly unknown[]): never {
      const notify = callback as (error?: Error) => void
      // Between the connection and the pool's own listener, an error would end the process.
      this.on('error', () => {})
      const connect = super.connect as (callback: (error?: Error) => void) => void
      return connect.call(this, (error) => {
        if (error) return this.#failOver(notify, error)
        beginSession(this, hostAt(this.#hostIndex), settings).then(
          (session) => {
            this.#watch.onOpened(session)
            notify()
          },
          (refusal: Error) => {
            this.#watch.onClosing()
            super.end().catch(() => {})
            this.#failOver(notify, refusal)
          },
        )
      }) as never
    }

    // The pool passes a callback; other callers await a promise.
    override query(...parameters: readonly unknown[]): never {
      const query = super.query as (...args: readonly unknown[]) => unknown
      const result = query.apply(
        this,
        parameters.map((argument) =>
          isCallback(argument) ? wrapCallback(argument, { location, onAnswer: this.#watch.expectAnswer() }) : argument,
        ),
      )
      if (!(result instanceof Promise)) return result as never
      const onAnswer = this.#watch.expectAnswer()
      const explained = result.catch((error: unknown) => Promise.reject(explainError(error, location)))
      return explained.finally(onAnswer) as never
    }

    override end(...args: readonly unknown[]): never {
      this.#watch.onClosing()
      const end = super.end as (...args: readonly unknown[]) => unknown
      return end.apply(this, [...args]) as never
    }

    #failOver(notify: (error: Error) => void, error: Error): void {
      // Several clients may fail at the same host: only the first of them moves on to the next host.
      if (currentHost === this.#hostIndex) currentHost = (currentHost + 1) % hosts.length
      notify(error)
    }
  }

  function hostAt(index: number): ServerHost {
    return hosts[index] as ServerHost
  }
}

/** The errors of a cancelled statement: what happened, and what helps. Other timeouts of PostgreSQL close the connection. */
const cancellations: Readonly<Record<string, string>> = {
  '57014':
    'has cancelled a statement: if the address sets statement_timeout, raise it; otherwise an administrator did it',
  '55P03': 'has let a statement wait too long for a lock: the address sets lock_timeout, so raise it',
}

type Callback = (error: unknown, ...answer: unknown[]) => void

function isCallback(value: unknown): value is Callback {
  return typeof value === 'function'
}

function wrapCallback(
  callback: Callback,
  { location, onAnswer }: { readonly location: string; readonly onAnswer: () => void },
): Callback {
  return (error, ...answer) => {
    onAnswer()
    callback(explainError(error, location), ...answer)
  }
}

function explainError(error: unknown, location: string): unknown {
  const explanation = cancellations[errorCode(error) ?? '']
  if (explanation === undefined) return error
  return new Failure('database_unreachable', `${location} ${explanation}`, { cause: error })
}

/** Reads the session and applies the settings, without those that an older server does not know. */
const sessionQuery = `
  SELECT pg_backend_pid() AS pid, ${serverMark} AS server, pg_is_in_recovery() AS "isReplica", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
    (SELECT count(set_config(name, value, false)) FROM json_each_text($1) AS desired(name, value)
      WHERE current_setting(name, true) IS NOT NULL) AS set`

type StartedSession = Session & { readonly isReplica: boolean; readonly isReadOnly: boolean }

async function beginSession(
  client: PreparingClient,
  { name }: ServerHost,
  settings: Readonly<Record<string, string>>,
): Promise<Session> {
  const result: Promise<{ rows: StartedSession[] }> = client.query(sessionQuery, [JSON.stringify(settings)])
  const session = (await result).rows[0] as StartedSession
  if (session.isReplica)
    throw readOnlyFailure(
      `${name} is a replica, which takes no writes; name the primary, or all hosts with commas between them`,
    )
  if (session.isReadOnly)
    throw readOnlyFailure(
      `${name} takes no writes: name the primary server, or end its read-only state (default_transaction_read_only)`,
    )
  return session
}

/** Carries PostgreSQL's code for a write in a read-only session (25006) in its cause, so that both are reported in the same way. */
function readOnlyFailure(message: string): Failure {
  const cause = Object.assign(new Error('a session that takes no writes'), { code: '25006' })
  return new Failure('database_unreachable', message, { cause })
}
