import { execFile, spawn } from 'node:child_process'
import { chmod, chown, cp, mkdir, readdir, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { lockedPackages } from './packages.ts'
import { temporaryFolder } from './sources/folders.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
/** The account `nobody`, which every Linux has and which owns nothing. */
const nobody = 65_534

/** A package as `npm install -g` lays it out, and an account without rights on it. Disposing removes everything. */
export type Installed = AsyncDisposable & {
  /** The folder of the package. */
  readonly folder: string
  /** The program on the PATH. */
  readonly program: string
  /** A folder of the account, outside of the package. */
  readonly home: string
  /** How a process becomes the account: numbers if the test is root, else nothing. */
  readonly account: { readonly uid?: number; readonly gid?: number }
  readonly env: Readonly<Record<string, string>>
}

/** Makes the package in a folder, and answers its file. */
export async function pack(folder: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--pack-destination', folder, '--silent'], { cwd: root })
  return join(folder, stdout.trim())
}

/**
 * Lays out the package as npm does, in a path with spaces. `install` puts it below the prefix; without one it is unpacked, and finds the
 * packages that the repository has.
 */
export async function installPackage(
  file: string,
  install: (prefix: string) => Promise<void> = (prefix) => unpack(file, prefix),
): Promise<Installed> {
  await using opening = new AsyncDisposableStack()
  const work = opening.use(await temporaryFolder())
  await chmod(work.path, 0o755)
  const prefix = join(work.path, 'a clean prefix')
  const home = join(work.path, 'a home')
  await mkdir(home)
  await install(prefix)
  const account = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  if (account.uid !== undefined) await chown(home, account.uid, account.gid)
  const opened = opening.move()
  return {
    folder: join(prefix, 'lib/node_modules/rollcall'),
    program: join(prefix, 'bin/rollcall'),
    home,
    account,
    env: { HOME: home, PATH: `${join(prefix, 'bin')}:/usr/local/bin:/usr/bin:/bin`, NO_COLOR: '1', TZ: 'UTC' },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function unpack(file: string, prefix: string): Promise<void> {
  const folder = join(prefix, 'lib/node_modules/rollcall')
  await mkdir(folder, { recursive: true })
  await mkdir(join(prefix, 'bin'))
  await run('tar', ['-xzf', file, '-C', folder, '--strip-components=1', '--no-same-owner'])
  await symlink('../lib/node_modules/rollcall/bin/rollcall', join(prefix, 'bin/rollcall'))
  const packages = join(folder, 'node_modules')
  if (await isReadableByAll(join(root, 'node_modules'))) await symlink(join(root, 'node_modules'), packages)
  else await copyPackages(packages)
}

/** Whether an account without rights gets to a folder: each folder above has to let everybody pass. */
async function isReadableByAll(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  if ((mode & 0o005) !== 0o005) return false
  return dirname(path) === path || (await isReadableByAll(dirname(path)))
}

async function copyPackages(target: string): Promise<void> {
  const paths = (await lockedPackages()).filter(({ dev }) => !dev).map(({ path }) => path)
  const top = paths.filter((path) => path.lastIndexOf('node_modules/') === 0)
  for (const path of top) {
    const source = join(root, path)
    const isThere = await stat(source).catch(() => null)
    if (isThere) await cp(source, join(target, path.slice('node_modules/'.length)), { recursive: true })
  }
}

/** Starts the program as the account, in its home or a folder below it. Answers the process and all it prints. */
export function startInstalled(at: Installed, args: readonly string[], folder = at.home) {
  const child = spawn(at.program, args, {
    cwd: folder,
    env: at.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...at.account,
  })
  const printed = { text: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed.text += text
    })
  }
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  return { child, printed, ended }
}

/** Runs the program to its end. */
export async function runInstalled(at: Installed, args: readonly string[], folder = at.home) {
  const { ended, printed } = startInstalled(at, args, folder)
  return { exit: await ended, output: printed.text }
}

/** Every file below a folder with its size and the time of its last change, to see whether anything was written. */
export async function fileTimes(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return await Promise.all(
    entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name)
      const { size, mtimeMs } = await stat(path)
      return `${path} ${entry.isFile() ? size : ''} ${mtimeMs}`
    }),
  )
}
