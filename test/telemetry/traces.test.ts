import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCommand } from '../helpers/cli.ts'
import { type Collector, type ReceivedSpan, startCollector } from '../helpers/collector.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { openWorkplace, type Workplace } from '../helpers/workplace.ts'
import { type Host, startHost } from '../helpers/world.ts'

const header = 'Worker ID,Work Email,First Name,Last Name,Job Title,Hire Date,Termination Date'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

function people(count: number): string {
  const rows = Array.from(
    { length: count },
    (_, at) => `W${at},w${at}@acme.example,Ana${at},Canary,Keeper,2020-01-${10 + (at % 20)},`,
  )
  return `${[header, ...rows].join('\n')}\n`
}

async function openTraced(stack: AsyncDisposableStack, settings: string): Promise<Workplace> {
  const database = stack.use(await createPostgresDatabase()).at
  const { key } = await host.tenant()
  const traces = settings === '' ? '' : `traces: ${settings}\n`
  return stack.use(await openWorkplace({ baseUrl: host.platform.baseUrl, key, database, extra: traces }))
}

/** The two processes of a daemon, as on two machines. */
function startTwo(stack: AsyncDisposableStack, work: Workplace) {
  const start = (roles: string) => stack.use(work.start('serve', '--json', '--roles', roles))
  return [start('api,scheduler'), start('worker')] as const
}

async function stopped(daemon: ReturnType<Workplace['start']>): Promise<string> {
  daemon.child.kill('SIGTERM')
  const { exit, stdout, stderr } = await daemon.ended
  expect(exit).toBe(0)
  return stdout + stderr
}

type RunReport = { id: string; state: string; digest: string; sent: Record<string, { requests: number }> }

async function newestRun(work: Workplace): Promise<RunReport> {
  const { document } = await work.json<RunReport>('run', 'last')
  return document
}

const tracesOf = (collector: Collector, runId: string): ReceivedSpan[] =>
  collector.spans().filter(({ traceId }) => traceId === runId.replaceAll('-', ''))

test('a run is one trace from its trigger to each request, over two processes, an approval and a kill', async () => {
  await using stack = new AsyncDisposableStack()
  const collector = stack.use(await startCollector())
  const work = await openTraced(stack, `{ endpoint: '${collector.url}', headers: { x-key: '\${file:collector-key}' } }`)
  await writeFile(join(work.folder, 'collector-key'), 'a key of the collector')
  const [api, worker] = startTwo(stack, work)
  await Promise.all([api.waitForOutput('daemon.started'), worker.waitForOutput('daemon.started')])
  await work.drop('people-1.csv', people(40))
  await work.run('sync')
  const delivered = await newestRun(work)
  await work.drop('people-2.csv', people(20))
  await work.run('sync')
  const held = await newestRun(work)
  await expect
    .poll(() => tracesOf(collector, held.id).map(({ name }) => name), { timeout: 60_000 })
    .toEqual(expect.arrayContaining(['run requested', 'job run']))
  for (const { child } of [api, worker]) child.kill('SIGKILL')
  await Promise.all([api.ended, worker.ended])
  const again = startTwo(stack, work)
  await Promise.all(again.map((daemon) => daemon.waitForOutput('daemon.started')))
  await work.run('approve', held.id, '--yes', '--wait', '60')
  const approved = await newestRun(work)
  const log = await Promise.all(again.map(stopped))

  expect([delivered.state, held.state, approved]).toMatchObject([
    'finished',
    'held',
    { id: held.id, state: 'finished' },
  ])
  for (const run of [delivered, approved]) {
    const spans = tracesOf(collector, run.id)
    const byId = new Map(spans.map((span) => [span.spanId, span]))
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === '')
    expect(roots.map(({ name, facts }) => ({ name, facts }))).toEqual([
      {
        name: 'run',
        facts: {
          'rollcall.run': run.id,
          'rollcall.connection': 'acme',
          'rollcall.trigger': 'operator',
          'rollcall.feed': 'source',
          'rollcall.state': 'finished',
        },
      },
    ])
    expect(spans.filter(({ parentSpanId }) => parentSpanId !== '' && !byId.has(parentSpanId))).toEqual([])
    const requests = spans.filter(({ kind }) => kind === 3)
    const changes = requests.filter(({ facts }) => /^(?:POST|PUT)$/.test(String(facts['http.request.method'])))
    const sent = Object.values(run.sent).reduce((sum, { requests: made }) => sum + made, 0)
    expect(changes.filter(({ facts }) => !/Connection$/.test(String(facts['rollcall.operation'])))).toHaveLength(sent)
    for (const request of requests) {
      expect(byId.get(request.parentSpanId)?.name).toMatch(/^job /)
      expect(request.facts).toMatchObject({
        'http.response.status_code': expect.any(Number),
        'rollcall.operation': expect.any(String),
        'rollcall.attempt': expect.any(Number),
      })
    }
    const processes = new Set(spans.map(({ process }) => process['rollcall.roles']))
    expect(processes).toEqual(new Set(['api,scheduler', 'worker']))
  }
  const names = (run: RunReport) =>
    new Set(tracesOf(collector, run.id).flatMap(({ kind, name }) => (kind === 3 ? [] : [name])))
  const reading = ['run requested', 'job run', 'plan', 'open source', 'read', 'store plan', 'guard']
  expect(names(delivered)).toEqual(new Set(['run', ...reading, 'enqueue', 'job upsert']))
  expect([...names(approved)]).toEqual(expect.arrayContaining([...reading, 'approve', 'enqueue', 'job update']))
  expect(collector.headers.every((sent) => sent['x-key'] === 'a key of the collector')).toBe(true)
  const lines = log
    .join('')
    .split('\n')
    .filter((line) => line.includes('"runId"'))
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) expect(JSON.parse(line).traceId).toBe(JSON.parse(line).runId.replaceAll('-', ''))
  expect(collector.bodies.join()).not.toMatch(/canary|acme\.example|Keeper|"W\d/i)
}, 120_000)

test('an unreachable collector is reported once, and hardly delays delivery and shutdown', async () => {
  await using stack = new AsyncDisposableStack()
  const hanging = Promise.withResolvers<number>()
  const collector = stack.use(await startCollector({ answer: () => hanging.promise }))
  const work = await openTraced(stack, `{ endpoint: '${collector.url}' }`)
  const daemon = stack.use(work.start('serve', '--json'))
  await daemon.waitForOutput('daemon.started')
  await work.drop('people.csv', people(40))
  await work.run('sync')
  await daemon.waitForOutput('traces.unsent')
  await work.run('sync')
  const run = await newestRun(work)

  const log = await stopped(daemon)
  hanging.resolve(200)

  expect(run.state).toBe('unchanged')
  expect(log.match(/"event":"traces\.unsent"/g)).toHaveLength(1)
  expect(log).toContain(`"collector":"127.0.0.1:${collector.port}"`)
}, 120_000)

// The interface alone is loaded by the library of the metrics as well.
test('without an endpoint no OpenTelemetry package is loaded; with an endpoint, a missing package stops the start', async () => {
  await using stack = new AsyncDisposableStack()
  const work = await openTraced(stack, '')
  const record = join(work.folder, 'loaded')
  await writeFile(record, '')
  const hook = join(work.folder, 'hook.mjs')
  await writeFile(
    hook,
    `import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
registerHooks({
  resolve(specifier, context, next) {
    if (!/^@opentelemetry\\/(?!api$)/.test(specifier) || context.parentURL.includes('node_modules')) return next(specifier, context)
    appendFileSync(${JSON.stringify(record)}, specifier + '\\n')
    throw Object.assign(new Error(\`Cannot find package '\${specifier}'\`), { code: 'ERR_MODULE_NOT_FOUND' })
  },
})
`,
  )
  const env = { NODE_OPTIONS: `--import=${hook}` }
  const serve = () => stack.use(startCommand(['serve', '--json', '--config', work.configFile], { env }))
  const off = serve()
  await off.waitForOutput('daemon.started')
  await stopped(off)
  const loaded = await readFile(record, 'utf8')
  await work.configure({ extra: "traces: { endpoint: 'http://127.0.0.1:4318' }\n" })

  const { exit, stderr } = await serve().ended

  expect(loaded).toBe('')
  expect(exit).toBe(78)
  expect(stderr).toContain('"traces" needs the package @opentelemetry, which was left out here')
  expect(await readFile(record, 'utf8')).toContain('@opentelemetry/sdk-trace')
}, 120_000)
