import { randomUUID } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlOverSocket } from '../../src/cli/session/control-client.ts'
import type { ProcessRole } from '../../src/contract/control/processes.ts'
import type { ConnectionConfig } from '../../src/daemon/config/config.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { settingsDigests } from '../../src/daemon/config/settings-digests.ts'
import { parseRoles, requireAllRoles } from '../../src/daemon/processes.ts'
import { type DaemonOptions, startDaemon } from '../../src/daemon/start.ts'
import type { Shape } from '../../src/identity/shape/shape.ts'
import { conditions } from '../../src/store/alerts/conditions.ts'
import { differences } from '../../src/store/workers/processes.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { type Installation, install } from '../helpers/installation.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { openStore } from '../helpers/sources/own-site.ts'
import { type Host, peopleOn, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function start(at: Installation, roles: readonly ProcessRole[], options: Partial<DaemonOptions> = {}) {
  return await startDaemon(await loadConfig(at.configFile, process.env), { events: silentEvents(), roles, ...options })
}

test('processes with one role each do together what one daemon does, and the status lists each', async () => {
  await using stack = new AsyncDisposableStack()
  const { key, client } = await host.tenant()
  const database = stack.use(await createPostgresDatabase()).at
  const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database }))
  await at.writeExport(staff(3))
  // They can share the data folder, because only the role api creates its socket there.
  const api = stack.use(await start(at, ['api']))
  const scheduler = stack.use(await start(at, ['scheduler']))
  const control = controlOverSocket({ socket: api.socket ?? '' })

  const { id } = await control.startRun({ params: { connection: 'acme' }, body: {} })
  const before = await control.status({})
  const worker = stack.use(await start(at, ['worker']))
  await expect
    .poll(async () => (await control.getRun({ params: { runId: id } })).state, { timeout: 60_000 })
    .toBe('finished')
  const after = await control.status({})
  const ready = await Promise.all([scheduler, worker].map(async ({ url }) => (await fetch(`${url}/readyz`)).status))
  const [events, status] = await Promise.all([
    fetch(`${worker.url}/webhooks/acme`, { method: 'POST' }),
    fetch(`${worker.url}/api/v1/status`),
  ])

  expect(before.processes.map(({ roles }) => roles)).toEqual([['api'], ['scheduler']])
  expect(before.connections[0]?.active).toMatchObject({ id, state: 'waiting' })
  expect(after.processes).toMatchObject([
    { roles: ['api'], pid: process.pid, differs: [] },
    { roles: ['scheduler'], differs: [] },
    { roles: ['worker'], differs: [] },
  ])
  expect((await peopleOn(client)).size).toBe(3)
  expect([scheduler.socket, worker.socket, ready]).toEqual([null, null, [200, 200]])
  expect([events.status, status.status]).toEqual([404, 404])
})

test('only the role scheduler starts what is scheduled', async () => {
  await using stack = new AsyncDisposableStack()
  const { key } = await host.tenant()
  const database = stack.use(await createPostgresDatabase()).at
  const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database }))
  await at.configure({ connection: "    schedule: { cron: '0 2 * * *' }\n" })
  const store = stack.use(await openStore(database))
  const slots = async () => await store.db.selectFrom('slots').select('connection').execute()

  stack.use(await start(at, ['api', 'worker']))
  const before = await slots()
  stack.use(await start(at, ['scheduler']))

  // A scheduler records the slot of the night before its first start, so that it is not made up for.
  expect([before, await slots()]).toEqual([[], [{ connection: 'acme' }]])
})

test('the copies of lists that a killed process left are removed when a daemon starts', async () => {
  await using stack = new AsyncDisposableStack()
  const { key } = await host.tenant()
  const database = stack.use(await createPostgresDatabase()).at
  const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database }))
  const { dataDir } = await loadConfig(at.configFile, process.env)
  const folder = join(dataDir, 'incoming', 'former')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `http-${randomUUID()}.part`), 'people')

  stack.use(await start(at, ['worker']))

  expect(await readdir(folder)).toEqual([])
})

test('processes with different settings are reported in the log and status of each, and raise an alert after a while', async () => {
  await using stack = new AsyncDisposableStack()
  const { key } = await host.tenant()
  const database = stack.use(await createPostgresDatabase()).at
  const [first, second] = [
    stack.use(await install({ baseUrl: host.platform.baseUrl, key, database })),
    stack.use(await install({ baseUrl: host.platform.baseUrl, key, database })),
  ]
  await second.configure({ connection: '    leavers: { boundHours: 48 }\n', extra: 'retention: { valuesDays: 7 }\n' })
  const reported: unknown[] = []
  const events = silentEvents((event) => {
    if (event.event === 'settings.differ') reported.push(event.settings)
  })
  const one = stack.use(await start(first, ['api'], { events, settingsCheckMs: 20 }))
  const other = stack.use(await start(second, ['api', 'scheduler'], { events, settingsCheckMs: 20 }))

  await expect
    .poll(() => reported)
    .toEqual([
      ['acme', 'general'],
      ['acme', 'general'],
    ])
  const statuses = await Promise.all(
    [one, other].map(({ socket }) => controlOverSocket({ socket: socket ?? '' }).status({})),
  )
  const store = stack.use(await openStore(database))
  const look = (minutes: number) =>
    conditions(store.db, {
      ...{ connections: ['acme'], overdueMinutes: 60, pausedHours: 24, maxLeaverHours: new Map(), freshness: [] },
      now: new Date(Date.now() + minutes * 60_000),
    })

  for (const { processes } of statuses)
    expect(processes.map(({ differs }) => differs)).toEqual([
      ['acme', 'general'],
      ['acme', 'general'],
    ])
  expect(await look(4)).toEqual([])
  expect(await look(6)).toMatchObject([
    {
      connection: 'acme',
      kind: 'settings_differ',
      reason: expect.stringContaining('different settings of this connection'),
    },
  ])
})

test('processes may differ in folders, files, secrets and listening addresses', async () => {
  const installations = await Promise.all(
    ['one', 'other'].map((key) => install({ baseUrl: host.platform.baseUrl, key: `${key} key` })),
  )
  const [one, other] = await Promise.all(installations.map(({ configFile }) => loadConfig(configFile, process.env)))
  for (const installation of installations) await installation[Symbol.asyncDispose]()

  const same =
    one &&
    other &&
    differences(settingsDigests(one), settingsDigests({ ...other, server: { ...other.server, port: 1 } }))

  expect(same).toEqual([])
})

test('processes must agree on how records are delivered and whether a connection reads by itself', async () => {
  await using installation = await install({ baseUrl: host.platform.baseUrl, key: 'the key' })
  const one = await loadConfig(installation.configFile, process.env)
  const shape = {} as Shape
  const withAcme = (own: Partial<ConnectionConfig>) => {
    const connections = [...one.connections].map(([name, settings]) => [name, { ...settings, ...own }] as const)
    return settingsDigests({ ...one, connections: new Map(connections) })
  }
  const direct = withAcme({ records: { shape, deliver: 'direct' } })

  expect(differences(direct, withAcme({ records: { shape, deliver: 'direct' } }))).toEqual([])
  expect(differences(direct, withAcme({ records: { shape, deliver: 'session' } }))).toEqual(['acme'])
  expect(differences(withAcme({}), withAcme({ linkedTo: 'people' }))).toEqual(['acme'])
})

test.each([
  ['worker,scheduler', ['scheduler', 'worker']],
  [' api , worker ', ['api', 'worker']],
  ['api,scheduler,worker', ['api', 'scheduler', 'worker']],
])('--roles %s names roles', (text, expected) => {
  expect(parseRoles(text)).toEqual(expected)
})

test.each(['all', '', 'api;worker'])('--roles %s is refused with the roles that there are', (text) => {
  expect(() => parseRoles(text)).toThrow(
    `there is no role "${text}" for --roles: name one or more of api, scheduler, worker`,
  )
})

test('the embedded database is refused to a process that has not every role', () => {
  expect(() => requireAllRoles({ database: null }, ['api', 'worker'])).toThrow(
    'the embedded database allows one process, which needs all roles; scheduler would be missing: leave out --roles, or name a PostgreSQL database in the configuration',
  )
})
