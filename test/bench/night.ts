import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { company, type Person, toCsv } from '../../src/cli/demo/company.ts'
import { type Row, ratio, round } from './figures.ts'
import { newDatabase, nextDay } from './place.ts'
import { areFinished, startDaemonProcess, startSimulatedPlatform, type Totals } from './processes.ts'
import { peakMiB } from './report.ts'
import { type Measured, measurePythonNight } from './tasks.ts'

const platformLimits = { requestsPerMinute: 500, latencyMs: 200 }
const secondsOfRequest = 60 / platformLimits.requestsPerMinute
/** After this time the limit of the platform counts no request of the night before. */
const restMs = 60_000
const lookMs = 50
const nightNames = ['first', 'next day'] as const

export type Night = {
  readonly night: (typeof nightNames)[number]
  readonly people: number
  /** The people that the platform received. */
  readonly sent: number
  /** From the moment the export is there to the last answer of the platform. */
  readonly seconds: number
  readonly requests: number
  readonly refused: number
  /** The time that these requests need if they are sent at the platform's limit. */
  readonly limitSeconds: number
  readonly peakMiB: number
  /** The Python script that does the same job. */
  readonly python: Measured
}

type Export = { readonly path: string; readonly texts: readonly string[] }

/**
 * Measures a daemon that watches a folder: an export of new people arrives, and a day later one in which 0.9 % have changed. The platform
 * is simulated with its limit. The Python script does the same with a platform of its own afterwards.
 */
export async function measureNights(server: string, people: number): Promise<Night[]> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const today = new Date().toISOString().slice(0, 10)
  const staff = company({ seed: 1, size: people, today })
  const texts = [staff, nextDay(staff, today)].map((day: readonly Person[]) => toCsv(day))
  const ours = await nightsOfDaemon(server, folder, texts)
  const theirs = await nightsOfPython({ path: join(folder, 'people.csv'), texts }, join(folder, 'state.json'))
  return nightNames.map((night, at) => {
    const [measured, python] = [ours[at], theirs[at]]
    if (!measured || !python) throw new Error(`the night "${night}" was not measured`)
    if (python.count !== measured.sent)
      process.stderr.write(`Rollcall sent ${measured.sent} people, the script ${python.count}\n`)
    return { night, people, ...measured, python }
  })
}

/** The most that a night may take: as a multiple of the limit for new people, in seconds beyond it for an ordinary night. */
const target = { firstTimes: 1.3, nextSeconds: 3, memory: 0.4 } as const

export function nightRow({ night, people, sent, seconds, requests, refused, limitSeconds, ...memory }: Night): Row {
  const isFirst = night === 'first'
  return {
    people,
    night,
    sent,
    s: round(seconds),
    requests,
    refused,
    'limit s': round(limitSeconds),
    'time / limit': ratio(seconds, limitSeconds),
    'time target': isFirst ? target.firstTimes : '',
    'time - limit, s': round(seconds - limitSeconds),
    's target': isFirst ? '' : target.nextSeconds,
    'peak MiB': Math.round(memory.peakMiB),
    'Python s': round(memory.python.seconds),
    'Python MiB': Math.round(memory.python.peakMiB),
    'MiB / Python': ratio(memory.peakMiB, memory.python.peakMiB),
    'MiB target': target.memory,
  }
}

type OurNight = Omit<Night, 'night' | 'people' | 'python'>

async function nightsOfDaemon(server: string, folder: string, texts: readonly string[]): Promise<OurNight[]> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await newDatabase(server)).url
  const platform = opening.use(await startSimulatedPlatform(platformLimits))
  await writeSettings(folder, { baseUrl: platform.baseUrl, database })
  const daemon = opening.use(await startDaemonProcess(join(folder, 'rollcall.yaml')))
  const store = new pg.Client(database)
  await store.connect()
  opening.defer(() => store.end())
  const nights: OurNight[] = []
  for (const text of texts) {
    if (nights.length > 0) await rest(store, daemon.pid)
    const before = await platform.totals()
    const beganMs = await placeExport(folder, text)
    const run = await runAfter(store, nights.length)
    // `totals` throws if the platform is asked for something that it does not know, which would never end.
    while (!(await areFinished(store, [run]))) {
      await pause(lookMs)
      await platform.totals()
    }
    const after = await platform.totals()
    nights.push({
      ...between(before, after),
      seconds: (after.answeredMs - beganMs) / 1000,
      peakMiB: await peakMiB(daemon.pid),
    })
  }
  return nights
}

function between(before: Totals, after: Totals) {
  const requests = after.requests - before.requests
  return {
    sent: after.people - before.people,
    requests,
    refused: after.refused - before.refused,
    limitSeconds: requests * secondsOfRequest,
  }
}

/** Lets a minute pass as if it were the day, and forgets the peak memory of the daemon. */
async function rest(store: pg.Client, pid: number): Promise<void> {
  await store.query('vacuum (analyze, parallel 0)')
  await store.query('checkpoint')
  await pause(restMs)
  await writeFile(`/proc/${pid}/clear_refs`, '5')
}

/** Puts an export into the watched folder, whole at once. Returns when that was, in milliseconds of the system clock. */
async function placeExport(folder: string, text: string): Promise<number> {
  const arriving = join(folder, 'arriving.csv')
  await writeFile(arriving, text)
  await rename(arriving, join(folder, 'exports/people.csv'))
  return Date.now()
}

/** Waits for the run after this many others. Returns its id. */
async function runAfter(store: pg.Client, others: number): Promise<string> {
  for (;;) {
    const { rows } = await store.query<{ id: string }>('select id from rollcall.runs order by created_at offset $1', [
      others,
    ])
    if (rows[0]) return rows[0].id
    await pause(lookMs)
  }
}

async function writeSettings(folder: string, { baseUrl, database }: { baseUrl: string; database: string }) {
  await mkdir(join(folder, 'exports'))
  await writeFile(join(folder, 'key'), 'key')
  await writeFile(join(folder, 'database'), database)
  await writeFile(
    join(folder, 'rollcall.yaml'),
    `platform: { baseUrl: '${baseUrl}', apiKey: '\${file:key}' }
database: \${file:database}
dataDir: ./data
server: { host: 127.0.0.1, port: 0 }
connections:
  hr:
    target: { id: 1 }
    verify: never
    source: { type: csv, path: exports/people.csv, watch: events, mode: snapshot, complete: { quietSeconds: 0 }, preset: generic, timeZone: UTC }
`,
  )
}

async function nightsOfPython({ path, texts }: Export, state: string): Promise<Measured[]> {
  await using platform = await startSimulatedPlatform(platformLimits)
  const url = `${platform.baseUrl}/custom-connections/1/hris-user-identities`
  const nights: Measured[] = []
  for (const text of texts) {
    await writeFile(path, text)
    nights.push(await measurePythonNight({ export: path, state, url }))
  }
  return nights
}
