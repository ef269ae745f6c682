import type { Socket } from 'node:net'
import pg, { type ClientConfig } from 'pg'
import { errorCode } from '../errors.ts'

/** How often a session is checked while it waits for an answer. */
export const defaultSessionCheckMs = 10_000
/** How long the server may take to accept a connection that checks another one, and to answer it. */
const checkTimeoutMs = 10_000

/** The inner part of a node-postgres client. With TLS, its stream is replaced once the connection is established. */
type Inner = { readonly connection: { readonly stream: Socket } }

/** A session of a server. A restarted server may reuse the number of a process. */
export type Session = { readonly pid: number; readonly server: string }

/** In SQL, identifies a start of a server. */
export const serverMark = 'extract(epoch FROM pg_postmaster_start_time())::text'

/** The state of a session according to its server. `doubtful` may be temporary; `unknown`: it could not be found out. */
type SessionState = 'working' | 'gone' | 'doubtful' | 'unknown'

/**
 * Detects that a session has lost its server although the socket is open, e.g. behind a proxy that forwards nothing, or with a suspended
 * host. Statements may take minutes, so a time limit cannot tell: if nothing moves on the socket while an answer is due, another
 * connection asks the server whether the session works. A session that only listens is sent a statement at intervals.
 */
export class SessionWatch {
  readonly #client: pg.Client
  readonly #config: ClientConfig
  readonly #timer: NodeJS.Timeout
  #session: Session | null = null
  #answersDue = 0
  #isEnding = false
  #isAskingServer = false
  #isDoubtful = false
  #traffic = ''

  /** `config`: how the session was opened, to connect to the same server once more. */
  constructor(client: pg.Client, { config, sessionCheckMs }: { config: ClientConfig; sessionCheckMs: number }) {
    this.#client = client
    this.#config = config
    this.#timer = setInterval(() => this.#check(), sessionCheckMs).unref()
  }

  /** `session`: read by a statement. A pooler in between states another process when a connection starts. */
  onOpened(session: Session): void {
    this.#session = session
  }

  /** Called when a statement is sent. Returns a function to call once it is answered. */
  expectAnswer(): () => void {
    this.#answersDue++
    return () => {
      this.#answersDue--
    }
  }

  /** Called when the client closes the session. A dead server does not close its side, and the open socket would keep the process alive. */
  onClosing(): void {
    this.#isEnding = true
  }

  #check(): void {
    const stream = this.#stream()
    if (stream.destroyed) clearInterval(this.#timer)
    else if (this.#hasMoved(stream)) this.#isDoubtful = false
    else if (this.#isEnding) stream.destroy()
    else if (this.#answersDue > 0) this.#askServer().catch(() => {})
    else if (this.#client.listenerCount('notification') > 0) this.#client.query('SELECT 1').catch(() => {})
  }

  async #askServer(): Promise<void> {
    if (this.#isAskingServer || this.#session === null) return
    this.#isAskingServer = true
    try {
      const state = await sessionState(this.#config, this.#session)
      const isStill = this.#answersDue > 0 && !this.#hasMoved(this.#stream())
      if (isStill && (state === 'gone' || (state === 'doubtful' && this.#isDoubtful))) this.#giveUp()
      this.#isDoubtful = isStill && state === 'doubtful'
    } finally {
      this.#isAskingServer = false
    }
  }

  #giveUp(): void {
    const lost = new Error('the connection is open, and the server no longer answers on it')
    this.#stream().destroy(Object.assign(lost, { code: 'ETIMEDOUT' }))
  }

  #hasMoved({ bytesRead, bytesWritten, writableLength }: Socket): boolean {
    const before = this.#traffic
    this.#traffic = `${bytesRead} ${bytesWritten - writableLength}`
    return this.#traffic !== before
  }

  #stream(): Socket {
    return (this.#client as unknown as Inner).connection.stream
  }
}

const question = `SELECT state, wait_event AS "waitsFor" FROM pg_stat_activity WHERE pid = $1 AND ${serverMark} = $2`

async function sessionState(config: ClientConfig, { pid, server }: Session): Promise<SessionState> {
  const client = new pg.Client({
    ...config,
    connectionTimeoutMillis: checkTimeoutMs,
    query_timeout: checkTimeoutMs,
  }).on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    return isNoAnswer(error) ? 'doubtful' : 'unknown'
  }
  try {
    const { rows } = await client.query<{ state: string | null; waitsFor: string | null }>(question, [pid, server])
    return rows[0] ? stateOf(rows[0]) : 'gone'
  } catch {
    // A pooler lets a client in and has it wait until a connection to the server is free.
    return 'unknown'
  } finally {
    client.end().catch(() => {})
  }
}

/** `doubtful` if the session is idle or waits for its client while the client waits for it. */
function stateOf({ state, waitsFor }: { state: string | null; waitsFor: string | null }): SessionState {
  return state?.startsWith('idle') || /^Client(?:Read|Write)$/.test(waitsFor ?? '') ? 'doubtful' : 'working'
}

/**
 * Whether the server could not be reached. A refused connection, e.g. because of too many clients, says nothing about the other session,
 * nor does an unresolved name. A timeout and a broken connection have no code.
 */
function isNoAnswer(error: unknown): boolean {
  return /^(?:|EPIPE|ETIMEDOUT|E(?:CONN|HOST|NET)[A-Z]+)$/.test(errorCode(error) ?? '')
}
