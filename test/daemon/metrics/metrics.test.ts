import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { controlOverSocket } from '../../../src/cli/session/control-client.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { catalogue, type MetricName } from '../../../src/daemon/metrics/catalogue.ts'
import { createMetrics } from '../../../src/daemon/metrics/metrics.ts'
import { startDaemon } from '../../../src/daemon/start.ts'
import { type Event, silentEvents } from '../../../src/telemetry/events.ts'
import { install } from '../../helpers/installation.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { tool } from '../../helpers/servers/tools.ts'
import { type Host, staff, startHost } from '../../helpers/world.ts'

const configFolder = fileURLToPath(new URL('../../../config/', import.meta.url))
/** Node's own process metrics that the examples use. */
const ofProcess = ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes', 'up']

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** The samples of a scrape by name with labels. */
async function scrape(url: string, token?: string): Promise<Map<string, number>> {
  const text = await (await fetchMetrics(url, token)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

async function fetchMetrics(url: string, token?: string): Promise<Response> {
  return await fetch(`${url}/metrics`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
}

async function statusOf(url: string, token?: string): Promise<number> {
  return (await fetchMetrics(url, token)).status
}

function namesOf(samples: Iterable<string>): Set<string> {
  return new Set([...samples].map((sample) => sample.replace(/\{.*$/, '').replace(/_(?:bucket|sum|count)$/, '')))
}

test('a run without changes is not remembered once it has ended', async () => {
  const metrics = createMetrics()
  const run = { runId: 'r1', connection: 'acme' }
  const read = { event: 'run.read', ...run, rejected: 2 } as Event
  metrics.record(read)
  metrics.record({ event: 'run.unchanged', ...run, people: 4 } as Event)

  metrics.record(read)

  expect(await metrics.text([])).toContain('rollcall_rows_rejected_total{connection="acme"} 4')
})

describe('two processes on one store', () => {
  test('serve counters and gauges with names and labels of the catalogue, the same values of the store, and no key', async () => {
    await using stack = new AsyncDisposableStack()
    const { key } = await host.tenant()
    const database = stack.use(await createPostgresDatabase()).at
    const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database }))
    await at.configure({ connection: "    schedule: { cron: '0 2 * * *' }\n" })
    await at.writeExport([...staff(4), { id: '', email: 'nobody@acme.example' }])
    const config = await loadConfig(at.configFile, process.env)
    const scraped = { ...config, server: { ...config.server, metrics: 'open' as const } }
    const start = async (roles: readonly ('api' | 'scheduler' | 'worker')[]) => {
      const metrics = createMetrics({ ofProcess: true })
      return stack.use(await startDaemon(scraped, { events: silentEvents(metrics.record), metrics, roles }))
    }
    const worker = await start(['worker', 'api'])
    const scheduler = await start(['scheduler'])
    const control = controlOverSocket({ socket: worker.socket ?? '' })
    await control.startRun({ params: { connection: 'acme' }, body: {} })
    await expect
      .poll(async () => (await control.status({})).connections[0]?.last?.state, { timeout: 60_000 })
      .toBe('finished')
    await control.pauseConnection({ params: { connection: 'acme' }, body: { reason: 'a change' } })

    const fromStore = (samples: ReadonlyMap<string, number>) =>
      [...samples].filter(([sample]) => {
        const name = sample.replace(/\{.*$/, '')
        return name in catalogue && catalogue[name as MetricName].type === 'store'
      })
    let one = await scrape(worker.url)
    // Clean-up after the run may still change the store between the two scrapes.
    await expect
      .poll(
        async () => {
          one = await scrape(worker.url)
          const other = await scrape(scheduler.url)
          return fromStore(other).filter(([sample, value]) => one.get(sample) !== value)
        },
        { timeout: 60_000 },
      )
      .toEqual([])
    const other = await scrape(scheduler.url)

    const served = namesOf(one.keys())
    const foreign = [...served].filter((name) => !(name in catalogue) && !/^(?:process|nodejs)_/.test(name))
    expect(foreign).toEqual([])
    expect(fromStore(other).map(([sample]) => sample)).toEqual(fromStore(one).map(([sample]) => sample))
    expect(Object.fromEntries(one)).toMatchObject({
      rollcall_store_up: 1,
      rollcall_platform_failing_seconds: 0,
      'rollcall_people{connection="acme",state="desired"}': 4,
      'rollcall_people{connection="acme",state="undelivered"}': 0,
      'rollcall_runs{connection="acme",state="finished"}': 1,
      'rollcall_paused{connection="acme"}': 1,
      'rollcall_processes{role="scheduler"}': 1,
      'rollcall_runs_total{connection="acme",outcome="finished"}': 1,
      'rollcall_changes_planned_total{connection="acme",kind="join"}': 4,
      'rollcall_rows_rejected_total{connection="acme"}': 1,
      'rollcall_people_delivered_total{connection="acme",outcome="confirmed"}': 4,
      'rollcall_run_duration_seconds_count{connection="acme"}': 1,
      'rollcall_request_duration_seconds_count{operation="upsertHrisUserIdentities",outcome="taken"}': 1,
    })
    expect([...one.keys(), ...other.keys()].join('\n')).not.toMatch(/E000|acme\.example|a change/)
    for (const name of ofProcess.slice(0, 2)) expect(served).toContain(name)
  })

  test('say so if the store cannot be reached, and still serve their own counters', async () => {
    await using stack = new AsyncDisposableStack()
    const { key } = await host.tenant()
    const server = await createPostgresDatabase()
    const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database: server.at }))
    const config = await loadConfig(at.configFile, process.env)
    const daemon = stack.use(
      await startDaemon({ ...config, server: { ...config.server, metrics: 'open' } }, { events: silentEvents() }),
    )
    await server[Symbol.asyncDispose]()

    const samples = await scrape(daemon.url)

    expect(samples.get('rollcall_store_up')).toBe(0)
    expect([...samples.keys()].filter((sample) => sample.startsWith('rollcall_people{'))).toEqual([])
  })

  test('say so to a token of the store as well, if it was admitted before', async () => {
    await using stack = new AsyncDisposableStack()
    const { key } = await host.tenant()
    const server = await createPostgresDatabase()
    const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database: server.at }))
    const daemon = stack.use(
      await startDaemon(await loadConfig(at.configFile, process.env), { events: silentEvents() }),
    )
    const control = controlOverSocket({ socket: daemon.socket ?? '' })
    const make = async (name: string) => (await control.createToken({ body: { name, role: 'viewer' } })).token
    const [token, late, revoked] = [await make('prometheus'), await make('late'), await make('revoked')]
    const before = await scrape(daemon.url, token)
    await scrape(daemon.url, revoked)
    await control.revokeToken({ params: { name: 'revoked' }, body: {} })
    const refused = await statusOf(daemon.url, revoked)
    await server[Symbol.asyncDispose]()

    // What was read from the store is served for a few seconds more.
    const storeUp = async () => (await scrape(daemon.url, token)).get('rollcall_store_up')
    await expect.poll(storeUp, { timeout: 20_000 }).toBe(0)
    expect(before.get('rollcall_store_up')).toBe(1)
    expect(refused).toBe(401)
    for (const other of [late, revoked, undefined]) expect(await statusOf(daemon.url, other)).not.toBe(200)
  })
})

test('a scrape needs a token unless the metrics are open, which they may be on this machine alone', async () => {
  await using stack = new AsyncDisposableStack()
  const { key } = await host.tenant()
  const database = stack.use(await createPostgresDatabase()).at
  const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database }))
  const token = 'a-token-of-the-configuration'
  await writeFile(join(at.folder, 'token'), token)
  const lines = (await readFile(at.configFile, 'utf8')).replace('port: 0', `port: 0, token: "\${file:token}"`)
  await writeFile(at.configFile, lines)
  const config = await loadConfig(at.configFile, process.env)
  await using daemon = await startDaemon(config, { events: silentEvents(), roles: ['scheduler'] })
  const statusWith = async (headers: Record<string, string>) =>
    (await fetch(`${daemon.url}/metrics`, { headers })).status
  await writeFile(at.configFile, lines.replace('127.0.0.1, port: 0', '0.0.0.0, port: 0, metrics: open'))

  const statuses = [
    await statusWith({}),
    await statusWith({ authorization: 'Bearer another-token-than-that' }),
    await statusWith({ authorization: `Bearer ${token}` }),
  ]

  expect(statuses).toEqual([401, 401, 200])
  await expect(loadConfig(at.configFile, process.env)).rejects.toThrow(
    'server.metrics: open goes with a host of this machine alone, such as 127.0.0.1',
  )
})

/** The selectors of an expression: each name with the labels that its braces name. */
function selectors(expression: string): { name: string; labels: string[] }[] {
  return [...expression.matchAll(/\b((?:rollcall|nodejs|process)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, name = '', braces = '']) => ({
      name,
      labels: [...braces.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label),
    }),
  )
}

type Panel = {
  readonly id: number
  readonly gridPos: { readonly x: number; readonly y: number }
  readonly targets: { readonly expr: string }[]
}
/** Metrics that neither the dashboard nor a rule needs. */
const unused = [
  'rollcall_info',
  'rollcall_last_run_timestamp_seconds',
  'rollcall_next_run_timestamp_seconds',
  'rollcall_unserved_people',
  'rollcall_effective_people',
  'rollcall_effective_compared_timestamp_seconds',
  'rollcall_source_as_of_timestamp_seconds',
  'rollcall_jobs_total',
]

describe('the dashboard and the rules', () => {
  const alertRules = async (): Promise<{ groups: { rules: { alert: string; expr: string }[] }[] }> =>
    parse(await readFile(join(configFolder, 'prometheus/alerts.yaml'), 'utf8'))
  const dashboard = async (): Promise<{ panels: Panel[] }> =>
    JSON.parse(await readFile(join(configFolder, 'grafana/rollcall.json'), 'utf8'))
  const expressions = async () => [
    ...(await alertRules()).groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...(await dashboard()).panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ]

  test('name metrics and labels that are served, and no other', async () => {
    const used = (await expressions()).flatMap(selectors)

    const wrong = used.filter(({ name, labels }) => {
      const base = name.replace(/_(?:bucket|count)$/, '')
      if (ofProcess.includes(base)) return false
      if (!(base in catalogue)) return true
      const known: readonly string[] = catalogue[base as MetricName].labels
      return labels.some((label) => !known.includes(label))
    })
    expect(wrong).toEqual([])
    expect(used.length).toBeGreaterThan(30)
  })

  test('group by labels that the metric has', async () => {
    const grouped = (await expressions()).filter((expression) =>
      [...expression.matchAll(/by \(([^)]*)\)/g)].some(([, labels = '']) => {
        const known = selectors(expression).flatMap(({ name }) => {
          const base = name.replace(/_(?:bucket|count)$/, '')
          return base in catalogue ? [...catalogue[base as MetricName].labels, 'le', 'job'] : ['job']
        })
        return labels.split(',').some((label) => !known.includes(label.trim()))
      }),
    )

    expect(grouped).toEqual([])
  })

  test('use every metric but those that repeat another one or need no watching', async () => {
    const used = new Set(
      (await expressions()).flatMap(selectors).map(({ name }) => name.replace(/_(?:bucket|count)$/, '')),
    )

    expect(Object.keys(catalogue).filter((name) => !used.has(name))).toEqual(unused)
  })

  test('leave no two panels in one place', async () => {
    const { panels } = await dashboard()

    const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)

    expect(new Set(places).size).toBe(panels.length)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })

  test('each alert fires for what it is about, and not before', async () => {
    const rules = join(configFolder, 'prometheus/alerts.yaml')
    const cases = join(configFolder, 'prometheus/alerts.test.yaml')
    const { groups } = await alertRules()
    const { tests }: { tests: { name: string; alert_rule_test: { exp_alerts: unknown[] }[] }[] } = parse(
      await readFile(cases, 'utf8'),
    )

    expect(await tool('promtool', 'check', 'rules', rules)).toContain('SUCCESS')
    expect(await tool('promtool', 'test', 'rules', cases)).toContain('SUCCESS')
    expect(tests.map(({ name }) => name)).toEqual(groups.flatMap((group) => group.rules.map(({ alert }) => alert)))
    for (const { name, alert_rule_test } of tests)
      expect(
        alert_rule_test.map(({ exp_alerts }) => exp_alerts.length),
        name,
      ).toEqual([0, 1])
  })
})
