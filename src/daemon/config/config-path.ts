import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../../errors.ts'

/** The default paths of a configuration in the order of lookup, relative to the working directory. */
const defaultPaths = ['rollcall.yaml', 'config/rollcall.yaml', '/etc/rollcall/rollcall.yaml'] as const

/** A configuration file, and what named it. */
type ConfigLocation = { readonly file: string; readonly namedBy: '--config' | 'ROLLCALL_CONFIG' | 'its place' }

type ConfigSearch = {
  /** The value of `--config`. */
  readonly option: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly workingDirectory: string
}

/** The configuration file to use: that of --config, else of ROLLCALL_CONFIG, else the first default path that exists. */
export function findConfig({ option, env, workingDirectory }: ConfigSearch): ConfigLocation {
  if (option !== undefined) return { file: resolve(workingDirectory, option), namedBy: '--config' }
  if (env.ROLLCALL_CONFIG) return { file: resolve(workingDirectory, env.ROLLCALL_CONFIG), namedBy: 'ROLLCALL_CONFIG' }
  const file = defaultPaths.map((path) => resolve(workingDirectory, path)).find((path) => existsSync(path))
  if (file !== undefined) return { file, namedBy: 'its place' }
  throw new Failure(
    'config_invalid',
    `there is no configuration: ${defaultPaths.join(', ')} were looked for in ${workingDirectory}; make one with "rollcall init", or name one with --config`,
  )
}
