import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { z } from 'zod'
import { company, type NightEvent, nextNight, type Person, toCsv, usualNight } from '../../src/cli/demo/company.ts'
import { boundTo, type Cores } from './cores.ts'

/** The setup for the measurements of one size on one store. Disposing removes all of it. */
export type BenchEnvironment = AsyncDisposable & {
  /** The configuration of Rollcall, with a budget of requests that is never reached. */
  readonly config: string
  /** The environment variables that the configuration reads. */
  readonly env: Readonly<Record<string, string>>
  readonly csv: string
  /** The export before the newest one. */
  readonly formerCsv: string
  /** Lets the server do its background work of a day between two exports, which would otherwise disturb a measurement. */
  readonly rest: () => Promise<void>
  /** Replaces the first export by the one of the next day, in which 0.9 % of the people have changed. */
  readonly writeNextDay: () => Promise<void>
  /** Changes the mapping to other rules that read the same from each row. */
  readonly changeMapping: () => Promise<void>
  readonly cores: Cores | null
}

const logKept = 4000
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const seed = fileURLToPath(new URL('../../config/platform-seed.yaml', import.meta.url))

const configText = `
platform:
  baseUrl: \${env:BENCH_PLATFORM}
  apiKey: \${file:platform-key}
  requestsPerMinute: 1000000
  timeoutMs: 600000
database: \${env:BENCH_DATABASE:-}
queue: \${env:BENCH_QUEUE:-}
dataDir: ./data
server: { host: 127.0.0.1, port: 0, token: '\${env:BENCH_TOKEN}' }
connections:
  hr:
    source: { type: csv, path: people.csv, mode: snapshot, complete: { quietSeconds: 0 }, timeZone: UTC, `

/** The rest of the configuration: people, or records of the first workspace. */
const targets = {
  people: `preset: generic }
    target: { name: HR }
`,
  records: `fields: { identityId: Worker ID }, record: { email: Work Email, name: First Name, title: Job Title, start: Hire Date } }
    target:
      name: HR records
      type: CUSTOM
      workspaces: [1]
      displayNameKey: name
      schema:
        type: object
        required: [id, name]
        properties:
          id: { type: string }
          name: { type: string }
          email: { type: string }
          title: { type: string }
          start: { type: string, format: date }
`,
} as const
const remapped = `preset: generic, fields: { startedAt: { column: Hire Date, format: [yyyy-MM-dd, dd.MM.yyyy] } } }
    target: { name: HR }
`

/** The events of a day, as shares of the people: below the limits of the guards, and 0.9 % together. */
const eventsOfDay: readonly (readonly [NightEvent, number])[] = [
  ['joiner', 0.002],
  ['mover', 0.004],
  ['leaver', 0.001],
  ['absentee', 0.0005],
  ['futureLeaver', 0.0005],
  ['returner', 0.0003],
  ['correction', 0.0003],
  ['brokenRow', 0.0004],
]

export type EnvironmentOptions = {
  /** The address of PostgreSQL; null for embedded databases. */
  readonly server: string | null
  /** The address of another PostgreSQL for the platform, if it has its own. */
  readonly platformServer?: string | null
  /** Keeps the platform and the measured process on separate processors; null: both use all. */
  readonly cores?: Cores | null
  /** The queue, if jobs are not in the database. */
  readonly redis: string | null
  readonly people: number
  /** Whether people or records are sent. */
  readonly as?: keyof typeof targets
}

/** Writes an export of this many people and starts a platform. Both sides are embedded, or use new databases of the server. */
export async function openEnvironment({
  server,
  platformServer = server,
  cores = null,
  redis,
  people,
  as = 'people',
}: EnvironmentOptions): Promise<BenchEnvironment> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const store = server === null ? '' : opening.use(await newDatabase(server)).url
  const database =
    platformServer === null ? join(folder, 'platform') : opening.use(await newDatabase(platformServer)).url
  const keyFile = join(folder, 'platform-key')
  const platform = opening.use(await startPlatform({ database, keyFile, cores: cores?.theirs ?? null }))

  const files = { config: join(folder, 'rollcall.yaml'), csv: join(folder, 'people.csv') }
  const formerCsv = join(folder, 'people-former.csv')
  const today = new Date().toISOString().slice(0, 10)
  const staff = company({ seed: 1, size: people, today })
  await writeFile(files.csv, toCsv(staff))
  await copyFile(files.csv, formerCsv)
  const writeNextDay = async () => {
    await writeFile(files.csv, toCsv(nextDay(staff, today)))
  }
  const changeMapping = async () => await writeFile(files.config, `${configText}${remapped}`)
  const rest = async () => {
    for (const url of server === null ? [] : [store, database]) await runOn(url, 'VACUUM (ANALYZE, PARALLEL 0)')
    if (server !== null) await runOn(store, 'CHECKPOINT')
  }
  await writeFile(files.config, `${configText}${targets[as]}`)
  const env = {
    BENCH_PLATFORM: platform.baseUrl,
    BENCH_DATABASE: store,
    BENCH_QUEUE: redis ?? '',
    BENCH_TOKEN: randomUUID(),
  }
  const opened = opening.move()
  const environment = { ...files, formerCsv, rest, writeNextDay, changeMapping, env, cores }
  return { ...environment, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** The people of the next day, in which 0.9 % have changed. */
export function nextDay(staff: readonly Person[], today: string): readonly Person[] {
  const counts = Object.fromEntries(eventsOfDay.map(([event, share]) => [event, Math.round(share * staff.length)]))
  return nextNight(staff, { seed: 2, today, counts: { ...usualNight, ...counts } }).people
}

/** A new database of the server, empty or a copy of one that nobody is connected to; disposing drops it. */
export async function newDatabase(
  server: string,
  copied?: string,
): Promise<AsyncDisposable & { readonly url: string }> {
  const name = `bench_${randomUUID().replaceAll('-', '')}`
  const template = copied === undefined ? '' : ` TEMPLATE ${new URL(copied).pathname.slice(1)}`
  await runOn(server, `CREATE DATABASE ${name}${template}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, [Symbol.asyncDispose]: () => runOn(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

async function runOn(server: string, sql: string): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

const Served = z.object({ baseUrl: z.string(), operatorUrl: z.string() })

/** The platform in a separate process, so that its work is not counted as ours. It has no request limit. */
export async function startPlatform({
  database,
  keyFile,
  env,
  cores = null,
}: {
  readonly database: string
  readonly keyFile: string
  readonly env?: Readonly<Record<string, string>>
  readonly cores?: string | null
}) {
  const options = ['--seed', seed, '--key-file', keyFile, '--database', database]
  const words = ['platform', 'serve', '--json', '--no-sync', '--port', '0', '--requests-per-minute', '0', ...options]
  const child = spawn(...boundTo(cores, process.execPath, [main, ...words]), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const { baseUrl, operatorUrl } = Served.parse(await firstDocument(child))
  return {
    baseUrl,
    operatorUrl,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** The JSON document that a service prints when it is ready. Its log is read and discarded. */
async function firstDocument(child: ChildProcessByStdio<null, Readable, Readable>): Promise<unknown> {
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log = `${log}${chunk}`.slice(-logKept)
  })
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    if (text.endsWith('}\n')) return JSON.parse(text)
  }
  throw new Error(`the platform ended before it served:\n${log}`)
}
