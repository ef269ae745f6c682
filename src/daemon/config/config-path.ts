import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../../errors.ts'

/** Where a configuration is looked for if none is named, in this order; relative to the working directory. */
const usualPlaces = ['rollcall.yaml', 'config/rollcall.yaml', '/etc/rollcall/rollcall.yaml'] as const

/** A configuration file, and what named it. */
type FoundConfig = { readonly file: string; readonly namedBy: '--config' | 'ROLLCALL_CONFIG' | 'its place' }

type ConfigSearch = {
  /** What `--config` names. */
  readonly given: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly workingDirectory: string
}

/** The configuration file to use: the one that --config names, else ROLLCALL_CONFIG, else the first that stands in a usual place. */
export function findConfig({ given, env, workingDirectory }: ConfigSearch): FoundConfig {
  if (given !== undefined) return { file: resolve(workingDirectory, given), namedBy: '--config' }
  if (env.ROLLCALL_CONFIG) return { file: resolve(workingDirectory, env.ROLLCALL_CONFIG), namedBy: 'ROLLCALL_CONFIG' }
  const found = usualPlaces.map((place) => resolve(workingDirectory, place)).find((file) => existsSync(file))
  if (found !== undefined) return { file: found, namedBy: 'its place' }
  throw new Failure(
    'config_invalid',
    `there is no configuration: ${usualPlaces.join(', ')} were looked for in ${workingDirectory}; make one with "rollcall init", or name one with --config`,
  )
}
