import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Queryable } from '../../../src/database/pool.ts'
import { isFull } from '../tier.ts'
import { emptyImage, pgliteImage, postgresTemplate, postgresUrl } from './provided.ts'

/** A database for `openDatabase({ at })`, without a row in it. Dispose after what was opened there. */
export type Place = AsyncDisposable & { readonly at: string }

type Kind = { readonly name: 'PGlite' | 'PostgreSQL'; readonly place: () => Promise<Place> }

/** Both engines, for what shows that an area works on either of them. The tables of the platform, the store and the queue are there. */
export const bothDatabases: readonly Kind[] = [
  { name: 'PGlite', place: pglitePlace },
  { name: 'PostgreSQL', place: postgresPlace },
]

/** For `describe.each(databases)('$name', ({ place }) => …)`: PostgreSQL, and PGlite too when everything is tested. */
export const databases = bothDatabases.filter(({ name }) => isFull || name === 'PostgreSQL')

/** Both engines, with no table in them. */
export const emptyDatabases: readonly Kind[] = [
  { name: 'PGlite', place: emptyPglitePlace },
  { name: 'PostgreSQL', place: emptyPostgresPlace },
]

/** Takes about a third of a second of computing. */
export async function pglitePlace(): Promise<Place> {
  return inMemory(await pgliteImage())
}

/** Takes about a twentieth of a second. */
export async function postgresPlace(): Promise<Place> {
  return createPlace(await postgresTemplate())
}

export async function emptyPglitePlace(): Promise<Place> {
  return inMemory(await emptyImage())
}

export function emptyPostgresPlace(): Promise<Place> {
  return createPlace('')
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

function inMemory(image: string): Place {
  return { at: `memory:${image}`, async [Symbol.asyncDispose]() {} }
}

async function createPlace(beginning: string): Promise<Place> {
  const server = await postgresUrl()
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await runOn(server, `CREATE DATABASE ${name} ${beginning}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { at: url.href, [Symbol.asyncDispose]: () => runOn(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
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
