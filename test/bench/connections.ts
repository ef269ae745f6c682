import { writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { control, controlPrefix } from '../../src/contract/control/control.ts'
import { Failure } from '../../src/errors.ts'
import { remoteCalls } from '../../src/http/client/remote-calls.ts'
import { signIn } from '../helpers/visitor.ts'
import { startTask } from './console.ts'
import { type BenchEnvironment, openEnvironment } from './place.ts'
import { quantile } from './quantile.ts'

/** Nights that each connection has behind it, one run a night. */
const nights = 90
const people = 50
const rounds = 20
const visitsPerSecond = 200
const visitsMs = 15_000
/** Events that each connection received before. */
const eventsBefore = 200

export type ManyConnections = {
  readonly connections: number
  /** A call of `status`, in milliseconds. */
  readonly statusMs: number
  readonly statusKb: number
  /** The first page of the overview, in milliseconds. */
  readonly overviewMs: number
  readonly overviewKb: number
  /** The median time of a page at 200 requests a second. */
  readonly visitMs: number
}

/** Measures what a daemon with many connections answers to people who look at it. */
export async function measureConnections(server: string, connections: number): Promise<ManyConnections> {
  await using environment = await openEnvironment({ server, redis: null, people })
  await writeConnections(environment, connections)
  const token = environment.env.BENCH_TOKEN ?? ''
  await using daemon = startTask(environment, 'task-serve.ts', environment.config)
  const { url } = await daemon.next(z.object({ url: z.string() }))
  const calls = remoteCalls(
    control,
    { baseUrl: `${url}${controlPrefix}`, bearer: token },
    (answer) => new Failure('conflict', `the daemon answers ${JSON.stringify(answer)}`),
  )
  await calls.startRun({ params: { connection: 'c0' }, body: {} })
  await daemon.next(z.object({ count: z.int() }))
  await copyConnection(environment.env.BENCH_DATABASE ?? '', connections)

  const status = await timed(() => calls.status({}))
  const cookie = await signIn(url, token)
  const overview = await timed(async () => {
    const answer = await fetch(url, { headers: { cookie } })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`the overview was answered with status ${answer.status}`)
    return text
  })
  await using visitors = startTask(environment, 'task-visit.ts', url, token, `${visitsPerSecond}`)
  await visitors.next(z.literal('looking'))
  await pause(visitsMs)
  visitors.end()
  const visits = await visitors.next(z.object({ p50Ms: z.number() }))
  return {
    connections,
    statusMs: status.ms,
    statusKb: JSON.stringify(status.value).length / 1000,
    overviewMs: overview.ms,
    overviewKb: overview.value.length / 1000,
    visitMs: visits.p50Ms,
  }
}
/** The median time of several calls, after a first one that is not counted. */
async function timed<T>(call: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  let value = await call()
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const beganMs = performance.now()
    value = await call()
    times.push(performance.now() - beganMs)
  }
  times.sort((a, b) => a - b)
  return { ms: quantile(times, 0.5), value }
}

async function writeConnections({ config, env }: BenchEnvironment, connections: number): Promise<void> {
  const each = Array.from(
    { length: connections },
    (_, at) => `  c${at}:
    target: { name: HR ${at} }
    verify: never
    schedule: { cron: '0 1 * * *', timeZone: Europe/Berlin, jitterMinutes: 60 }
    source: { type: csv, path: people.csv, mode: snapshot, complete: { quietSeconds: 0 }, preset: generic, timeZone: UTC }
`,
  )
  await writeFile(
    config,
    `platform: { baseUrl: '\${env:BENCH_PLATFORM}', apiKey: '\${file:platform-key}', requestsPerMinute: 1000000 }
database: \${env:BENCH_DATABASE}
dataDir: ./data
server: { host: 127.0.0.1, port: 0, token: '\${env:BENCH_TOKEN}' }
connections:
${each.join('')}`,
  )
  if (env.BENCH_DATABASE === '') throw new Error('the bench of connections needs a PostgreSQL server')
}

/** Gives every connection the people and the newest run of the first one, and a run of each night before. */
async function copyConnection(database: string, connections: number): Promise<void> {
  const client = new pg.Client(database)
  await client.connect()
  try {
    await client.query('set search_path to rollcall')
    const columnsOf = async (table: string, left: readonly string[]) => {
      const { rows } = await client.query<{ column_name: string }>(
        `select column_name from information_schema.columns
         where table_schema = 'rollcall' and table_name = $1 and column_name <> all($2) and is_generated = 'NEVER'`,
        [table, left],
      )
      return rows.map(({ column_name: name }) => `"${name}"`).join(', ')
    }
    const connectionColumns = await columnsOf('connections', ['name', 'target_id', 'target_key'])
    await client.query(`insert into connections (name, target_id, target_key, ${connectionColumns})
      select 'c' || at, 1000 + at, 'copy ' || at, ${connectionColumns} from connections, generate_series(1, ${connections - 1}) as at
      where name = 'c0' on conflict (name) do nothing`)
    for (const table of ['roster', 'acknowledged']) {
      const columns = await columnsOf(table, ['connection'])
      await client.query(`delete from ${table} where connection <> 'c0'`)
      await client.query(`insert into ${table} (connection, ${columns})
        select 'c' || at, ${columns} from ${table}, generate_series(1, ${connections - 1}) as at where connection = 'c0'`)
    }
    await client.query(`insert into inbox (connection, dedup_key, received_at, state)
      select 'c' || at, 'event ' || event, now(), 'settled'
      from generate_series(0, ${connections - 1}) as at, generate_series(1, ${eventsBefore}) as event`)
    const runColumns = await columnsOf('runs', ['id', 'connection', 'created_at', 'started_at', 'finished_at'])
    await client.query(`insert into runs (id, connection, created_at, started_at, finished_at, ${runColumns})
      select gen_random_uuid(), 'c' || at, created_at - make_interval(days => night), started_at - make_interval(days => night),
        finished_at - make_interval(days => night), ${runColumns}
      from runs, generate_series(0, ${connections - 1}) as at, generate_series(0, ${nights - 1}) as night
      where connection = 'c0' and not (at = 0 and night = 0)`)
    // Each connection has a statement of its newest run, or the daemon would make a thousand of them while it is measured.
    const statementColumns = await columnsOf('statements', ['id', 'connection', 'run_id', 'made_at'])
    await client.query(`insert into statements (connection, run_id, made_at, ${statementColumns})
      select newest.connection, newest.id, now(), ${statementColumns}
      from statements, (select distinct on (connection) connection, id from runs order by connection, created_at desc) newest
      where statements.connection = 'c0' and newest.connection <> 'c0'`)
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}
