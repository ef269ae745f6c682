import { createHash } from 'node:crypto'
import { Failure } from '../errors.ts'
import type { Pool, PoolClient } from './pool.ts'
import { lacksRight, missingRight } from './rights.ts'

/** One step in the history of a schema. It never changes after its release. Its statements must not end the transaction they run in. */
export type Migration = { readonly name: string; readonly sql: string }

/** A migration as a ledger or a file lists it. `sha256` is left out where only names are listed. */
type AppliedMigration = { readonly name: string; readonly sha256?: string }

type Target = { readonly schema: string; readonly location: string }

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

/** Creates schema and table if they are missing. It checks first, because "if not exists" needs the right to create even if both exist. */
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
  { schema, location }: Target,
): void {
  const history = [...applied].map(([name, sha256]) => ({ name, sha256 }))
  const foreign = foreignHistory(history, migrations)
  if (foreign) throw new Failure('config_invalid', `the schema "${schema}" of ${location} ${foreign}`)
}

/**
 * Says which other version wrote a store or a file, and what helps, as the rest of a sentence that begins with its name. Returns null if
 * this version can continue its history. Released migrations never change, so only a newer version continues ours with more of them.
 */
export function foreignHistory(applied: readonly AppliedMigration[], migrations: readonly Migration[]): string | null {
  const ours = new Map(migrations.map((migration) => [migration.name, migrationDigest(migration)]))
  const isOurs = ({ name, sha256 = ours.get(name) }: AppliedMigration) => ours.has(name) && ours.get(name) === sha256
  const foreign = applied.filter((migration) => !isOurs(migration)).map(({ name }) => name)
  const [example] = foreign.sort()
  if (example === undefined) return null
  const [first, last] = [migrations[0]?.name, migrations.at(-1)?.name ?? '']
  const isNewer = applied.some(({ name }) => name === first) && foreign.every((name) => name > last)
  return isNewer
    ? `was written by a newer version of Rollcall (migration "${example}"): use that version, or a newer one`
    : `was written by a development version of Rollcall from before the first release (migration "${example}"), and no upgrade leads from there: begin with an empty database or folder, or use the version that wrote it`
}

async function apply(client: PoolClient, migration: Migration, { schema, location }: Target): Promise<void> {
  try {
    await client.query(migration.sql)
    await client.query(`INSERT INTO ${schema}.migrations (name, sha256) VALUES ($1, $2)`, [
      migration.name,
      migrationDigest(migration),
    ])
  } catch (error) {
    if (lacksRight(error)) throw error
    throw new Error(`migration "${migration.name}" of schema "${schema}" failed on ${location}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** The digest of a migration in the ledger. */
export function migrationDigest({ sql }: Migration): string {
  return createHash('sha256').update(sql).digest('hex')
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
