import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { socketEndpoint } from '../../../src/cli/session/control-client.ts'
import { control, controlPrefix } from '../../../src/contract/control/control.ts'
import { isEndedOrHeld, type Run } from '../../../src/contract/control/shapes.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { Secret } from '../../../src/daemon/config/secret.ts'
import { readAddress } from '../../../src/daemon/control/address-file.ts'
import { type DaemonOptions, startDaemon } from '../../../src/daemon/start.ts'
import { Failure } from '../../../src/errors.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { type Installation, install } from '../../helpers/installation.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type Host, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const unknownRun = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'

/** A daemon on the installation's folder, or on another database. */
async function start(
  at: Installation,
  { database, token, ...options }: Partial<DaemonOptions> & { database?: string; token?: string | null } = {},
) {
  const config = await loadConfig(at.configFile, process.env)
  const placed = {
    ...config,
    ...(database !== undefined && { database: new Secret([{ text: database }]) }),
    ...(token && { server: { ...config.server, token: new Secret([{ text: token }]) } }),
  }
  const daemon = await startDaemon(placed, { events: silentEvents(), ...options })
  const { origin, dispatcher } = socketEndpoint(daemon.socket ?? '')
  const client = createClient(control, { baseUrl: `${origin}${controlPrefix}`, dispatcher })
  return { url: daemon.url, socket: daemon.socket, client, [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose]() }
}

type ControlClient = Awaited<ReturnType<typeof start>>['client']

async function installed(): Promise<
  Installation & { readonly platform: Awaited<ReturnType<Host['tenant']>>['client'] }
> {
  const { key, client } = await host.tenant()
  return { ...(await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })), platform: client }
}

/** Requests a run and waits until it has ended or is held. */
async function runOnce(client: ControlClient): Promise<Run> {
  const started = await client.startRun({ params: { connection: 'acme' }, body: {} })
  if (started.status !== 201) throw new Error(`no run was started: ${JSON.stringify(started)}`)
  return await ended(client, started.body.id)
}

async function ended(client: ControlClient, runId: string): Promise<Run> {
  return await vi.waitUntil(
    async () => {
      const answer = await client.getRun({ params: { runId } })
      return answer.status === 200 && isEndedOrHeld(answer.body) && answer.body
    },
    { timeout: 120_000 },
  )
}

describe.each(databases)('the control API on $name', ({ createDatabase }) => {
  async function open() {
    const stack = new AsyncDisposableStack()
    const { at: database } = stack.use(await createDatabase())
    const at = stack.use(await installed())
    await at.configure({ connection: "    verify: { cron: '0 4 29 2 *', sampleCron: '0 5 29 2 *' }\n" })
    const daemon = stack.use(await start(at, { database }))
    return { at, ...daemon, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('runs a sync on request and returns everything about it', async () => {
    await using opened = await open()
    const { at, client } = opened
    await at.writeExport([...staff(3), { id: 'E0009', start: '2026-02-31' }])

    const run = await runOnce(client)
    const runs = await client.listRuns({ query: { connection: 'acme' } })
    const status = await client.status({})
    const rejects = await client.listRejects({ params: { runId: run.id }, query: {} })
    const person = await client.getPerson({
      params: { connection: 'acme', identityId: 'E0002' },
      query: { values: true },
    })

    expect(run).toMatchObject({
      state: 'finished',
      trigger: 'operator',
      confirmed: 4,
      counts: { join: 4, rejected: 0, incomplete: 1 },
    })
    expect(runs).toMatchObject({ status: 200, body: { data: [{ id: run.id }] } })
    expect(status).toMatchObject({
      status: 200,
      body: {
        daemon: { pid: process.pid },
        connections: [
          {
            name: 'acme',
            people: { desired: 4, separated: 0, due: 0 },
            active: null,
            last: { id: run.id },
            nextAt: null,
            nextVerifyAt: expect.stringMatching(/-02-29T04:00:00\.000Z$/),
          },
        ],
      },
    })
    expect(rejects).toMatchObject({
      status: 200,
      body: {
        data: [{ line: 5, column: 'Start Date', identityId: 'E0009', cellOnly: true, mayLeave: false }],
        next: null,
      },
    })
    expect(person).toMatchObject({
      status: 200,
      body: { desired: { email: 'e2@acme.example' }, due: [], changes: [{ kind: 'join', source: 'people.csv:3' }] },
    })
    expect((await peopleOn(at.platform)).get('E0009')).toMatchObject({ startedAt: null })
  })

  test('gives changes page by page, without personal values unless asked', async () => {
    await using opened = await open()
    const { at, client } = opened
    await at.writeExport(staff(3))
    const { id: runId } = await runOnce(client)

    const first = await client.listChanges({ params: { runId }, query: { limit: 2 } })
    const after = (first.status === 200 && first.body.next) || undefined
    const rest = await client.listChanges({ params: { runId }, query: { limit: 2, after, values: true } })

    expect(first).toMatchObject({
      body: {
        data: [{ identityId: 'E0001', fields: { email: { hidden: true } } }, { identityId: 'E0002' }],
        next: expect.any(String),
      },
    })
    expect(rest).toMatchObject({
      body: { data: [{ identityId: 'E0003', fields: { email: { from: null, to: 'e3@acme.example' } } }], next: null },
    })
  })

  test('plans without storing or sending anything', async () => {
    await using opened = await open()
    const { at, client } = opened
    await at.writeExport(staff(3))

    const plan = await client.planConnection({ params: { connection: 'acme' }, query: {} })
    const runs = await client.listRuns({ query: {} })

    expect(plan).toMatchObject({ status: 200, body: { connection: 'acme', mode: 'snapshot', counts: { join: 3 } } })
    expect(runs).toMatchObject({ body: { data: [] } })
    expect((await peopleOn(at.platform)).size).toBe(0)
  })

  test('delivers a held plan only for the digest of that plan', async () => {
    await using opened = await open()
    const { at, client } = opened
    await at.writeExport(staff(20))
    await runOnce(client)
    await at.writeExport(staff(10))
    const held = await runOnce(client)
    const params = { runId: held.id }

    const other = await client.approveRun({ params, body: { digest: 'sha256:other', by: 'ana' } })
    const right = await client.approveRun({ params, body: { digest: held.digest ?? '', by: 'ana' } })
    const run = await ended(client, held.id)

    expect(held.state).toBe('held')
    expect(other).toMatchObject({ status: 409, error: { name: 'conflict' } })
    expect(right).toMatchObject({ status: 200, body: { state: 'delivering' } })
    expect(run).toMatchObject({ state: 'finished', decidedBy: 'ana', confirmed: 10 })
  })

  test('refuses what it does not know, and says which kind of refusal it is', async () => {
    await using opened = await open()
    const { client } = opened

    const answers = [
      await client.startRun({ params: { connection: 'other' }, body: {} }),
      await client.getRun({ params: { runId: unknownRun } }),
      await client.getRun({ params: { runId: 'abc' } }),
      await client.listChanges({ params: { runId: unknownRun }, query: {} }),
      await client.approveRun({ params: { runId: unknownRun }, body: { digest: 'x', by: 'ana' } }),
      await client.rejectRun({ params: { runId: unknownRun }, body: { by: '' } }),
      await client.getPerson({ params: { connection: 'acme', identityId: 'E1/../ %' }, query: {} }),
      await client.planConnection({ params: { connection: 'acme' }, query: {} }),
      await client.listRuns({ query: { after: 'bm8gY3Vyc29y' } }),
      await client.listEvents({ params: { connection: 'acme' }, query: { after: '7' } }),
    ]

    expect(answers.map((answer) => ('error' in answer ? [answer.status, answer.error.name] : answer))).toEqual([
      [404, 'not_found'],
      [404, 'not_found'],
      [400, 'MalformedAddress'],
      [404, 'not_found'],
      [404, 'not_found'],
      [400, 'InvalidInput'],
      [404, 'not_found'],
      [422, 'source_unreadable'],
      [400, 'usage'],
      [400, 'usage'],
    ])
  })
})

describe('a daemon', () => {
  test.each([
    ['without a token', 'token-of-the-daemon'],
    ['if there is no token', null],
  ])('lets nobody in over TCP %s, on any operation', async (_case, token) => {
    await using at = await installed()
    await using daemon = await start(at, { token })
    const paths = Object.values(control).map(({ method, path }) => ({
      method,
      url: `${daemon.url}${controlPrefix}${path}`,
    }))

    const statuses = await Promise.all(
      paths.flatMap(({ method, url }) =>
        [undefined, 'Bearer wrong', 'Bearer ', 'Bearer null', `Basic ${token}`].map(async (authorization) => {
          const { status } = await fetch(url, { method, headers: authorization === undefined ? {} : { authorization } })
          return status
        }),
      ),
    )

    expect(new Set(statuses)).toEqual(new Set([401, 429]))
  })

  test('answers over TCP to callers with the configured token', async () => {
    await using at = await installed()
    await using daemon = await start(at, { token: 'token-of-the-daemon' })
    const client = createClient(control, { baseUrl: `${daemon.url}${controlPrefix}`, bearer: 'token-of-the-daemon' })

    expect(await client.about({})).toMatchObject({ status: 200, body: { daemon: { pid: process.pid } } })
  })

  test('refuses a TCP caller who guessed twenty tokens within a minute, and logs that once', async () => {
    await using at = await installed()
    const reported: unknown[] = []
    const events = silentEvents((event) => event.event === 'control.refused' && reported.push(event))
    await using daemon = await start(at, { token: 'token-of-the-daemon', events })
    const ask = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const { status, headers: answered } = await fetch(`${daemon.url}${controlPrefix}/about`, { headers })
      return [status, answered.has('retry-after')]
    }

    const right = await ask('token-of-the-daemon')
    const guessed = []
    for (let guess = 0; guess < 20; guess++) guessed.push(await ask(`guess-${guess}`))
    const later = [await ask('one-more-guess'), await ask('token-of-the-daemon')]

    expect(right).toEqual([200, false])
    expect(new Set(guessed.map(([status]) => status))).toEqual(new Set([401]))
    expect(later).toEqual([
      [429, true],
      [429, true],
    ])
    expect(reported).toEqual([
      { event: 'control.refused', reason: 'wrong or missing token', sender: '127.0.0.1', times: 1 },
    ])
    expect(await daemon.client.about({})).toMatchObject({ status: 200 })
  })

  test('answers the probes without a token, and describes its interface to those who may use it', async () => {
    await using at = await installed()
    await using daemon = await start(at, { token: 'token-of-the-daemon' })
    const get = async (path: string, headers = {}): Promise<Record<string, unknown>> =>
      JSON.parse(await (await fetch(`${daemon.url}${path}`, { headers })).text())

    const document = await get('/api/openapi.json', { authorization: 'Bearer token-of-the-daemon' })

    expect(await get('/healthz')).toEqual({ status: 'ok' })
    expect(await get('/readyz')).toEqual({ status: 'ready', store: 'ok', queue: 'ok' })
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
    expect(operationIdsOf(document)).toEqual([...Object.keys(control), 'watchLive'].sort())
    expect(await get('/api/openapi.json')).toMatchObject({ statusCode: 401 })
    expect(await get('/reference/')).toMatchObject({ statusCode: 401 })
  })

  test('says where it listens only while it runs', async () => {
    await using at = await installed()

    let during: unknown
    {
      await using daemon = await start(at)
      during = [await readAddress(at.dataDir), daemon.url]
    }

    expect(during).toMatchObject([
      { pid: process.pid, url: expect.stringContaining('http://127.0.0.1:') },
      expect.anything(),
    ])
    expect(await readAddress(at.dataDir)).toBeNull()
  })

  test('that cannot start leaves nothing open', async () => {
    await using at = await installed()
    await using other = await installed()
    await using daemon = await start(other)
    const config = await loadConfig(at.configFile, process.env)
    const taken = { ...config, server: { ...config.server, port: Number(new URL(daemon.url).port) } }

    const failure = await startDaemon(taken, { events: silentEvents() }).catch((error: unknown) => error)
    await using second = await start(at)

    expect(failure).toBeInstanceOf(Failure)
    expect(failure).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('EADDRINUSE') })
    expect(await second.client.status({})).toMatchObject({ status: 200 })
  })

  test('makes up at start for the night that it missed', async () => {
    await using at = await installed()
    await at.writeExport(staff(3))
    const config = await loadConfig(at.configFile, process.env)
    const schedule = { cron: '0 2 * * *', timeZone: 'Europe/Berlin' }
    const sample = { ...schedule, cron: '0 5 * * *' }
    const connections = new Map([...config.connections].map(([name, acme]) => [name, { ...acme, schedule, sample }]))
    const nightly = { ...config, connections }
    const finished = Promise.withResolvers<{ readonly confirmed: number }>()
    const missed: string[] = []
    const events = silentEvents((event) => {
      if (event.event === 'run.finished') finished.resolve(event)
      if (event.event === 'schedule.missed') missed.push(event.slot)
    })
    const onDay = (day: string) => ({ events, now: () => new Date(`${day}T12:00:00Z`) })

    await (await startDaemon(nightly, onDay('2026-11-19')))[Symbol.asyncDispose]()
    await using _daemon = await startDaemon(nightly, onDay('2026-11-20'))

    expect(await finished.promise).toMatchObject({ confirmed: 3 })
    expect(missed).toEqual(['2026-11-20T02:00', 'sample 2026-11-20T05:00'])
    expect((await peopleOn(at.platform)).size).toBe(3)
  })
})

function operationIdsOf(document: object): string[] {
  const { paths } = document as { paths: Record<string, Record<string, { operationId: string }>> }
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
    .sort()
}
