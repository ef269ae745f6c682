import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Queryable } from '../../../src/database/pool.ts'
import { isFull } from '../tier.ts'
import { emptyImage, pgliteImage, postgresTemplate, postgresUrl } from './provided.ts'

/** A database for `openDatabase({ at })`, without a row in it. Dispose after what was opened there. */
export type TestDatabase = AsyncDisposable & { readonly at: string }

type Kind = { readonly name: 'PGlite' | 'PostgreSQL'; readonly createDatabase: () => Promise<TestDatabase> }

/** Both engines, for tests that show that an area works on either of them. The tables of the platform, the store and the queue are there. */
export const bothDatabases: readonly Kind[] = [
  { name: 'PGlite', createDatabase: createPgliteDatabase },
  { name: 'PostgreSQL', createDatabase: createPostgresDatabase },
]

/** For `describe.each(databases)('$name', ({ createDatabase }) => …)`: PostgreSQL, and PGlite too when everything is tested. */
export const databases = bothDatabases.filter(({ name }) => isFull || name === 'PostgreSQL')

/** Both engines, with no table in them. */
export const emptyDatabases: readonly Kind[] = [
  { name: 'PGlite', createDatabase: createEmptyPgliteDatabase },
  { name: 'PostgreSQL', createDatabase: createEmptyPostgresDatabase },
]

/** Takes about a third of a second of computing. */
export async function createPgliteDatabase(): Promise<TestDatabase> {
  return inMemory(await pgliteImage())
}

/** Takes about a twentieth of a second. */
export async function createPostgresDatabase(): Promise<TestDatabase> {
  return createOnServer(await postgresTemplate())
}

export async function createEmptyPgliteDatabase(): Promise<TestDatabase> {
  return inMemory(await emptyImage())
}

export function createEmptyPostgresDatabase(): Promise<TestDatabase> {
  return createOnServer('')
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

function inMemory(image: string): TestDatabase {
  return { at: `memory:${image}`, async [Symbol.asyncDispose]() {} }
}

async function createOnServer(beginning: string): Promise<TestDatabase> {
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
