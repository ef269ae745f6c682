import { Failure } from '../errors.ts'

/** What every session starts with, as server parameters. Times are written in UTC so that both engines and all hosts agree. */
export function sessionSettings(schemas: readonly string[]): Readonly<Record<string, string>> {
  for (const schema of schemas) {
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
      throw new Failure(
        'config_invalid',
        `"${schema}" cannot be the name of a database schema; use lower case letters, digits and _`,
      )
    }
  }
  return { search_path: schemas.join(','), timezone: 'UTC' }
}

/** The same settings as command line arguments of a server process. */
export function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
