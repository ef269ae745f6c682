import { readFile, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlOverSocket } from '../../../src/cli/session/control-client.ts'
import { readAddress } from '../../../src/daemon/control/address-file.ts'
import { type Running, startCommand } from '../../helpers/cli.ts'
import { pass, startFaultProxy } from '../../helpers/faults/proxy.ts'
import { install } from '../../helpers/installation.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { freePort } from '../../helpers/servers/free-port.ts'
import { type Host, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('on SIGHUP a daemon uses a valid configuration without losing the current run, and refuses and reports an invalid one', async () => {
  await using stack = new AsyncDisposableStack()
  const { key, client } = await host.tenant()
  const proxy = stack.use(await startFaultProxy({ target: host.platform.baseUrl }))
  const at = stack.use(await install({ baseUrl: proxy.baseUrl, key }, { hasStore: true }))
  const lines = { connection: '    delivery: { batchSize: 1 }\n' }
  await at.configure(lines)
  await at.writeExport(staff(12))
  const daemon = at.start('serve', '--json')
  await daemon.waitForOutput('daemon.started')
  proxy.fault(() => pass)
  const first = proxy.hold(({ operation }) => operation === 'upsertHrisUserIdentities', 'arrived')
  const syncing = at.start('sync', '--json')
  const held = await first
  // Not by the command, which reads the configuration that may be a mistake.
  const status = async () => {
    const address = await readAddress(at.dataDir)
    if (address === null) throw new Error('the daemon has no address')
    return await controlOverSocket(address).status({})
  }
  const written = await readFile(at.configFile, 'utf8')

  await writeFile(at.configFile, written.replace('batchSize: 1', 'batchSize: none'))
  daemon.child.kill('SIGHUP')
  await daemon.waitForOutput('config.refused')
  const afterMistake = await status()
  await writeFile(at.configFile, written.replace('port: 0', 'port: 1'))
  daemon.child.kill('SIGHUP')
  await expect
    .poll(async () => (await status().catch(() => null))?.reload?.refused, { timeout: 60_000 })
    .toContain('server.port')
  await at.configure({ ...lines, connection: `${lines.connection}    schedule: { cron: '0 2 * * *' }\n` })
  daemon.child.kill('SIGHUP')
  await daemon.waitForOutput('config.reloaded')
  held.release()
  await expect
    .poll(async () => (await status().catch(() => null))?.reload, { timeout: 60_000 })
    .toMatchObject({ refused: null })
  await expect.poll(async () => (await peopleOn(client)).size, { timeout: 60_000 }).toBe(12)
  await syncing.ended
  await expect
    .poll(async () => (await status().catch(() => null))?.connections[0]?.last?.state, { timeout: 60_000 })
    .toBe('finished')
  const after = await status()
  const acts = await at.run('audit', 'export')

  expect(afterMistake.reload?.refused).toMatch(/rollcall\.yaml:\d+:\d+: connections\.acme\.delivery\.batchSize: /)
  expect([afterMistake.daemon?.pid, after.daemon?.pid]).toEqual([daemon.child.pid, daemon.child.pid])
  expect([afterMistake.connections[0]?.nextAt, after.connections[0]?.nextAt]).toEqual([null, expect.any(String)])
  expect(acts.stdout.match(/config\.used/g)).toHaveLength(2)
  expect((await at.run('runs', '--json')).stdout.match(/"trigger": ?"operator"/g)).toHaveLength(1)
})

test('a reloading daemon whose store a command uses waits for the store, and reports it', {
  tags: ['full'],
}, async () => {
  await using stack = new AsyncDisposableStack()
  const { key } = await host.tenant()
  const embedded = { hasStore: true, isEmbedded: true }
  const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key }, embedded))
  const daemon = at.start('serve', '--json')
  await daemon.waitForOutput('daemon.started')
  const times = (name: string) => daemon.output().split(`"event":"${name}"`).length - 1
  const taker = stack.use(startTaker(join(at.dataDir, 'store', 'lock.db')))
  const hasTaken = () => taker.output().includes('taken')

  // Nobody has the store for some milliseconds only, so the taker may come too late a few times.
  for (let lives = 1; !hasTaken(); lives += 1) {
    daemon.child.kill('SIGHUP')
    await expect.poll(() => hasTaken() || times('daemon.started') > lives, { timeout: 60_000 }).toBe(true)
  }
  await daemon.waitForOutput('daemon.waiting')
  const lives = times('daemon.started')
  taker.child.kill('SIGKILL')
  await expect.poll(() => times('daemon.started'), { timeout: 60_000 }).toBe(lives + 1)
  daemon.child.kill('SIGTERM')

  expect(await daemon.ended).toMatchObject({ exit: 0, stderr: expect.stringMatching(/store is in use by /) })
})

test('a daemon whose database is down when it starts waits, reports it, and works as soon as the database is up', async () => {
  await using stack = new AsyncDisposableStack()
  const { key } = await host.tenant()
  const testDatabase = stack.use(await createPostgresDatabase())
  const there = new URL(testDatabase.at)
  const between = new URL(testDatabase.at)
  between.port = String(await freePort())
  const at = stack.use(await install({ baseUrl: host.platform.baseUrl, key, database: between.href }))
  const daemon = at.start('serve', '--json')

  await daemon.waitForOutput('daemon.waiting')
  const early = daemon.child.exitCode
  const open = new Set<Socket>()
  const gate = createServer((socket) => {
    const onward = connect(Number(there.port), there.hostname)
    for (const one of [socket, onward]) open.add(one.on('error', () => {}))
    socket.pipe(onward).pipe(socket)
  }).listen(Number(between.port), there.hostname)
  stack.defer(() => {
    gate.close()
    for (const socket of open) socket.destroy()
  })
  await daemon.waitForOutput('daemon.started')
  const { document } = await at.json<{ daemon: { pid: number } }>('status')

  expect([early, document.daemon.pid]).toEqual([null, daemon.child.pid])
})

test('a daemon that waits for its database ends with 0 when it is stopped', async () => {
  await using at = await install({
    baseUrl: host.platform.baseUrl,
    key: 'key',
    database: `postgres://rollcall@127.0.0.1:${await freePort()}/rollcall`,
  })
  const daemon = at.start('serve', '--json')
  await daemon.waitForOutput('daemon.waiting')

  daemon.child.kill('SIGTERM')

  expect((await daemon.ended).exit).toBe(0)
})

/** Takes the lock of a store as soon as nobody has it, until it is ended. */
function startTaker(lock: string): Running {
  const program = `
    import { DatabaseSync } from 'node:sqlite'
    const claim = new DatabaseSync(${JSON.stringify(lock)})
    for (let isTaken = false; !isTaken; ) {
      try {
        claim.exec('BEGIN EXCLUSIVE')
        isTaken = true
      } catch {}
    }
    console.log('taken')
    setInterval(() => {}, 1000)`
  return startCommand(['--input-type=module', '-e', program], { command: process.execPath })
}
