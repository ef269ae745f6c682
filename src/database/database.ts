import { Kysely, PostgresDialect } from 'kysely'
import { withOptionalPackage } from '../system/optional-package.ts'
import type { FolderPolicy } from './embedded.ts'
import { databaseFailure } from './failures.ts'
import { type Migration, migrate } from './migrate.ts'
import type { Engine } from './pool.ts'
import { openServer } from './server.ts'
import { sessionSettings } from './session-settings.ts'

export type { FolderPolicy } from './embedded.ts'
export type { Migration } from './migrate.ts'

/** An open database with Kysely on top. */
export type Database<S> = Engine & { readonly db: Kysely<S> }

type DatabaseOptions = {
  /** `postgres://…`, the folder of an embedded database (made if it is missing), or `memory:` (`memory:<file>` starts from a saved image). */
  readonly at: string
  /** The search path of every session. The first schema holds our tables. */
  readonly schemas: readonly [string, ...string[]]
  /** Applied in order to the first schema. */
  readonly migrations: readonly Migration[]
  readonly poolSize?: number
  /** Of an embedded database in a folder: what may exist there. Default: only the known one. */
  readonly existing?: FolderPolicy
  /** Of a server: how often a waiting session is checked. */
  readonly sessionCheckMs?: number
}

/**
 * Opens a database and brings its schema up to date. Both engines behave alike, but the embedded one runs only one transaction at a
 * time, so code in a transaction must not wait for a second connection.
 *
 * Fails with `database_unreachable` if there is no usable database, with `store_lost` or `store_damaged` if an embedded one is not what it
 * was, with `already_active` if another process uses the folder, and with
 * `config_invalid` if another version wrote the database.
 */
export async function openDatabase<S>({
  at,
  schemas,
  migrations,
  poolSize,
  existing,
  sessionCheckMs,
}: DatabaseOptions): Promise<Database<S>> {
  const settings = sessionSettings(schemas)
  await using opening = new AsyncDisposableStack()
  const open = /^postgres(ql)?:/.test(at) ? openServer : (await loadEmbedded()).openEmbedded
  const { kind, pool, location } = opening.use(await open({ at, settings, poolSize, existing, sessionCheckMs }))
  try {
    await migrate(pool, migrations, { schema: schemas[0], location })
  } catch (error) {
    throw databaseFailure(error) ?? error
  }
  const db = new Kysely<S>({ dialect: new PostgresDialect({ pool }) })
  const opened = opening.move()
  return { kind, pool, db, location, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

const loadEmbedded = () =>
  withOptionalPackage(() => import('./embedded.ts'), { name: '@electric-sql/pglite', use: 'the embedded database' })
