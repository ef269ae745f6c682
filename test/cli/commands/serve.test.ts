import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAddress } from '../../../src/daemon/control/address-file.ts'
import type { Ended } from '../../helpers/cli.ts'
import { faults } from '../../helpers/faults/faults.ts'
import { type Fault, pass, type ReceivedRequest, startFaultProxy } from '../../helpers/faults/proxy.ts'
import { install } from '../../helpers/installation.ts'
import { isFull } from '../../helpers/tier.ts'
import type { StoreOptions } from '../../helpers/workplace.ts'
import { type Host, peopleOn, staff, startHost } from '../../helpers/world.ts'

const people = 30
/** As `docs/operate.md` promises it. */
const stopWithinMs = 20_000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open(store: StoreOptions = {}) {
  const { key, client } = await host.tenant()
  return { client, at: await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true, ...store }) }
}

/** A daemon in the middle of a delivery, whose requests fare as `fate` says, and how to go on once they fare well again. */
async function openDelivering(fate: Fault, stack: AsyncDisposableStack) {
  const { key, client } = await host.tenant()
  const proxy = stack.use(await startFaultProxy({ target: host.platform.baseUrl }))
  const at = stack.use(await install({ baseUrl: proxy.baseUrl, key }, { hasStore: true }))
  await at.configure({ connection: '    delivery: { batchSize: 1 }\n' })
  await at.writeExport(staff(people))
  const daemon = at.start('serve')
  await daemon.waitForOutput('daemon.started')
  proxy.fault((seen) => (isUpsert(seen) ? fate : pass))
  const first = proxy.hold(isUpsert, 'arrived')
  at.start('sync')
  const held = await first
  held.release()
  return {
    daemon,
    arrived: async () => (await peopleOn(client)).size,
    async sync() {
      await proxy.heal()
      return await at.run('sync', '--json')
    },
  }
}

function isUpsert({ operation }: ReceivedRequest): boolean {
  return operation === 'upsertHrisUserIdentities'
}

function documentOf({ stdout }: Ended): unknown {
  return JSON.parse(stdout)
}

test('the daemon continues when the reader of its log has gone, and reports it where somebody still reads', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(3))
  const daemon = at.start('serve')
  await daemon.waitForOutput('daemon.started')

  daemon.child.stderr?.destroy()
  const synced = await at.run('sync')
  daemon.child.kill('SIGTERM')

  expect([synced.exit, (await peopleOn(client)).size]).toEqual([0, 3])
  expect(await daemon.ended).toMatchObject({
    exit: 0,
    stdout: '! the log can no longer be written (EPIPE); the daemon continues without it\n',
  })
})

test.each(isFull ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const))(
  'the daemon ends with 0 on %s and leaves its folder free',
  async (signal) => {
    const { at } = await open()
    await using _installation = at
    const daemon = at.start('serve')
    await daemon.waitForOutput('daemon.started')

    daemon.child.kill(signal)
    const { exit, stdout, stderr } = await daemon.ended
    const status = await at.run('status', '--json')

    expect({ exit, stdout }).toEqual({ exit: 0, stdout: '' })
    expect(stderr).toContain('daemon.stopped')
    expect(await readAddress(at.dataDir)).toBeNull()
    expect(documentOf(status)).toMatchObject({ daemon: null })
  },
)

test('a daemon that is stopped during a delivery ends its running work, and the next one delivers the rest', async () => {
  await using stack = new AsyncDisposableStack()
  const { daemon, arrived, sync } = await openDelivering(faults.delayed(1000), stack)

  daemon.child.kill('SIGTERM')
  const { exit } = await daemon.ended
  const before = await arrived()
  const next = await sync()

  expect(exit).toBe(0)
  expect(before).toBeGreaterThan(0)
  expect(before).toBeLessThan(people)
  expect(next.exit).toBe(0)
  expect(await arrived()).toBe(people)
})

test('a daemon whose requests are never answered hands them back and stops in time', async () => {
  await using stack = new AsyncDisposableStack()
  const { daemon, arrived, sync } = await openDelivering(faults.hang({ forwarded: true }), stack)

  const stoppingAt = performance.now()
  daemon.child.kill('SIGTERM')
  const { exit, stderr } = await daemon.ended
  const stoppedMs = performance.now() - stoppingAt
  const next = await sync()

  expect(exit).toBe(0)
  expect(stderr).toContain('job.returned')
  expect(stoppedMs).toBeLessThan(stopWithinMs)
  expect(next.exit).toBe(0)
  expect(await arrived()).toBe(people)
})

test('a second signal ends the daemon at once, and the next one delivers the rest', async () => {
  await using stack = new AsyncDisposableStack()
  const { daemon, arrived, sync } = await openDelivering(faults.hang({ forwarded: true }), stack)

  daemon.child.kill('SIGTERM')
  await daemon.waitForOutput('daemon.stopping')
  daemon.child.kill('SIGTERM')
  const { exit, stderr } = await daemon.ended
  const next = await sync()

  expect(exit).toBe(143)
  expect(stderr).not.toContain('daemon.stopped')
  expect(next.exit).toBe(0)
  expect(await arrived()).toBe(people)
})

test('commands go through the daemon that runs, and do without it after it was killed', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(10))
  const daemon = at.start('serve')
  await daemon.waitForOutput('daemon.started')

  const status = await at.run('status', '--json')
  const sync = await at.run('sync', '--json')
  await at.writeExport(staff(2))
  const held = await at.run('sync', '--json')
  const missing = await at.run('person', 'E9999', '--json')
  daemon.child.kill('SIGKILL')
  await once(daemon.child, 'close')
  await at.writeExport(staff(11))
  const alone = await at.run('sync', '--json')

  expect(documentOf(status)).toMatchObject({ daemon: { pid: daemon.child.pid } })
  expect([sync.exit, held.exit, missing.exit]).toEqual([0, 65, 66])
  expect(documentOf(sync)).toMatchObject({ state: 'finished', confirmed: 10 })
  expect(documentOf(missing)).toMatchObject({ error: { code: 'not_found' } })
  expect(alone.exit).toBe(0)
  expect(documentOf(alone)).toMatchObject({ state: 'finished', confirmed: 1 })
  expect((await peopleOn(client)).size).toBe(11)
})

test('a second daemon on the same folder ends with 75 and the pid of the first', async () => {
  const { at } = await open({ isEmbedded: true })
  await using _installation = at
  const first = at.start('serve')
  await first.waitForOutput('daemon.started')

  const { exit, stderr } = await at.run('serve')

  expect(exit).toBe(75)
  expect(stderr).toContain(`in use by process ${first.child.pid}`)
})

test('a sync that is interrupted while it waits remains, and the next one continues it', async () => {
  const { key, client } = await host.tenant()
  await using away = await install({ baseUrl: 'http://127.0.0.1:9/public/v2', key }, { hasStore: true })
  await away.writeExport(staff(5))
  const sync = away.start('sync')
  await sync.waitForOutput('delivering, 0 of 5')

  sync.child.kill('SIGINT')
  const { exit, stderr } = await sync.ended
  const status = await away.run('status', '--json')

  expect(exit).toBe(130)
  expect(stderr).toContain('stopped; accepted changes stay')
  expect(documentOf(status)).toMatchObject({ connections: [{ people: { due: 5 } }] })
  expect((await peopleOn(client)).size).toBe(0)
})
