import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { company, toCsv } from '../../src/cli/demo/company.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { loadsOf } from '../helpers/loads.ts'
import { installPackage, pack } from '../helpers/packed.ts'
import { newDatabase } from './place.ts'
import { compiledFolder } from './tasks.ts'

const run = promisify(execFile)
const rollcall = fileURLToPath(new URL('../../bin/rollcall', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))

/** How long one start takes from the call to its end, and its processor time. */
export type Start = {
  readonly label: string
  readonly wallMs: number
  readonly cpuMs: number
  /** The same for a bare Node, or for one that loads the same libraries. */
  readonly reference: { readonly label: string; readonly wallMs: number; readonly cpuMs: number }
  readonly limit: number | null
}

const people = 250

type Command = {
  readonly label: string
  readonly args: readonly string[]
  /** The folder with the files that the command needs; null: it needs none. */
  readonly store: 'served' | 'PostgreSQL' | 'PGlite' | null
  /** The maximum ratio to the time of its reference. */
  readonly limit: number | null
}

/** Commands that the package is compared by with the sources. */
const packaged = ['--version', 'status']

/** Commands without a store are compared with a bare Node, the others with one that loads the same libraries. */
const commands: readonly Command[] = [
  { label: '--version', args: ['--version'], store: null, limit: 1.5 },
  { label: '--help', args: ['--help'], store: null, limit: 1.5 },
  { label: 'status', args: ['status'], store: 'served', limit: 1.5 },
  { label: `plan ${people}`, args: ['plan'], store: 'PostgreSQL', limit: 2.5 },
  // Half of the time is the start of the embedded database.
  { label: `plan ${people}, PGlite`, args: ['plan'], store: 'PGlite', limit: null },
]

/**
 * Starts the commands and their references in turns, so that a slow machine slows down all of them. Each is started once before, so
 * that its compiled code is cached. The time of `status` includes that of a running daemon; `plan` finds no daemon.
 */
export async function measureStarts(server: string, rounds: number): Promise<Start[]> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await newDatabase(server)).url
  const configs = {
    served: opening.use(await openFolder(database)).config,
    PostgreSQL: opening.use(await openFolder(opening.use(await newDatabase(server)).url)).config,
    PGlite: opening.use(await openFolder('')).config,
  }
  opening.use(await startDaemon(await loadConfig(configs.served, {}), { events: silentEvents() }))
  const program = await packedProgram(opening)
  const compared = []
  for (const { label, args, store, limit } of commands) {
    const whole = store === null ? args : [...args, '--config', configs[store]]
    // The first start makes the store.
    await run(rollcall, whole).catch(() => null)
    const { libraries } = store === null ? { libraries: [] } : await loadsOf(whole)
    compared.push({
      label,
      limit,
      ours: { args: [rollcall, ...whole], taken: [] as Sample[] },
      reference: {
        label: libraries.length === 0 ? 'node' : `node, ${libraries.length} libraries`,
        args: [process.execPath, ...bareArguments(libraries)],
        taken: [] as Sample[],
      },
    })
    if (packaged.includes(label))
      compared.push({
        label: `${label}, package`,
        limit: null,
        ours: { args: [program, ...whole], taken: [] as Sample[] },
        reference: { label: 'sources', args: [rollcall, ...whole], taken: [] as Sample[] },
      })
  }
  const all = compared.flatMap(({ ours, reference }) => [reference, ours])
  for (const { args } of all) await start(args)
  for (let round = 0; round < rounds; round++) {
    for (const { args, taken } of all) taken.push(await start(args))
  }
  return compared.map(({ label, ours, reference, limit }) => ({
    label,
    ...middles(ours.taken),
    reference: { label: reference.label, ...middles(reference.taken) },
    limit,
  }))
}

/** The program of the package, installed for the bench. */
async function packedProgram(opening: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  return opening.use(await installPackage(await pack(folder))).program
}

/** The arguments with which a bare Node loads libraries and then does nothing for that time. */
export function bareArguments(libraries: readonly string[], staysMs = 0): string[] {
  const loading = libraries.map((name) => `import('${name}')`).join(',')
  const staying = staysMs === 0 ? '' : `.then(() => { console.log('there'); setTimeout(() => {}, ${staysMs}) })`
  return ['-e', loading === '' ? '' : `Promise.all([${loading}])${staying}`]
}

type Sample = { readonly wallMs: number; readonly cpuMs: number }

/** The folder in which libraries are found by name, and that of the compiled code of a bare Node. */
export const bareSurroundings = {
  cwd: root,
  env: { ...process.env, NODE_COMPILE_CACHE: compiledFolder },
}

const startsAtOnce = 5
const held = 65

/**
 * Several starts in a row by a shell, because only the parent can read the processor time of its processes. A first plan of everybody
 * is held.
 */
async function start(args: readonly string[]): Promise<Sample> {
  const once = `"$@" >/dev/null 2>&1 || [ $? -eq ${held} ] || exit 1`
  const script = `i=0; while [ $i -lt ${startsAtOnce} ]; do ${once}; i=$((i + 1)); done; times`
  const startedAt = performance.now()
  const { stdout } = await run('sh', ['-c', script, 'sh', ...args], bareSurroundings)
  const wallMs = (performance.now() - startedAt) / startsAtOnce
  const ofChildren = stdout.trim().split('\n').at(-1) ?? ''
  const cpuMs = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1000,
    0,
  )
  return { wallMs, cpuMs: cpuMs / startsAtOnce }
}

/** A folder with an export and a configuration whose store is in this database, or in the folder. */
export async function openFolder(database: string): Promise<AsyncDisposable & { readonly config: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  const config = join(folder, 'rollcall.yaml')
  const today = new Date().toISOString().slice(0, 10)
  await writeFile(join(folder, 'people.csv'), toCsv(company({ seed: 1, size: people, today })))
  await writeFile(join(folder, 'key'), 'key')
  await writeFile(join(folder, 'database'), database)
  await writeFile(
    config,
    `platform: { baseUrl: 'http://127.0.0.1:9/public/v2', apiKey: '\${file:key}' }
${database === '' ? '' : 'database: ${file:database}\n'}dataDir: ./data
server: { port: 0 }
connections:
  hr:
    target: { name: HR }
    source: { type: csv, path: '*.csv', mode: snapshot, complete: { quietSeconds: 0 }, preset: generic }
`,
  )
  return { config, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

function middles(taken: readonly Sample[]): Sample {
  return { wallMs: middle(taken.map(({ wallMs }) => wallMs)), cpuMs: middle(taken.map(({ cpuMs }) => cpuMs)) }
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
