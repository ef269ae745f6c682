import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { company, toCsv } from '../../src/cli/demo/company.ts'
import { controlOverSocket } from '../../src/cli/session/control-client.ts'
import { newDatabase } from './place.ts'
import { areFinished, finished, startDaemonProcess, startSimulatedPlatform, usedBy } from './processes.ts'

/** The limit of the platform for an address, and the part of it that Rollcall uses. */
const limits = { platform: 500, ours: 450 }
const latencyMs = 200
const sizes = { large: 10_000, middle: 1000, small: 50 } as const
/** The number of large connections, which is above the number of parallel jobs of a process. */
const largeOnes = 6
const middleShare = 0.05
/** The number of small connections to time alone, before anything else. */
const timedAlone = 10
/** The step of the pauses between two small connections beside the large ones: 0, 70, 140 ms and so on. */
const pauseStepMs = 70
const maxPauseMs = 400

export type SimulationOptions = {
  readonly server: string
  readonly redis: string | null
  readonly connections: number
  /** How much faster than in reality time passes: the limit a minute is multiplied by it, the latency divided. */
  readonly speed: number
}

export type Simulation = {
  readonly people: number
  /** The median time of a small connection alone, from the request for its run to the end of the run, in seconds of the machine. */
  readonly aloneSeconds: number
  /** The longest of those times, which shows the noise of the machine. */
  readonly longestAloneSeconds: number
  /** The longest and the median time of a small connection beside the large ones. */
  readonly behindSeconds: number
  readonly middleBehindSeconds: number
  readonly timedBehind: number
  /** The time of the large connections, which ran meanwhile. */
  readonly largeSeconds: number
  /** The time of all connections at once, with only new people. */
  readonly nightSeconds: number
  /** The same time without any change. */
  readonly nextNightSeconds: number
  readonly requests: number
  readonly refused: number
  readonly cpuSeconds: number
  readonly peakMib: number
}

type Size = keyof typeof sizes
type Connection = { readonly name: string; readonly size: Size }

/**
 * Measures a daemon with connections of mixed size against a simulated platform. First all connections run at once, with only new people,
 * and again without a change. Then everybody is sent again: a few small connections alone, then the large ones at once with small ones
 * beside them, one after the other with pauses of different lengths, until the large ones have ended.
 */
export async function simulate({ server, redis, connections: count, speed }: SimulationOptions): Promise<Simulation> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const database = opening.use(await newDatabase(server)).url
  const platform = opening.use(
    await startSimulatedPlatform({ requestsPerMinute: limits.platform * speed, latencyMs: latencyMs / speed }),
  )
  const { baseUrl } = platform
  const connections = mixed(count)
  await writeFiles(folder, connections, { baseUrl, database, redis, speed })
  const daemon = opening.use(await startDaemonProcess(join(folder, 'rollcall.yaml')))
  const { socket } = z
    .object({ socket: z.string() })
    .parse(JSON.parse(await readFile(join(folder, 'data/daemon.json'), 'utf8')))
  const control = controlOverSocket({ socket })
  const store = new pg.Client(database)
  await store.connect()
  opening.defer(() => store.end())

  const [large, others] = parted(connections, 'large')
  const [small] = parted(others, 'small')
  const request = async ({ name }: Connection, full = true) =>
    (await control.startRun({ params: { connection: name }, body: { full } })).id
  const timed = async (connection: Connection) => await finished(store, [await request(connection)])

  const night = async () => {
    const beganMs = performance.now()
    const runs: string[] = []
    for (const connection of connections) runs.push(await request(connection, false))
    await finished(store, runs)
    return (performance.now() - beganMs) / 1000
  }
  const nightSeconds = await night()
  const nextNightSeconds = await night()

  const alone: number[] = []
  for (const connection of small.slice(0, timedAlone)) alone.push(await timed(connection))

  const largeMs = performance.now()
  const largeRuns = await Promise.all(large.map((connection) => request(connection)))
  const behind: number[] = []
  for (let at = 0; !(await areFinished(store, largeRuns)); at++) {
    const connection = small[at % small.length]
    if (connection) behind.push(await timed(connection))
    // Different pauses, so that the small connections meet every phase of the large ones.
    await pause((at * pauseStepMs) % maxPauseMs)
  }
  const largeSeconds = (performance.now() - largeMs) / 1000

  const totals = await platform.totals()
  return {
    people: totals.people,
    aloneSeconds: middleOf(alone),
    longestAloneSeconds: Math.max(...alone),
    behindSeconds: Math.max(...behind),
    middleBehindSeconds: middleOf(behind),
    timedBehind: behind.length,
    largeSeconds,
    nightSeconds,
    nextNightSeconds,
    requests: totals.requests,
    refused: totals.refused,
    ...(await usedBy(daemon.pid)),
  }
}

function mixed(count: number): Connection[] {
  const middles = Math.round(count * middleShare)
  return Array.from({ length: count }, (_, at) => {
    const size = at < largeOnes ? 'large' : at < largeOnes + middles ? 'middle' : 'small'
    return { name: `c${at}`, size }
  })
}

function parted(connections: readonly Connection[], size: Size): [Connection[], Connection[]] {
  const { these = [], others = [] } = Object.groupBy(connections, (one) => (one.size === size ? 'these' : 'others'))
  return [these, others]
}

async function writeFiles(
  folder: string,
  connections: readonly Connection[],
  { baseUrl, database, redis, speed }: { baseUrl: string; database: string; redis: string | null; speed: number },
): Promise<void> {
  const today = new Date().toISOString().slice(0, 10)
  const texts = Object.fromEntries(
    Object.entries(sizes).map(([size, people]) => [size, toCsv(company({ seed: 1, size: people, today }))]),
  )
  await mkdir(join(folder, 'exports'))
  for (const { name, size } of connections) await writeFile(join(folder, 'exports', `${name}.csv`), texts[size] ?? '')
  await writeFile(join(folder, 'key'), 'key')
  await writeFile(join(folder, 'database'), database)
  await writeFile(join(folder, 'queue'), redis ?? '')
  const described = connections.map(
    ({ name }, at) => `  ${name}:
    target: { id: ${at + 1} }
    verify: never
    source: { type: csv, path: exports/${name}.csv, mode: snapshot, complete: { quietSeconds: 0 }, preset: generic, timeZone: UTC }
`,
  )
  await writeFile(
    join(folder, 'rollcall.yaml'),
    `platform: { baseUrl: '${baseUrl}', apiKey: '\${file:key}', requestsPerMinute: ${limits.ours * speed} }
database: \${file:database}
${redis === null ? '' : `queue: \${file:queue}\n`}dataDir: ./data
server: { host: 127.0.0.1, port: 0 }
connections:
${described.join('')}`,
  )
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
