import { createHash } from 'node:crypto'
import { Failure } from '../errors.ts'
import type { Pool, PoolClient } from './pool.ts'

/** One step of a schema's history; once released it stays as it was. Statements must not end the transaction they run in. */
export type Migration = { readonly name: string; readonly sql: string }

type Target = { readonly schema: string; readonly place: string }

/** Any number that no other user of advisory locks on the same server has; the schema's name is the second half of the key. */
const lockSpace = 0x726f_6c6c

/**
 * Brings a schema to the end of `migrations`, each in its own transaction. Processes that start together take turns, and
 * the later ones find the work done. Refuses a database whose history is not a part of this one.
 */
export async function migrate(pool: Pool, migrations: readonly Migration[], target: Target): Promise<void> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [lockSpace, target.schema])
    await createLedger(client, target)
    const applied = await readLedger(client, target)
    refuseOtherHistory(applied, migrations, target)
    for (const migration of migrations) {
      if (!applied.has(migration.name)) await apply(client, migration, target)
    }
    await client.query('SELECT pg_advisory_unlock($1, hashtext($2))', [lockSpace, target.schema])
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    // A session that failed is closed rather than lent again: with it goes its lock.
    client.release(failure)
  }
}

async function createLedger(client: PoolClient, { schema, place }: Target): Promise<void> {
  try {
    // "if not exists" asks for the right to create even where there is nothing to create.
    const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
    if (rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`)
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${schema}.migrations (
         name text PRIMARY KEY,
         applied_at timestamptz NOT NULL DEFAULT now(),
         sha256 text NOT NULL
       )`,
    )
  } catch (error) {
    throw new Failure(
      'config_invalid',
      `cannot create the tables of schema "${schema}" in ${place}: ${reasonOf(error)}`,
      {
        cause: error,
      },
    )
  }
}

async function readLedger(client: PoolClient, { schema }: Target): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; sha256: string }>(`SELECT name, sha256 FROM ${schema}.migrations`)
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]))
}

function refuseOtherHistory(
  applied: ReadonlyMap<string, string>,
  migrations: readonly Migration[],
  target: Target,
): void {
  const known = new Map(migrations.map((migration) => [migration.name, digestOf(migration)]))
  for (const [name, sha256] of applied) {
    const expected = known.get(name)
    if (expected === sha256) continue
    const difference = expected === undefined ? 'which this version does not know' : 'with a different text'
    throw new Failure(
      'config_invalid',
      `${target.place} has migration "${name}" of schema "${target.schema}" applied, ${difference}; use the version of Rollcall that last wrote this database, or a newer one`,
    )
  }
}

async function apply(client: PoolClient, migration: Migration, { schema, place }: Target): Promise<void> {
  try {
    await client.query('BEGIN')
    await client.query(migration.sql)
    await client.query(`INSERT INTO ${schema}.migrations (name, sha256) VALUES ($1, $2)`, [
      migration.name,
      digestOf(migration),
    ])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw new Error(`migration "${migration.name}" of schema "${schema}" failed on ${place}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

function digestOf({ sql }: Migration): string {
  return createHash('sha256').update(sql).digest('hex')
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
