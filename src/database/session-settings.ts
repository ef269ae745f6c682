import { Failure } from '../errors.ts'

/**
 * The server parameters of every session. Times are written in UTC, so that both engines and all hosts agree. A random page costs
 * hardly more than the next one, because databases are not on spinning disks any more: with PostgreSQL's default, finding the people
 * of one batch would read the whole of a large table.
 */
export function sessionSettings(schemas: readonly string[]): Readonly<Record<string, string>> {
  for (const schema of schemas) {
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
      throw new Failure(
        'config_invalid',
        `"${schema}" cannot be the name of a database schema; use lower case letters, digits and _`,
      )
    }
  }
  return { search_path: schemas.join(','), timezone: 'UTC', random_page_cost: '1.1' }
}

/** Settings as command line arguments of a server process. */
export function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
