import { inject } from 'vitest'

/** A Redis for this run: `redis://…`. Shared by all tests: use a prefix or a queue name of your own. */
export function redisUrl(): Promise<string> {
  return provided('redis')
}

/** A PostgreSQL for this run: `postgres://…` of a user who may create databases. Tests take a database of their own, see `databases.ts`. */
export function postgresUrl(): Promise<string> {
  return provided('postgres')
}

/** The clause that has `CREATE DATABASE` begin with all tables. */
export function postgresTemplate(): Promise<string> {
  return provided('postgres-template')
}

/** A file that holds an embedded database with all tables, for `memory:<file>`. */
export function pgliteImage(): Promise<string> {
  return provided('pglite-image')
}

/** A file that holds an embedded database with no table, for `memory:<file>`. */
export function emptyImage(): Promise<string> {
  return provided('empty-image')
}

/** The folder of an embedded store, to be copied. */
export function storeFolder(): Promise<string> {
  return provided('store-folder')
}

/** The folder of an embedded platform, to be copied. */
export function platformFolder(): Promise<string> {
  return provided('platform-folder')
}

/** The path of a Chromium. */
export function chromiumProgram(): Promise<string> {
  return provided('chromium')
}

async function provided(name: string): Promise<string> {
  const answer = await fetch(`${inject('provider')}/${name}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}
