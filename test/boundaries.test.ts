import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { areas, rooms, top } from './helpers/arrows.ts'
import { importsOf, lineAt, matches, source, targetOf, targetsOf } from './helpers/imports.ts'

/** Packages that an inner area lives on; the others may use whatever package.json lists. */
const packages: Readonly<Record<string, readonly string[]>> = {
  contract: ['zod'],
  identity: ['zod', 'fastest-levenshtein', 'ajv', 'ajv-formats', 'node:crypto', 'node:util'],
}

describe('the boundaries of src/', () => {
  test('hold for every import', async () => {
    const files = await sourceFiles()

    const violations = [...files].flatMap(([file, text]) => violationsOf(file, text))

    expect(files.size).toBeGreaterThan(0)
    expect(violations).toEqual([])
  })

  test('have no circle of files, also not of types alone', async () => {
    const files = await sourceFiles()

    const circles = circlesOf(new Map([...files].map(([file, text]) => [file, targetsOf(file, text)])))

    expect(circles).toEqual([])
  })

  test('have no circle of rooms, folder by folder', async () => {
    const arrows = roomArrows(await sourceFiles())

    expect(circlesOf(arrows)).toEqual([])
  })

  test('name only rooms and files that exist', async () => {
    const files = await sourceFiles()
    const paths = new Set([...files.keys()].flatMap((file) => [file, dirname(file)]))

    const named = Object.entries(rooms).flatMap(([area, arrows]) =>
      Object.entries(arrows).flatMap(([room, others]) => [room, ...others].map((name) => join(area, pathOf(name)))),
    )

    expect(named.filter((path) => !paths.has(path))).toEqual([])
  })

  test('print text only through files that escape it', async () => {
    const files = await sourceFiles()

    const using = waysOut.map(({ label, use }) => [
      label,
      [...files.keys()].filter((file) => use.test(files.get(file) ?? '')),
    ])

    expect(Object.fromEntries(using)).toEqual(
      Object.fromEntries(waysOut.map(({ label, files: known }) => [label, known])),
    )
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
      'sync/run/run.ts',
      "import type { Key } from '../../platform/api-keys.ts'",
      /sync .*platform/,
    ],
    ['the daemon from the platform', 'platform/start.ts', "export { sync } from '../sync/sync.ts'", /platform .*sync/],
    ['a package in the core', 'identity/decide.ts', "import { parse } from 'yaml'", /yaml/],
    ['a file without its extension', 'cli/run.ts', "import { check } from './check'", /\.ts/],
    ['a module while running', 'daemon/work.ts', "const late = await import('../platform/start.ts')", /platform/],
    [
      'an import over several lines',
      'store/schema.ts',
      "\nimport {\n  a,\n  b,\n} from '../sync/run/run.ts'",
      /store .*sync/,
    ],
    ['an area that the table does not name', 'new/thing.ts', "import { z } from 'zod'", /new/],
    ['a room that the table does not name', 'connectors/ftp/list.ts', "import { z } from 'zod'", /connectors\/ftp/],
    [
      'a room that it must not know',
      'connectors/sftp/sftp.ts',
      "import { move } from '../folder/move.ts'",
      /connectors\/sftp .*connectors\/folder/,
    ],
    [
      'a room that comes after it',
      'sync/deliver/upsert.ts',
      "import { verify } from '../verify/verify.ts'",
      /sync\/deliver .*verify\/verify\.ts/,
    ],
    [
      'the top of its area',
      'contract/platform/users.ts',
      "import { all } from '../../platform/start.ts'",
      /contract .*platform/,
    ],
    ['a default export', 'cli/run.ts', 'export default function run() {}', /default/],
  ])('are told apart: %s', (_case, file, text, expected) => {
    const violations = violationsOf(file, text)

    expect(violations).toEqual([expect.stringMatching(expected)])
  })

  test('find a circle over three files, and none where paths only meet', () => {
    const meeting = { 'a.ts': ['b.ts', 'c.ts'], 'b.ts': ['d.ts'], 'c.ts': ['d.ts'], 'd.ts': [] }
    const turning = { ...meeting, 'd.ts': ['a.ts'] }

    const circles = [meeting, turning].map((imports) => circlesOf(new Map(Object.entries(imports))))

    expect(circles).toEqual([[], ['a.ts → b.ts → d.ts → a.ts']])
  })

  test('name file and line of what crosses them', () => {
    const text = "import { z } from 'zod'\n\nimport { startDaemon } from '../../daemon/start.ts'\n"

    const violations = violationsOf('contract/platform/common.ts', text)

    expect(violations).toEqual([
      'src/contract/platform/common.ts:3: contract must not import daemon (../../daemon/start.ts)',
    ])
  })
})

/** The ways on which text leaves the program, and the files that may use them: each makes visible what it passes on. */
const waysOut: readonly { readonly label: string; readonly use: RegExp; readonly files: readonly string[] }[] = [
  {
    label: 'the terminal',
    use: /\bprocess\s*\.\s*(?:stdout|stderr)\b|\{[^}]*\bstd(?:out|err)\b[^}]*\}\s*=\s*process\b|\bconsole\s*\./,
    files: ['cli/session/prompts.ts', 'main.ts', 'telemetry/log.ts', 'text/json-output.ts', 'text/print.ts'],
  },
  { label: 'colours', use: /\bstyleText\b/, files: ['telemetry/log.ts', 'text/print.ts'] },
  { label: 'the log', use: /\bpino\(/, files: ['telemetry/log.ts'] },
  { label: 'mail', use: /\.sendMail\(/, files: ['daemon/alerts/smtp.ts'] },
  {
    label: 'answers over HTTP',
    use: /\breply\b[\s\S]{0,120}?\.send\(|\bsocket\.(?:write|end)\(\S/,
    files: [
      'http/server/app.ts',
      'http/server/broken-request.ts',
      'http/server/reference-page.ts',
      'platform/operators/serve.ts',
      'platform/start.ts',
      'web/assets.ts',
      'web/send.ts',
    ],
  },
]

type Importing = { readonly file: string; readonly area: string; readonly allowed: readonly string[] }

async function sourceFiles(): Promise<Map<string, string>> {
  const files = await Array.fromAsync(glob('**/*.ts', { cwd: source }))
  const read = async (file: string) => [file, await readFile(join(source, file), 'utf8')] as const
  return new Map(await Promise.all(files.sort().map(read)))
}

/** Every rule that a file of src/ breaks, one line each. */
function violationsOf(file: string, text: string): string[] {
  const area = areaOf(file)
  const allowed = areas[area]
  if (allowed === undefined) return [`src/${file}:1: ${area} is not in the table of arrows (test/helpers/arrows.ts)`]
  const room = roomOf(file)
  if (room !== null && rooms[area]?.[room] === undefined) {
    return [`src/${file}:1: ${area}/${room} is not in the table of arrows (test/helpers/arrows.ts)`]
  }
  const crossed = importsOf(text).flatMap((entry) => {
    const problem = entry.specifier.startsWith('.')
      ? problemOfFile(entry.specifier, { file, area, allowed })
      : problemOfPackage(entry.specifier, area)
    return problem === null ? [] : [`src/${file}:${entry.line}: ${problem}`]
  })
  const defaults = matches(text, /^export default\b|^export \{[^}]*\bas default\b/gm)
  return [
    ...crossed,
    ...defaults.map(({ index }) => `src/${file}:${lineAt(text, index)}: default exports have no name`),
  ]
}

function problemOfFile(specifier: string, { file, area, allowed }: Importing): string | null {
  if (!/\.(ts|json)$/.test(specifier)) return `an import of ours ends in .ts (${specifier})`
  const target = targetOf(file, specifier)
  // What lies outside of src/ is data, such as package.json.
  if (target.startsWith('..')) return null
  const imported = areaOf(target)
  if (imported === area) return problemOfRoom(target, file)
  return allowed.includes(imported) ? null : `${area} must not import ${imported} (${specifier})`
}

function problemOfRoom(target: string, file: string): string | null {
  const area = areaOf(file)
  const [from, to] = [roomOf(file), roomOf(target)]
  if (from === null || to === null || from === to) return null
  const allowed = rooms[area]?.[from] ?? []
  if (allowed.includes(to) || allowed.includes(target.slice(area.length + 1))) return null
  return `${area}/${from} must not import ${target}`
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

/** The room of a file within its area; null in an area without rooms. */
function roomOf(path: string): string | null {
  const [area = '', room = '', ...rest] = path.split('/')
  if (rooms[area] === undefined) return null
  return rest.length === 0 ? top : room
}

/** Where a place that the table names lies within its area. */
function pathOf(name: string): string {
  return name === top ? '.' : name
}

/** The circles among imports, each once, from its first file on. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const path: string[] = []

  for (const file of imports.keys()) visit(file)
  return circles

  function visit(file: string): void {
    const start = path.indexOf(file)
    if (start >= 0) circles.push([...path.slice(start), file].join(' → '))
    if (start >= 0 || done.has(file)) return
    path.push(file)
    for (const target of imports.get(file) ?? []) visit(target)
    path.pop()
    done.add(file)
  }
}

/** The folders that each folder imports from. A file at the top of src/ is a room of its own. */
function roomArrows(files: ReadonlyMap<string, string>): Map<string, string[]> {
  const folder = (path: string) => (dirname(path) === '.' ? path : dirname(path))
  const arrows = new Map<string, Set<string>>()
  for (const [file, text] of files) {
    const from = folder(file)
    const to = targetsOf(file, text).filter((target) => !target.startsWith('..') && folder(target) !== from)
    arrows.set(from, (arrows.get(from) ?? new Set()).union(new Set(to.map(folder))))
  }
  return new Map([...arrows].map(([from, to]) => [from, [...to]]))
}
