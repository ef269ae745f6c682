import { createHash } from 'node:crypto'
import { Failure } from '../errors.ts'
import type { Pool, PoolClient } from './pool.ts'
import { lacksRight, missingRight } from './rights.ts'

/** One step in the history of a schema. It never changes after its release. Its statements must not end the transaction they run in. */
export type Migration = { readonly name: string; readonly sql: string }

type Target = { readonly schema: string; readonly place: string }

/** The first half of the key of our advisory locks: a number that no other user of the server takes. The second half is the name of the schema. */
const lockSpace = 0x726f_6c6c

/**
 * Applies the migrations that a schema lacks, each in its own transaction. Processes that start together take turns, and the later
 * ones find the work done. Refuses a database with migrations that this version does not know.
 */
export async function migrate(pool: Pool, migrations: readonly Migration[], target: Target): Promise<void> {
  const client = await pool.connect()
  try {
    if (!(await hasLedger(client, target))) await inTurn(client, target, () => createLedger(client, target))
    const before = await readLedger(client, target)
    refuseOtherHistory(before, migrations, target)
    for (const migration of migrations.filter(({ name }) => !before.has(name))) {
      await inTurn(client, target, async () => {
        const applied = await readLedger(client, target)
        if (!applied.has(migration.name)) await apply(client, migration, target)
      })
    }
  } catch (error) {
    throw lacksRight(error) ? await missingRight(client, target, error) : error
  } finally {
    client.release()
  }
}

/** Runs one step in a transaction while no other process runs one. The lock ends with the transaction. */
async function inTurn(client: PoolClient, { schema }: Target, step: () => Promise<void>): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [lockSpace, schema])
    await step()
    await client.query('COMMIT')
  } catch (error) {
    // If the connection is lost, there is nothing to roll back, and the first error tells the reason.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

async function hasLedger(client: PoolClient, { schema }: Target): Promise<boolean> {
  const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS "isThere"', [`${schema}.migrations`])
  return rows[0].isThere
}

/** Makes schema and table if they are missing. It asks first, because "if not exists" needs the right to create even if nothing is to be made. */
async function createLedger(client: PoolClient, { schema }: Target): Promise<void> {
  const { rows } = await client.query(
    'SELECT to_regnamespace($1) IS NULL AS "noSchema", to_regclass($2) IS NULL AS "noLedger"',
    [schema, `${schema}.migrations`],
  )
  if (rows[0].noSchema) await client.query(`CREATE SCHEMA ${schema}`)
  if (!rows[0].noLedger) return
  await client.query(
    `CREATE TABLE ${schema}.migrations (
       name text PRIMARY KEY,
       applied_at timestamptz NOT NULL DEFAULT now(),
       sha256 text NOT NULL
     )`,
  )
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
  const known = new Map(migrations.map((migration) => [migration.name, migrationDigest(migration)]))
  for (const [name, sha256] of applied) {
    const expected = known.get(name)
    if (expected === sha256) continue
    const difference = expected === undefined ? 'which this version does not know' : 'with a different text'
    throw new Failure(
      'config_invalid',
      `${target.place} has migration "${name}" of schema "${target.schema}" applied, ${difference}; ${helpAgainst(name, migrations)}`,
    )
  }
}

/** Released migrations never change, so one that is missing or different among ours comes from before the release. */
export function helpAgainst(name: string, migrations: readonly Migration[]): string {
  const isNewer = name > (migrations.at(-1)?.name ?? '')
  return isNewer
    ? 'use the version of Rollcall that last wrote it, or a newer one'
    : 'a development version from before the first release wrote it, and no upgrade leads from there: begin with an empty database, or use that version'
}

async function apply(client: PoolClient, migration: Migration, { schema, place }: Target): Promise<void> {
  try {
    await client.query(migration.sql)
    await client.query(`INSERT INTO ${schema}.migrations (name, sha256) VALUES ($1, $2)`, [
      migration.name,
      migrationDigest(migration),
    ])
  } catch (error) {
    if (lacksRight(error)) throw error
    throw new Error(`migration "${migration.name}" of schema "${schema}" failed on ${place}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** By which the ledger knows the text of a migration. */
export function migrationDigest({ sql }: Migration): string {
  return createHash('sha256').update(sql).digest('hex')
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
