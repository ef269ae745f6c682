import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const installation = fileURLToPath(new URL('../../../', import.meta.url))
const defaultPath = 'config/rollcall.yaml'

/** The configuration file to use: the one given, else config/rollcall.yaml of the working directory, else that of the installation. */
export function resolveConfigPath(given: string | undefined, workingDirectory: string): string {
  if (given !== undefined) return resolve(workingDirectory, given)
  const local = resolve(workingDirectory, defaultPath)
  return existsSync(local) ? local : resolve(installation, defaultPath)
}
