import { Failure } from '../errors.ts'

/**
 * What every session starts with, as server parameters. Times are written in UTC so that both engines and all hosts agree. A page
 * read at random costs hardly more than the next one, since nothing here is on spinning disks: with PostgreSQL's default it reads
 * the whole of a large table to find the people of one batch.
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

/** The same settings as command line arguments of a server process. */
export function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
