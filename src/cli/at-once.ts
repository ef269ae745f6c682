import type { Status } from '../contract/control/shapes.ts'
import { version } from '../version.ts'

const { readFileSync } = process.getBuiltinModule('node:fs')
const { parseArgs } = process.getBuiltinModule('node:util')

/**
 * What is asked for most often, answered before the commands and what they use are loaded: version, help, and the status of a
 * daemon that runs. Null for everything else, and wherever anything is in doubt.
 */
export async function answerAtOnce(args: readonly string[]): Promise<string | null> {
  const [first, ...others] = args
  if (first === 'status') return await statusAtOnce(others)
  if (others.length > 0) return null
  if (first === '--version' || first === '-V') return `${version}\n`
  if (first === '--help' || first === '-h') return readFileSync(new URL('help.txt', import.meta.url), 'utf8')
  return null
}

async function statusAtOnce(args: string[]): Promise<string | null> {
  const options = plainOptions(args)
  if (options === null) return null
  const [{ findConfig }, { askKnownDaemon }, { rendered }, { renderStatus }] = await Promise.all([
    import('../daemon/config/config-path.ts'),
    import('./session/known-daemon.ts'),
    import('./session/output.ts'),
    import('./render/status.ts'),
  ])
  const found = placeOf(() => findConfig({ given: options.config, env: process.env, workingDirectory: process.cwd() }))
  if (found === null) return null
  const told = await askKnownDaemon(found.file, '/status')
  return isOurs(told) ? rendered(told, renderStatus, options) : null
}

/** The command line of all commands says why there is none. */
function placeOf<T>(find: () => T): T | null {
  try {
    return find()
  } catch {
    return null
  }
}

function plainOptions(args: string[]): { config?: string | undefined; json?: boolean | undefined } | null {
  try {
    return parseArgs({ args, options: { config: { type: 'string' }, json: { type: 'boolean' } } }).values
  } catch {
    // The command line of all commands says what is wrong with it.
    return null
  }
}

/** A daemon of the same version answers in the shapes of this command; another one's answer is checked against them. */
function isOurs(told: unknown): told is Status {
  return typeof told === 'object' && told !== null && 'version' in told && told.version === version
}
