import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findDaemon } from '../../../src/cli/session/find-daemon.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { announceAddress, readAddress } from '../../../src/daemon/control/address-file.ts'
import { listenLocally } from '../../../src/daemon/control/local-socket.ts'
import { startDaemon } from '../../../src/daemon/start.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { version } from '../../../src/version.ts'
import { type Installation, install } from '../../helpers/installation.ts'
import { freePort } from '../../helpers/servers/free-port.ts'

const nowhere = { baseUrl: 'https://platform.invalid/public/v2', key: 'key' }
const startedAt = '2026-11-20T00:00:00.000Z'

/** What answers everything as a daemon would, and keeps what it was sent. */
type Impostor = AsyncDisposable & { readonly server: Server; readonly received: readonly string[] }

function startImpostor(): Impostor {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.headersDistinct)}`)
    const about = { version, daemon: { pid: 1, startedAt } }
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ ...about, connections: [], receivers: [] }))
  })
  return {
    server,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function listening(server: Server, address: string | number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  if (typeof address === 'string') server.listen(address, resolve)
  else server.listen(address, '127.0.0.1', resolve)
  await promise
}

/** Says in the data folder that a daemon listens there. */
async function announce(installation: Installation, socket: string): Promise<void> {
  await announceAddress(installation.dataDir, { pid: 1, url: 'http://127.0.0.1:1', socket, startedAt })
}

let at: Installation
beforeAll(async () => {
  at = await install(nowhere, { hasStore: true, isEmbedded: true })
})
afterAll(() => at[Symbol.asyncDispose]())

test('a daemon that was killed is not found, though its socket is left, and the next one takes its place', async () => {
  const killed = at.start('serve')
  await killed.waitForOutput('daemon.started')
  const first = await findDaemon(at)
  killed.child.kill('SIGKILL')
  await killed.ended

  const address = await readAddress(at.dataDir)
  const died = await findDaemon(at)
  await using _next = await startDaemon(await loadConfig(at.configFile, {}), { events: silentEvents() })

  expect(address).toMatchObject({ socket: join(at.dataDir, 'control', 'daemon.sock') })
  expect(first).toMatchObject({ socket: address?.socket })
  expect(died).toBeNull()
  expect(await findDaemon(at)).toMatchObject({ socket: address?.socket })
})

test('a daemon is found by a request that it answers without reading its store', async () => {
  await using work = await install(nowhere, { hasStore: true, isEmbedded: true })
  await using daemon = startImpostor()
  const socket = await listenLocally(work.dataDir, (path) => listening(daemon.server, path))
  await announce(work, socket)

  const endpoint = await findDaemon({ dataDir: work.dataDir })

  expect(endpoint).toEqual({ socket, url: 'http://127.0.0.1:1' })
  expect(daemon.received).toEqual([expect.stringMatching(/^GET \/api\/v1\/about /)])
})

test('no command sends anything to a stranger on the port of the configuration', async () => {
  await using work = await install(nowhere, { hasStore: true, isEmbedded: true })
  await using impostor = startImpostor()
  const port = await freePort()
  await listening(impostor.server, port)
  const text = await readFile(work.configFile, 'utf8')
  await writeFile(join(work.folder, 'token'), 'token-of-the-daemon')
  await writeFile(work.configFile, text.replace('port: 0', `port: ${port}, token: '\${file:token}'`))
  const results = []

  results.push(await work.run('status'))
  await announceAddress(work.dataDir, {
    pid: 1,
    url: `http://127.0.0.1:${port}`,
    socket: join(work.dataDir, 'control', 'daemon.sock'),
    startedAt,
  })
  results.push(await work.run('status'), await work.run('runs'))

  expect(results.map(({ exit }) => exit)).toEqual([0, 0, 0])
  expect(impostor.received).toEqual([])
})

test.each([
  [
    'in a folder that others can write',
    (folder: string) => chmod(folder, 0o770),
    /lies in a folder that others can write/,
  ],
  [
    'that is no socket',
    async (folder: string) => {
      await rename(join(folder, 'daemon.sock'), join(folder, 'other.sock'))
      await writeFile(join(folder, 'daemon.sock'), '')
    },
    /is no socket/,
  ],
])('a socket %s is not trusted, and is sent nothing', async (_case, spoil, expected) => {
  await using work = await install(nowhere, { hasStore: true, isEmbedded: true })
  await using impostor = startImpostor()
  const socket = await listenLocally(work.dataDir, (path) => listening(impostor.server, path))
  await announce(work, socket)
  await spoil(join(work.dataDir, 'control'))

  const { exit, stderr } = await work.run('status')

  expect({ exit, stderr }).toEqual({ exit: 78, stderr: expect.stringMatching(expected) })
  expect(stderr).toContain('run the command as the account of the daemon')
  expect(impostor.received).toEqual([])
})

test('a data folder without a daemon is no trouble to a command', async () => {
  await rm(join(at.dataDir, 'daemon.json'), { force: true })

  expect(await findDaemon({ dataDir: at.dataDir })).toBeNull()
  expect(await findDaemon({ dataDir: join(at.folder, 'not-there') })).toBeNull()
})
