import pg, { type PoolConfig } from 'pg'
import type { Pool, PoolClient } from './pool.ts'
import { valueTypes } from './values.ts'

/** A node-postgres pool whose sessions survive their users' mistakes and whose losses never end the process. */
export function createPool(config: PoolConfig): Pool {
  const pool = new pg.Pool({ ...config, types: valueTypes })
  // A connection that drops, idle or lent, is reported where it is used; an unheard 'error' event would end the process.
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  pool.on('release', rollBackWhatIsOpen)
  return pool
}

/** Runs before the pool lends the client again, as the client's queries keep their order. */
function rollBackWhatIsOpen(error: Error | boolean | undefined, client: PoolClient): void {
  if (error || client.getTransactionStatus() === 'I') return
  client.query('ROLLBACK').catch(ignore)
}

function ignore(): void {}
