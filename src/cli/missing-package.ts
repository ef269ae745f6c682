import { fileURLToPath } from 'node:url'
import { errorCode, Failure } from '../errors.ts'

/** The failure behind an import of a package that npm has not installed, or whose files are gone; null for every other error. */
export function missingPackage(error: unknown): Failure | null {
  const code = errorCode(error)
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return null
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const [, name] =
    /Cannot find (?:package|module) '([^'/][^']*)'/.exec(error instanceof Error ? error.message : '') ?? []
  const missing = name === undefined ? 'a file of Rollcall or of its packages' : `the package ${name}`
  const remedy = root.includes('/node_modules/') ? 'install the package again' : `run "npm ci" in ${root}`
  return new Failure('config_invalid', `${missing} is missing: ${remedy}`, { cause: error })
}
