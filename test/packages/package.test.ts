import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { fileTimes, type Installed, installPackage, pack, runInstalled, startInstalled } from '../helpers/packed.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { isFull } from '../helpers/tier.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)
const opened = new AsyncDisposableStack()
/** The file of the package, and the package as it is installed from it. */
let packed: string
let at: Installed
/** The paths of the package's files, from its folder. */
let files: string[]

beforeAll(async () => {
  packed = await pack(opened.use(await temporaryFolder()).path)
  at = opened.use(await installPackage(packed))
  files = (await filesBelow(at.folder)).filter((path) => !path.startsWith('node_modules/'))
})
afterAll(() => opened.disposeAsync())

/** The Node and npm of many a machine. Rollcall brings its own Node. */
const processor = process.arch === 'arm64' ? 'arm64' : 'x64'
const installers = [
  { label: 'the npm of this machine', packages: [] },
  { label: 'Node 20 with npm 10', packages: [`node-linux-${processor}@20`, 'npm@10'] },
  { label: 'Node 22 with npm 10', packages: [`node-linux-${processor}@22`, 'npm@10'] },
  { label: 'Node 24 with npm 11', packages: [`node-linux-${processor}@24`, 'npm@11'] },
]
/** Why npm installs nothing here; null if it does. Only the full form installs. */
const unreachable = isFull ? await whyNoRegistry() : 'by npm run test:full only'

describe(`the package (installed by npm: ${unreachable ?? 'below'})`, () => {
  test('has the program with licence, notices, presets and docs, and nothing of tests or of this machine', async () => {
    const top = new Set(files.map((path) => path.split('/')[0]))
    const readable = files.filter((path) => !/\.(?:webp|png)$/.test(path))
    const texts = await Promise.all(readable.map(async (path) => await readFile(join(at.folder, path), 'utf8')))

    expect([...top].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'THIRD-PARTY-NOTICES.md',
      'bin',
      'config',
      'docs',
      'package.json',
      'src',
    ])
    const configured = new Set(files.flatMap((path) => /^config\/([^/]+)/.exec(path)?.[1] ?? []))
    expect([...configured].sort()).toEqual((await readdir(join(root, 'config'))).sort())
    expect(
      files.filter((path) => /compose-password|\.js$|package-lock/.test(path) && !path.startsWith('src/')),
    ).toEqual([])
    expect(files.filter((_path, index) => texts[index]?.includes(root))).toEqual([])
    for (const path of ['config/presets/generic.yaml', 'config/samples/generic.csv', 'docs/install.md', 'src/main.ts'])
      expect(files).toContain(path)
  })

  test('is what the repository has, file by file', async () => {
    const kept = await keptFiles(['bin', 'src', 'config', 'docs'])

    expect(files.filter((path) => path.includes('/')).sort()).toEqual(
      kept.filter((path) => !path.endsWith('compose-password')).sort(),
    )
  })

  test('names only files of its own that are there', async () => {
    const missing = await Promise.all(
      files
        .filter((path) => /^(?:bin|src)\/.*\.(?:mjs|ts)$/.test(path))
        .map(async (path) => {
          const code = await readFile(join(at.folder, path), 'utf8')
          const named = [...code.matchAll(/(?:from |import\(|new URL\()'(\.{1,2}\/[^']*\.\w+)'/g)]
          return named.map(([, name = '']) => join(dirname(path), name)).filter((name) => !files.includes(name))
        }),
    )

    expect(missing.flat()).toEqual([])
  })
})

describe('the package below node_modules, for an account without rights there', () => {
  test('writes a configuration, plans and serves from any folder, and writes nothing into the package', async () => {
    const before = await fileTimes(join(at.folder, 'src'))
    const sample = join(at.folder, 'config/samples/generic.csv')
    await writeFile(join(at.home, 'key'), 'key')
    const address = ['--platform-url', 'http://127.0.0.1:9/public/v2', '--key-file', 'key']

    const version = await runInstalled(at, ['--version'])
    const init = await runInstalled(at, ['init', '--source', sample, '--yes', '--time-zone', 'UTC', ...address])
    await writeFile(join(at.home, 'rollcall.yaml'), configuration(sample))
    const plan = await runInstalled(at, ['plan'])
    const served = await serveAndStop()

    expect(version).toEqual({ exit: 0, output: `${await ownVersion()}\n` })
    expect(init.output).toContain('rollcall plan   shows what a run would do')
    expect(plan.output).toContain('… and 250 more')
    expect(served).toEqual({ health: 200, page: expect.stringContaining('/assets/htmx.'), exit: 0 })
    expect(await fileTimes(join(at.folder, 'src'))).toEqual(before)
    expect((await readdir(at.folder)).filter((name) => name !== 'node_modules')).toHaveLength(10)
  })

  test('keeps its code without types in the home of the account, and does not run what was damaged there', async () => {
    const stored = join(at.home, '.cache/rollcall/stripped')
    await runInstalled(at, ['--version'])
    const names = await readdir(stored)
    for (const name of names) await writeFile(join(stored, name), "process.stdout.write('damaged')")

    const version = await runInstalled(at, ['--version'])

    expect(names.length).toBeGreaterThan(0)
    expect(version).toEqual({ exit: 0, output: `${await ownVersion()}\n` })
    const texts = await Promise.all(names.map((name) => readFile(join(stored, name), 'utf8')))
    expect(texts.filter((text) => !text.includes('damaged')).length).toBeGreaterThan(0)
  })

  test('does not run what another account may have written there', async () => {
    const stored = join(at.home, '.cache/rollcall/stripped')
    await runInstalled(at, ['--version'])
    const foreign = "process.stdout.write('foreign')"
    const digest = createHash('sha1').update(foreign).digest('hex')
    for (const name of await readdir(stored)) await writeFile(join(stored, name), digest + foreign)
    for (const folder of [stored, join(at.home, '.cache/rollcall'), join(at.home, '.cache'), at.home]) {
      await chmod(folder, 0o770)
      expect(await runInstalled(at, ['--version'])).toEqual({ exit: 0, output: `${await ownVersion()}\n` })
      await chmod(folder, 0o700)
    }
    await rm(stored, { recursive: true })
  })

  test('says what helps if a package or the program itself is missing', async () => {
    await using broken = await installPackage(packed)
    await rm(join(broken.folder, 'node_modules'), { recursive: true })
    const node = { ...broken, env: { ...broken.env, PATH: `${dirname(process.execPath)}:${broken.env.PATH}` } }

    const withoutPackages = await runInstalled(node, ['status'])
    await rm(join(broken.folder, 'src'), { recursive: true })
    const withoutProgram = await runInstalled(node, ['status'])

    const missing = '✖ the package commander is missing: install the package again\n'
    expect(withoutPackages).toEqual({ exit: 78, output: missing })
    expect(withoutProgram).toEqual({
      exit: 78,
      output: '✖ the program is missing here: install the package again\n',
    })
  })
})

if (unreachable === null) {
  describe('the package installed by npm into a clean prefix', () => {
    test.each(installers)(
      'runs for an account without rights there, installed by $label',
      {
        tags: ['full'],
        timeout: 1_200_000,
      },
      async ({ packages }) => {
        await using tools = await temporaryFolder()
        await using installed = await installPackage(packed, async (prefix) => {
          await npmInstall(['--global', '--prefix', prefix, packed], await installerIn(tools.path, packages))
        })
        const before = await fileTimes(installed.folder)

        const version = await runInstalled(installed, ['--version'])
        const demo = await runInstalled(installed, ['demo', '--once'])

        expect(version).toEqual({ exit: 0, output: `${await ownVersion()}\n` })
        expect(demo).toMatchObject({ exit: 0, output: expect.stringContaining('all 256 people are on the platform') })
        expect(await fileTimes(installed.folder)).toEqual(before)
      },
    )
  })
}

async function whyNoRegistry(): Promise<string | null> {
  try {
    await run('npm', ['view', 'commander', 'version', '--fetch-retries=0', '--fetch-timeout=20000'])
    return null
  } catch (error) {
    return `no registry: ${/npm error (?:code )?(.*)/.exec(String(error))?.[1] ?? 'npm does not run'}`
  }
}

/** The files of these folders: those that git knows, or all of a copy without a history, as on a machine without git. */
async function keptFiles(folders: readonly string[]): Promise<string[]> {
  if (existsSync(join(root, '.git'))) {
    const { stdout } = await run('git', ['ls-files', ...folders], { cwd: root })
    return stdout.trim().split('\n')
  }
  const lists = folders.map(async (folder) => (await filesBelow(join(root, folder))).map((path) => join(folder, path)))
  return (await Promise.all(lists)).flat()
}

/** How npm is called: the one of the machine, or one of its own on an older Node. */
async function installerIn(folder: string, packages: readonly string[]): Promise<readonly string[]> {
  if (packages.length === 0) return ['npm']
  await npmInstall(['--prefix', folder, '--no-save', ...packages], ['npm'])
  const [name = ''] = packages[0]?.split('@') ?? []
  const modules = join(folder, 'node_modules')
  return [join(modules, name, 'bin/node'), join(modules, 'npm/bin/npm-cli.js')]
}

async function npmInstall(words: readonly string[], [program = '', ...first]: readonly string[]): Promise<void> {
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  // npm takes the Node that runs it first on the PATH for that of the machine.
  const PATH = `${dirname(program)}:${process.env.PATH}`
  await run(program, [...first, 'install', ...words, ...quiet], { cwd: dirname(packed), env: { ...process.env, PATH } })
}

async function serveAndStop() {
  const { child, printed, ended } = startInstalled(at, ['serve'])
  try {
    const address = await vi.waitFor(() => {
      const [, url] = /"address":"(http:[^"]+)"/.exec(printed.text) ?? []
      expect(url, printed.text).toBeDefined()
      return url
    }, 120_000)
    const health = await fetch(`${address}/healthz`)
    const page = await fetch(`${address}/sign-in`)
    child.kill('SIGTERM')
    return { health: health.status, page: await page.text(), exit: await ended }
  } finally {
    child.kill('SIGKILL')
  }
}

/** A configuration whose expression is evaluated in a thread of its own. */
function configuration(sample: string): string {
  return `platform: { baseUrl: 'http://127.0.0.1:9/public/v2', apiKey: '\${file:key}' }
dataDir: ./data
server: { port: 0 }
connections:
  hr:
    target: { name: HR }
    source:
      type: csv
      path: '${sample}'
      mode: snapshot
      preset: generic
      complete: { quietSeconds: 0 }
      fields: { jobTitle: { expression: '$uppercase(\`Job Title\`)' } }
`
}

async function ownVersion(): Promise<string> {
  return JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length).replace(/^\//, ''))
}
