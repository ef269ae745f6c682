import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A lock file: only one process at a time can install with apt. */
const lockFile = join(tmpdir(), 'rollcall-tests-install.lock')

/** The path of the first of these programs that is in PATH. */
export async function findProgram(...names: readonly string[]): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names) {
      const program = join(folder, name)
      const isThere = await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (isThere) return program
    }
  }
  return null
}

/** Why packages cannot be installed here; null where they can be. */
export async function whyNotInstall(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'installing needs root'
  return (await findProgram('apt-get')) === null ? 'there is no apt-get on this machine' : null
}

/** Installs a package with apt: null when it is there, else the reason why not. Processes that install at the same time take turns. */
export async function install(name: string): Promise<string | null> {
  const reason = await whyNotInstall()
  if (reason !== null) return reason
  // Run level 1 keeps the packages from starting servers of their own.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const once = `apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends ${name}`
  try {
    await run('flock', [lockFile, 'sh', '-c', `${once} || { apt-get update -qq && ${once}; }`], { env })
    return null
  } catch (error) {
    return `apt-get install ${name} failed: ${error instanceof Error ? error.message : String(error)}`
  }
}
