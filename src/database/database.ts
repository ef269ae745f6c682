import { Kysely, PostgresDialect } from 'kysely'
import { openEmbedded } from './embedded.ts'
import { type Migration, migrate } from './migrate.ts'
import type { Engine } from './pool.ts'
import { openServer } from './server.ts'
import { sessionSettings } from './session-settings.ts'

export type { Migration } from './migrate.ts'

export type Database<S> = Engine & { readonly db: Kysely<S> }

export type DatabaseOptions = {
  /** `postgres://…`, the folder of an embedded database (created when missing), or `memory:` (`memory:<file>` starts from a saved image). */
  readonly at: string
  /** The search path of every session; the first one holds our tables. */
  readonly schemas: readonly [string, ...string[]]
  /** Applied in order into the first schema. */
  readonly migrations: readonly Migration[]
  readonly poolSize?: number
}

/**
 * Opens a database and brings its schema up to date. Both engines behave alike; the embedded one runs a single
 * transaction at a time, so nothing may wait for a second connection inside of one.
 *
 * Fails with `database_unreachable` where there is no usable database, `already_active` where another process has the
 * folder, and `config_invalid` where the database was written by another version.
 */
export async function openDatabase<S>({ at, schemas, migrations, poolSize }: DatabaseOptions): Promise<Database<S>> {
  const settings = sessionSettings(schemas)
  await using opening = new AsyncDisposableStack()
  const open = /^postgres(ql)?:/.test(at) ? openServer : openEmbedded
  const { kind, pool, place } = opening.use(await open({ at, settings, poolSize }))
  await migrate(pool, migrations, { schema: schemas[0], place })
  const db = new Kysely<S>({ dialect: new PostgresDialect({ pool }) })
  const opened = opening.move()
  return { kind, pool, db, place, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
