import { Failure } from '../errors.ts'
import type { Engine } from './database.ts'
import { createPostgresPool, parsePostgresAddress } from './postgres.ts'

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

/** A host with several addresses fails with one error for each of them and an empty message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  return error instanceof Error ? error.message : String(error)
}
