import { inject } from 'vitest'

/** A Redis for this run: `redis://…`. Shared by all tests: use a prefix or a queue name of your own. */
export function redisUrl(): Promise<string> {
  return provided('redis')
}

/** A PostgreSQL for this run: `postgres://…` of a user who may create databases. Tests take a database of their own, see `databases.ts`. */
export function postgresUrl(): Promise<string> {
  return provided('postgres')
}

/** A file that holds a fresh embedded database, for `memory:<file>`. */
export function pgliteImage(): Promise<string> {
  return provided('pglite-image')
}

async function provided(name: string): Promise<string> {
  const answer = await fetch(`${inject('provider')}/${name}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}
