import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { matches, source, targetOf, targetsOf } from './helpers/imports.ts'

/** The texts of files by their paths relative to src/; those of the tests begin with `../test/`. */
type Files = ReadonlyMap<string, string>

/** Files that no other one needs to import: the start of a command, and the table of which the page about the store is made. */
const ownLife = ['main.ts', 'store/retention/stored-data.ts']

/** What a command prints: test/text/outlets.test.ts finds it by its name, and gives it hostile texts. */
function isFoundByName(file: string, name: string): boolean {
  return file.startsWith('cli/commands/') && /^render[A-Z]/.test(name)
}

test('every export of src/ is used by another file, and what only tests use is used in its own file as well', async () => {
  const files = await allFiles()

  expect(unusedExports(files)).toEqual([])
})

test('every file of src/ is imported by another one of src/', async () => {
  const files = await allFiles()

  expect(unusedFiles(files)).toEqual([])
})

test('unused exports are distinguished from used ones', () => {
  const files = new Map([
    ['main.ts', "import { used } from './a.ts'\nconst b = new URL('./b.ts', import.meta.url)"],
    ['a.ts', 'export const used = 1\nexport const alone = 2\nexport function tested() {}\nexport type Dead = string'],
    ['b.ts', 'export function helper() {}\nhelper()\n'],
    ['c.ts', ''],
    ['../test/a.test.ts', "import { alone, tested } from '../src/a.ts'\nimport { helper } from '../src/b.ts'"],
  ])

  expect(unusedExports(files)).toEqual(['src/a.ts: alone', 'src/a.ts: tested', 'src/a.ts: Dead'])
  expect(unusedFiles(files)).toEqual(['src/c.ts'])
})

async function allFiles(): Promise<Files> {
  const [ours, tests] = await Promise.all([
    Array.fromAsync(glob('**/*.ts', { cwd: source })),
    Array.fromAsync(glob('../test/**/*.ts', { cwd: source })),
  ])
  const read = async (file: string) => [file, await readFile(join(source, file), 'utf8')] as const
  return new Map(await Promise.all([...ours, ...tests].sort().map(read)))
}

function unusedExports(files: Files): string[] {
  const importers = importersOf(files)
  return [...files].flatMap(([file, text]) => {
    if (isTest(file) || ownLife.includes(file)) return []
    const users = importers.get(file) ?? []
    const others = users.filter((user) => !isTest(user))
    return exportsOf(text)
      .filter((name) => !isFoundByName(file, name) || timesIn(text, name) === 1)
      .filter((name) => !isNamedIn(others)(name) && !(isNamedIn(users)(name) && timesIn(text, name) > 1))
      .map((name) => `src/${file}: ${name}`)
  })

  function isNamedIn(users: readonly string[]) {
    return (name: string) => users.some((user) => timesIn(files.get(user) ?? '', name) > 0)
  }
}

function unusedFiles(files: Files): string[] {
  const importers = importersOf(files)
  return [...files.keys()]
    .filter((file) => !isTest(file) && !ownLife.includes(file))
    .filter((file) => !(importers.get(file) ?? []).some((importer) => !isTest(importer)))
    .map((file) => `src/${file}`)
}

/** For each file, the files that import it or start it as a process or thread. */
function importersOf(files: Files): ReadonlyMap<string, readonly string[]> {
  const imports = [...files].flatMap(([file, text]) => {
    const started = matches(text, /new URL\('([^']+\.ts)', import\.meta\.url\)/g)
    const targets = [...targetsOf(file, text), ...started.map(({ groups }) => targetOf(file, groups[0] ?? ''))]
    return targets.map((target) => ({ file, target }))
  })
  return new Map(
    Object.entries(Object.groupBy(imports, ({ target }) => target)).map(([target, importsOfTarget = []]) => [
      target,
      importsOfTarget.map(({ file }) => file),
    ]),
  )
}

function exportsOf(text: string): string[] {
  const declared = matches(text, /^export (?:async )?(?:function\*?|const|class|type|interface) (\w+)/gm)
  return [...new Set(declared.map(({ groups }) => groups[0] ?? ''))]
}

function timesIn(text: string, name: string): number {
  return matches(text, new RegExp(String.raw`\b${name}\b`, 'g')).length
}

function isTest(file: string): boolean {
  return file.startsWith('../test/')
}
