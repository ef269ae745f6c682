import { randomUUID } from 'node:crypto'
import { errorCode, Failure } from '../errors.ts'
import type { Pool, PoolClient } from './pool.ts'
import { serverReason } from './server-reason.ts'

/**
 * How often the check for separate sessions is repeated. Other clients of the pooler can hide a shared session once, but hardly this
 * often.
 */
const attempts = 5
/** The answer of a pooler that lends its connections for single statements. */
const protocolViolation = '08P01'

/**
 * Refuses a pooler, such as PgBouncer, that gives each transaction another session of the server. Rollcall holds locks and listens in its
 * sessions. Without them, two processes would take up the same work, and jobs would wait for the next sweep.
 */
export async function refuseSharedSessions(pool: Pool, location: string): Promise<void> {
  const first = await pool.connect()
  try {
    if (!(await isPooled(first))) return
    const second = await connectSecond(pool, location)
    try {
      if (!(await shareSessions(first, second))) return
    } finally {
      second.release()
    }
  } finally {
    first.release()
  }
  throw new Failure(
    'config_invalid',
    `${location} is a pooler that lends a connection for one transaction only; Rollcall keeps locks and listens in its sessions, so give it a pool ` +
      'in session mode (PgBouncer: pool_mode = session for this database or user), or the address of the server itself',
  )
}

/** A server tells the number of its process when a connection starts. A pooler invents one, since it has no process of the server yet. */
async function isPooled(client: PoolClient & { readonly processID?: number | null }): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return client.processID !== rows[0]?.pid
}

async function connectSecond(pool: Pool, location: string): Promise<PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw new Failure(
      'database_unreachable',
      `${location} is a pooler that gives no second connection (${serverReason(error)}); let it open at least ${pool.options.max} connections for each process of Rollcall`,
      { cause: error },
    )
  }
}

type SessionMark = { readonly mark: string | null; readonly pid: number }

async function shareSessions(first: PoolClient, second: PoolClient): Promise<boolean> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const mark = randomUUID()
    const marked = await look(first, `set_config('rollcall.session', '${mark}', false)`)
    try {
      await second.query('BEGIN')
      if ((await look(second)).mark === mark) return true
      // While the second one holds a connection of the server, the first one may be given another.
      for (const observed of [await look(first), await look(first)]) {
        if (observed.mark !== mark || observed.pid !== marked.pid) return true
      }
      await second.query('ROLLBACK')
    } catch (error) {
      if (errorCode(error) === protocolViolation) return true
      throw error
    }
  }
  return false
}

async function look(client: PoolClient, mark = `current_setting('rollcall.session', true)`): Promise<SessionMark> {
  const { rows } = await client.query<SessionMark>(`SELECT ${mark} AS mark, pg_backend_pid() AS pid`)
  return rows[0] as SessionMark
}
