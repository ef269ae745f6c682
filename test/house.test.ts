import { readdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, matchesGlob, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createProgram } from '../src/cli/program.ts'
import { failures } from '../src/errors.ts'
import { moves } from '../src/store/runs/runs.ts'
import { accessPage } from './helpers/pages/access.ts'
import { auditPage } from './helpers/pages/audit.ts'
import { deliveriesPage } from './helpers/pages/deliveries.ts'
import { evidencePage } from './helpers/pages/evidence.ts'
import { guardsPage } from './helpers/pages/guards.ts'
import { metricsPage } from './helpers/pages/metrics.ts'
import { recipesPage } from './helpers/pages/recipes.ts'
import { Results, resultsPage } from './helpers/pages/results.ts'
import { securityPage } from './helpers/pages/security.ts'
import { settingsPage } from './helpers/pages/settings.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
// A path as short as /app says nothing about a machine.
const shortestTelling = 5
const registry = /registry\.[a-z]+\.[a-z]+\//
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...(await projectFiles('docs'))].filter(
  (file) => file.endsWith('.md'),
)

const Dependencies = z.record(z.string(), z.string()).default({})
const Package = z.object({
  version: z.string(),
  scripts: z.record(z.string(), z.string()),
  dependencies: Dependencies,
  devDependencies: Dependencies,
  optionalDependencies: Dependencies,
})
const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ resolved: z.string().optional(), dependencies: Dependencies, optionalDependencies: Dependencies }),
  ),
})

describe('the packages', () => {
  test('are named by exact versions', async () => {
    const { dependencies, devDependencies, optionalDependencies } = Package.parse(await json('package.json'))

    const versions = Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies })

    expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\da-z.]+)?$/.test(version))).toEqual([])
  })

  test('stand in the lock file without the address of a registry', async () => {
    const { packages } = Lock.parse(await json('package-lock.json'))

    const addresses = Object.values(packages).flatMap(({ resolved = '' }) =>
      resolved.includes('://') ? [resolved] : [],
    )

    expect(addresses).toEqual([])
  })

  // npm leaves out what a registry does not have just then, and "npm ci" refuses the lock file that comes of it.
  test('stand in the lock file also for the platforms of other machines', async () => {
    const { packages } = Lock.parse(await json('package-lock.json'))
    const locked = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')))

    const desired = Object.values(packages).flatMap(({ dependencies, optionalDependencies }) =>
      Object.keys({ ...dependencies, ...optionalDependencies }),
    )

    expect(desired.filter((name) => !locked.has(name))).toEqual([])
  })
})

describe('the files of the project', () => {
  test('name no path and no registry of the machine that they were written on', async () => {
    const forbidden = [root, `${homedir()}/`].filter((path) => path.length > shortestTelling)
    const files = await projectFiles('.')

    const matches = await Promise.all(
      files.map(async (file) => {
        const lines = (await readFile(join(root, file), 'utf8')).split('\n')
        const isForeign = (line: string) => registry.test(line) || forbidden.some((path) => line.includes(path))
        return lines.flatMap((line, index) => (isForeign(line) ? [`${file}:${index + 1}`] : []))
      }),
    )

    expect(matches.flat()).toEqual([])
  })
})

describe('the documentation', () => {
  test('names only scripts that exist', async () => {
    const { scripts } = Package.parse(await json('package.json'))
    const text = (await Promise.all(pages.map(readPage))).join('\n')

    const named = [...text.matchAll(/\bnpm (?:run ([a-z]+)|(test)\b)/g)].map(
      ([, script, alone]) => script ?? alone ?? '',
    )

    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })

  test('names only commands that exist', async () => {
    const commands = createProgram(() => {}).commands.map((command) => command.name())
    const code = (await Promise.all(pages.map(readPage))).flatMap(codeOf).join('\n')

    const named = [...code.matchAll(/\brollcall ([a-z]+(?:-[a-z]+)*)\b/g)].map(([, command = '']) => command)

    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((name) => !commands.includes(name))).toEqual([])
  })

  test('links to pages, files and headings that exist', async () => {
    const broken = await Promise.all(pages.map(brokenLinks))

    expect(broken.flat()).toEqual([])
  })

  test('stays within 55,000 words', async () => {
    const words = (await Promise.all(pages.map(readPage))).flatMap((text) => text.split(/\s+/))

    expect(words.filter((word) => /\p{L}/u.test(word)).length).toBeLessThan(55_000)
  })

  test('lists every setting as the schema has it', async () => {
    const page = settingsPage()

    await expect(page).toMatchFileSnapshot('../docs/settings.md')
  })

  test('has a section for each recipe as its file has it', async () => {
    await expect(await recipesPage()).toMatchFileSnapshot('../docs/recipes.md')
  })

  test('explains every answer of the platform as the code follows it', async () => {
    const page = deliveriesPage(await readPage('docs/deliveries.md'))

    await expect(page).toMatchFileSnapshot('../docs/deliveries.md')
  })

  test('shows what the store keeps as its table has it', async () => {
    const page = securityPage(await readPage('docs/security.md'))

    await expect(page).toMatchFileSnapshot('../docs/security.md')
  })

  test('shows what was run as the results have it', async () => {
    const results = Results.parse(await json('test/nightly/results.json'))

    await expect(resultsPage(results)).toMatchFileSnapshot('nightly/RESULTS.md')
  })

  test('shows the table of acts as the audit trail has it', async () => {
    const page = auditPage(await readPage('docs/audit.md'))

    await expect(page).toMatchFileSnapshot('../docs/audit.md')
  })

  test('shows what each role may do as the operations say it', async () => {
    const page = accessPage(await readPage('docs/access.md'))

    await expect(page).toMatchFileSnapshot('../docs/access.md')
  })

  test('shows the metrics as their catalogue has them', async () => {
    const page = metricsPage(await readPage('docs/metrics.md'))

    await expect(page).toMatchFileSnapshot('../docs/metrics.md')
  })

  test('shows the limits as the guards hold them', async () => {
    const page = guardsPage(await readPage('docs/guards.md'))

    await expect(page).toMatchFileSnapshot('../docs/guards.md')
  })

  test('has the page of outcomes as the tests of evidence hold it', async () => {
    await expect(evidencePage()).toMatchFileSnapshot('../docs/evidence.md')
  })

  test('explains every exit code of a failure', async () => {
    const operate = await readPage('docs/operate.md')

    const explained = [...operate.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))

    const codes = Object.values(failures).map(({ exit }) => exit)
    expect(explained).toEqual([...new Set([0, 1, ...codes])].sort((a, b) => a - b))
  })

  test('explains every state of a run', async () => {
    const operate = await readPage('docs/operate.md')

    const unexplained = Object.keys(moves).filter((state) => !operate.includes(`| \`${state}\` |`))

    expect(unexplained).toEqual([])
  })

  test('has an entry in the changelog for the version of the package', async () => {
    const { version } = Package.parse(await json('package.json'))

    const changelog = await readPage('CHANGELOG.md')

    expect(changelog).toContain(`## [${version}]`)
  })
})

/** The files that belong to the project below a folder: all but what .gitignore names, also on a machine without git. */
async function projectFiles(folder: string): Promise<string[]> {
  const lines = (await readPage('.gitignore')).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const patterns = ['.git', ...lines]
    .map((line) => line.replace(/\/$/, ''))
    .map((line) => (line.startsWith('/') ? line.slice(1) : `**/${line}`))

  async function filesIn(path: string): Promise<string[]> {
    const entries = await readdir(join(root, path), { withFileTypes: true })
    const matches = await Promise.all(
      entries.map(async (entry) => {
        const file = join(path, entry.name)
        if (patterns.some((pattern) => matchesGlob(file, pattern))) return []
        return entry.isDirectory() ? await filesIn(file) : [file]
      }),
    )
    return matches.flat()
  }

  return await filesIn(folder)
}

async function json(file: string): Promise<unknown> {
  return JSON.parse(await readPage(file))
}

function readPage(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8')
}

/** Blocks and spans of code. */
function codeOf(markdown: string): string[] {
  return [...markdown.matchAll(/^```[\s\S]*?^```|`[^`\n]+`/gm)].map(([code]) => code)
}

async function brokenLinks(page: string): Promise<string[]> {
  const text = (await readPage(page)).replaceAll(/^```[\s\S]*?^```/gm, '')
  const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link)
  const broken = await Promise.all(
    links.map(async (link) => {
      const [path = '', heading] = link.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      const target = await readFile(resolve(root, file), 'utf8').catch(() => null)
      if (target === null) return [`${page}: ${link}`]
      return heading === undefined || headingsOf(target).includes(heading) ? [] : [`${page}: ${link}`]
    }),
  )
  return broken.flat()
}

/** The names of a page's headings, as links spell them. */
function headingsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
