import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Installations take turns, as apt has one lock. */
let installing: Promise<unknown> = Promise.resolve()

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

/** Installs a package with apt: null when it is there, else the reason why not. */
export async function install(name: string): Promise<string | null> {
  const reason = await whyNotInstall()
  if (reason !== null) return reason
  const done = installing.then(() => installWithApt(name))
  installing = done
  return await done
}

async function installWithApt(name: string): Promise<string | null> {
  // Run level 1 keeps the packages from starting servers of their own.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const installOnce = () => run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], { env })
  try {
    await installOnce().catch(async () => {
      await run('apt-get', ['update', '-qq'], { env })
      await installOnce()
    })
    return null
  } catch (error) {
    return `apt-get install ${name} failed: ${error instanceof Error ? error.message : String(error)}`
  }
}
