import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { silentEvents } from '../../src/telemetry/events.ts'

const run = promisify(execFile)
const rollcall = fileURLToPath(new URL('../../bin/rollcall', import.meta.url))

/** How long one start takes, from the call to its end, and for how long processors worked on it. */
export type Start = {
  readonly what: string
  readonly wallMs: number
  readonly cpuMs: number
  readonly asked: number | null
}

/** What is started, and at most how many times as long as a bare Node it may take. */
const starts: readonly { readonly what: string; readonly args: readonly string[]; readonly asked: number | null }[] = [
  { what: 'node', args: [process.execPath, '-e', ''], asked: null },
  { what: '--version', args: [rollcall, '--version'], asked: 1.5 },
  { what: '--help', args: [rollcall, '--help'], asked: 1.5 },
  { what: 'status', args: [rollcall, 'status'], asked: 3 },
]

/**
 * Starts a bare Node and the commands in turns, so that what slows the machine down slows all of them down. Each is started once
 * before, which leaves its compiled code behind, and `status` asks a daemon that runs.
 */
export async function measureStarts(rounds: number): Promise<Start[]> {
  await using place = await openPlace()
  const samples = starts.map(({ args }) => ({
    args: args.at(-1) === 'status' ? [...args, '--config', place.config] : args,
    taken: [] as Sample[],
  }))
  for (const { args } of samples) await start(args)
  for (let round = 0; round < rounds; round++) {
    for (const { args, taken } of samples) taken.push(await start(args))
  }
  return samples.map(({ taken }, index) => ({
    what: starts[index]?.what ?? '',
    wallMs: middle(taken.map(({ wallMs }) => wallMs)),
    cpuMs: middle(taken.map(({ cpuMs }) => cpuMs)),
    asked: starts[index]?.asked ?? null,
  }))
}

type Sample = { readonly wallMs: number; readonly cpuMs: number }

const startsAtOnce = 10

/** Several starts in a row by a shell, which alone can tell for how long processors worked on the processes that it started. */
async function start(args: readonly string[]): Promise<Sample> {
  const script = `i=0; while [ $i -lt ${startsAtOnce} ]; do "$@" >/dev/null || exit 1; i=$((i + 1)); done; times`
  const startedAt = performance.now()
  const { stdout } = await run('sh', ['-c', script, 'sh', ...args])
  const wallMs = (performance.now() - startedAt) / startsAtOnce
  const ofChildren = stdout.trim().split('\n').at(-1) ?? ''
  const cpuMs = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1000,
    0,
  )
  return { wallMs, cpuMs: cpuMs / startsAtOnce }
}

async function openPlace(): Promise<AsyncDisposable & { readonly config: string }> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'rollcall.yaml')
  await writeFile(join(folder, 'key'), 'key')
  await writeFile(
    config,
    `platform: { baseUrl: 'http://127.0.0.1:9/public/v2', apiKey: '\${file:key}' }
dataDir: ./data
server: { port: 0 }
connections:
  hr:
    target: { name: HR }
    source: { type: csv, path: '*.csv', mode: snapshot, preset: generic }
`,
  )
  opening.use(await startDaemon(await loadConfig(config, {}), { events: silentEvents() }))
  const opened = opening.move()
  return { config, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
