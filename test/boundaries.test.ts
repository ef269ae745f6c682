import { glob, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const source = fileURLToPath(new URL('../src/', import.meta.url))

/**
 * What each area of src/ may import of ours, besides itself. Arrows point inwards, and the platform and the daemon's side meet
 * over HTTP only: both appear together in the commands alone, which start the one or the other.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'version.ts': [],
  'main.ts': ['cli'],
  contract: [],
  identity: [],
  telemetry: ['errors.ts'],
  // What we ask of the machine and Node lacks: a file replaced as a whole, a thread with a time limit.
  system: ['errors.ts'],
  http: ['contract', 'errors.ts', 'telemetry'],
  database: ['errors.ts', 'telemetry'],
  platform: ['contract', 'http', 'database', 'system', 'errors.ts', 'telemetry', 'version.ts'],
  connectors: ['identity', 'system', 'errors.ts', 'telemetry'],
  store: ['identity', 'contract', 'database', 'errors.ts', 'telemetry'],
  queue: ['database', 'errors.ts', 'telemetry'],
  sync: ['identity', 'connectors', 'store', 'contract', 'http', 'queue', 'database', 'errors.ts', 'telemetry'],
  daemon: [
    ...['identity', 'connectors', 'store', 'sync', 'queue', 'database'],
    ...['contract', 'http', 'system', 'errors.ts', 'telemetry', 'version.ts'],
  ],
  cli: ['contract', 'http', 'daemon', 'platform', 'errors.ts', 'telemetry', 'version.ts'],
}

/** Packages that an inner area lives on; the others may use whatever package.json lists. */
const packages: Readonly<Record<string, readonly string[]>> = {
  contract: ['zod'],
  identity: ['zod', 'fastest-levenshtein', 'node:crypto'],
}

describe('the boundaries of src/', () => {
  test('hold for every import', async () => {
    const files = await Array.fromAsync(glob('**/*.ts', { cwd: source }))

    const violations = await Promise.all(
      files.map(async (file) => violationsOf(file, await readFile(join(source, file), 'utf8'))),
    )

    expect(files.length).toBeGreaterThan(0)
    expect(violations.flat()).toEqual([])
  })

  test.each([
    [
      'an area that it must not know',
      'identity/decide.ts',
      "import { openStore } from '../store/roster.ts'",
      /identity/,
    ],
    [
      'the platform from the daemon',
      'sync/run.ts',
      "import type { Key } from '../platform/api-keys.ts'",
      /sync .*platform/,
    ],
    ['the daemon from the platform', 'platform/start.ts', "export { sync } from '../sync/sync.ts'", /platform .*sync/],
    ['a package in the core', 'identity/decide.ts', "import { parse } from 'yaml'", /yaml/],
    ['a file without its extension', 'cli/run.ts', "import { check } from './check'", /\.ts/],
    ['a module while running', 'daemon/work.ts', "const late = await import('../platform/start.ts')", /platform/],
    [
      'an import over several lines',
      'store/runs.ts',
      "\nimport {\n  a,\n  b,\n} from '../sync/run.ts'",
      /store .*sync/,
    ],
    ['an area that the table does not name', 'new/thing.ts', "import { z } from 'zod'", /new/],
    ['a default export', 'cli/run.ts', 'export default function run() {}', /default/],
  ])('are told apart: %s', (_case, file, text, expected) => {
    const violations = violationsOf(file, text)

    expect(violations).toEqual([expect.stringMatching(expected)])
  })

  test('name file and line of what crosses them', () => {
    const text = "import { z } from 'zod'\n\nimport { startDaemon } from '../daemon/compose.ts'\n"

    const violations = violationsOf('contract/common.ts', text)

    expect(violations).toEqual(['src/contract/common.ts:3: contract must not import daemon (../daemon/compose.ts)'])
  })
})

type Import = { readonly specifier: string; readonly line: number }

/** Every rule that a file of src/ breaks, one line each. */
function violationsOf(file: string, text: string): string[] {
  const area = areaOf(file)
  const allowed = arrows[area]
  if (allowed === undefined) return [`src/${file}:1: ${area} is not in the table of arrows (test/boundaries.test.ts)`]
  const crossed = importsOf(text).flatMap((found) => {
    const problem = found.specifier.startsWith('.')
      ? problemOfFile(found.specifier, { file, area, allowed })
      : problemOfPackage(found.specifier, area)
    return problem === null ? [] : [`src/${file}:${found.line}: ${problem}`]
  })
  const defaults = matches(text, /^export default\b|^export \{[^}]*\bas default\b/gm)
  return [
    ...crossed,
    ...defaults.map(({ index }) => `src/${file}:${lineAt(text, index)}: default exports have no name`),
  ]
}

function problemOfFile(
  specifier: string,
  { file, area, allowed }: { file: string; area: string; allowed: readonly string[] },
): string | null {
  if (!/\.(ts|json)$/.test(specifier)) return `an import of ours ends in .ts (${specifier})`
  const target = relative(source, join(source, dirname(file), specifier))
  // What lies outside of src/ is data, such as package.json.
  if (target.startsWith('..')) return null
  const imported = areaOf(target)
  return imported === area || allowed.includes(imported) ? null : `${area} must not import ${imported} (${specifier})`
}

function problemOfPackage(specifier: string, area: string): string | null {
  const allowed = packages[area]
  return allowed === undefined || allowed.includes(specifier)
    ? null
    : `${area} must not import the package ${specifier}`
}

/** The area of a path below src/: its folder, or the file itself at the top. */
function areaOf(path: string): string {
  return path.split('/')[0] ?? path
}

function importsOf(text: string): Import[] {
  const statements = matches(text, /^(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^import\s*'([^']+)'/gm)
  const calls = matches(text, /\bimport\(\s*'([^']+)'\s*\)/g)
  return [...statements, ...calls].map(({ index, groups }) => ({
    specifier: groups.find((group) => group !== undefined) ?? '',
    line: lineAt(text, index),
  }))
}

function matches(text: string, pattern: RegExp): { index: number; groups: (string | undefined)[] }[] {
  return [...text.matchAll(pattern)].map((match) => ({ index: match.index, groups: match.slice(1) }))
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
