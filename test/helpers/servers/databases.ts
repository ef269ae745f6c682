import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Queryable } from '../../../src/database/pool.ts'
import { pgliteImage, postgresUrl } from './provided.ts'

/** A fresh, empty database for `openDatabase({ at })`. Dispose after what was opened there. */
export type Place = AsyncDisposable & { readonly at: string }

/** Both engines, for `describe.each(databases)('$name', ({ place }) => …)`. */
export const databases: readonly { readonly name: 'PGlite' | 'PostgreSQL'; readonly place: () => Promise<Place> }[] = [
  { name: 'PGlite', place: pglitePlace },
  { name: 'PostgreSQL', place: postgresPlace },
]

/** Takes about a quarter of a second, so that a test can have one of its own. */
export async function pglitePlace(): Promise<Place> {
  return { at: `memory:${await pgliteImage()}`, async [Symbol.asyncDispose]() {} }
}

export async function postgresPlace(): Promise<Place> {
  const server = await postgresUrl()
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await runOn(server, `CREATE DATABASE ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { at: url.href, [Symbol.asyncDispose]: () => runOn(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** Empties every table of a schema but the ledger of migrations, so that the tests of a file can share one database. */
export async function emptyTables(database: { readonly pool: Queryable }, schema: string): Promise<void> {
  const { rows } = await database.pool.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'`,
    [schema],
  )
  if (rows.length > 0)
    await database.pool.query(`TRUNCATE ${rows.map(({ name }) => name).join(', ')} RESTART IDENTITY CASCADE`)
}

async function runOn(server: string, sql: string): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
