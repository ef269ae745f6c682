import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

/** The disk space of an installation. */
export type Install = {
  readonly label: string
  readonly mb: number
  readonly files: number | null
  readonly largest: string
  readonly limit: number | null
}

const installs = [
  { command: 'npm ci --omit=dev --omit=optional', limit: 80 },
  { command: 'npm ci --omit=dev', limit: null },
] as const
const listed = 8

/** Installs the packages of the lock file into separate folders, and builds the image if there is an engine for it. */
export async function measureInstalls(): Promise<Install[]> {
  const results: Install[] = []
  for (const { command, limit } of installs) results.push({ label: command, limit, ...(await measureInstall(command)) })
  const image = await imageMb()
  return image === null ? results : [...results, { label: 'image', mb: image, files: null, largest: '', limit: null }]
}

async function measureInstall(command: string): Promise<Pick<Install, 'mb' | 'files' | 'largest'>> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    await copyFile(join(root, file), join(folder, file))
  const [npm = '', ...args] = command.split(' ')
  await run(npm, [...args, '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder })
  const files = await taken(join(folder, 'node_modules'))
  const packages = Map.groupBy(files, ({ path }) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? '')
  const largest = [...packages]
    .map(([name, own]) => ({ name, mb: sum(own) }))
    .sort((a, b) => b.mb - a.mb)
    .slice(0, listed)
  return {
    mb: sum(files),
    files: files.length,
    largest: largest.map(({ name, mb }) => `${name} ${mb.toFixed(1)}`).join(', '),
  }
}

type Taken = { readonly path: string; readonly bytes: number }

/** The files below a folder with their disk space, in whole blocks. */
async function taken(folder: string): Promise<Taken[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return await Promise.all(
    files.map(async (path) => ({ path: path.slice(folder.length + 1), bytes: (await stat(path)).blocks * 512 })),
  )
}

function sum(files: readonly Taken[]): number {
  return files.reduce((bytes, file) => bytes + file.bytes, 0) / 1e6
}

/** Null if no Docker engine answers, or no base image is available. */
async function imageMb(): Promise<number | null> {
  try {
    const { stdout: id } = await run('docker', ['build', '--quiet', root])
    const { stdout: bytes } = await run('docker', ['image', 'inspect', '--format', '{{.Size}}', id.trim()])
    return Number(bytes) / 1e6
  } catch {
    return null
  }
}
