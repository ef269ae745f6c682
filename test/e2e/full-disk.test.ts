import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCommand } from '../helpers/cli.ts'
import { openSmallDisk, whyNoSmallDisk } from '../helpers/small-disk.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const header = 'Worker ID,Work Email,First Name,Last Name,Job Title,Hire Date,Termination Date'
/** More than a new store and its log take, and less than they could fill. */
const diskMiB = 192

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

function people(count: number, leavers = new Set<number>()): string {
  const rows = Array.from(
    { length: count },
    (_, at) =>
      `W${at},w${at}@acme.example,Ana${at},Keeper,Clerk,2020-01-${10 + (at % 20)},${leavers.has(at) ? '2026-11-18' : ''}`,
  )
  return `${[header, ...rows].join('\n')}\n`
}

const why = whyNoSmallDisk()
test(`a full disk of the embedded store is reported, nothing is lost, and work continues once there is space (${why ?? 'run'})`, async () => {
  if (why !== null) return
  await using stack = new AsyncDisposableStack()
  const { client, key } = await host.tenant()
  const work = stack.use(await openWorkplace({ baseUrl: host.platform.baseUrl, key }))
  const data = join(work.folder, 'data')
  await mkdir(data, { mode: 0o700 })
  const disk = stack.use(await openSmallDisk(data, diskMiB, work.folder))
  const start = (...args: string[]) =>
    stack.use(startCommand([...args, '--config', work.configFile], { command: disk.rollcall }))
  const daemon = start('serve', '--json')
  await daemon.waitForOutput('daemon.started')
  await work.drop('people-1.csv', people(60))
  const before = await start('sync').ended

  await disk.fill()
  await work.drop('people-2.csv', people(61, new Set([7])))
  const waiting = start('sync')
  await daemon.waitForOutput(
    `"reason":"the disk of the embedded database in ${join(data, 'store')} is full: free some space on it (53100)"`,
  )
  await daemon.waitForOutput('"event":"queue.unreachable"')
  await disk.empty()
  const delivered = await waiting.ended
  daemon.child.kill('SIGTERM')
  const stopped = await daemon.ended
  await disk.fill()
  await work.drop('people-3.csv', people(61, new Set([7, 8])))
  const alone = await start('sync').ended
  await disk.empty()
  const last = await start('sync').ended

  expect([before, delivered, stopped, last].map(({ exit }) => exit)).toEqual([0, 0, 0, 0])
  expect(delivered.stdout).toContain('2 changes delivered')
  expect(alone).toMatchObject({
    exit: 69,
    stderr: expect.stringContaining('disk is full'),
  })
  const there = await peopleOn(client)
  const leavers = [...there.values()].filter(({ separatedAt }) => separatedAt !== null)
  expect([there.size, leavers.map(({ identityId }) => identityId).sort()]).toEqual([61, ['W7', 'W8']])
})
