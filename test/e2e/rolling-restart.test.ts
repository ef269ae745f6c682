import { afterAll, beforeAll, expect, test } from 'vitest'
import { faults } from '../helpers/faults/faults.ts'
import { createPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'
import { ownServer } from '../helpers/servers/own-servers.ts'
import { openSite, type Site, type SiteDaemon } from '../helpers/sources/own-site.ts'
import { type Host, startHost } from '../helpers/world.ts'

/** As `docs/operate.md` promises it. */
const stopWithinMs = 20_000
const acme = { params: { connection: 'acme' }, body: {} } as const

let host: Host
let hostDatabase: TestDatabase
beforeAll(async () => {
  hostDatabase = await createPostgresDatabase()
  host = await startHost(hostDatabase.at)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await hostDatabase[Symbol.asyncDispose]()
})

/** HR gives everybody another title, and somebody leaves. */
async function nextNight({ hr, night }: Site, title: string, leaver: string): Promise<void> {
  for (const id of hr.people.keys()) hr.change(id, { title })
  hr.leave(leaver)
  await night()
}

/** Stops a process, and starts another in its place. Answers how long it took to stop. */
async function replace(site: Site, daemon: SiteDaemon): Promise<{ successor: SiteDaemon; stopMs: number }> {
  const startedMs = performance.now()
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).exit).toBe(0)
  const stopMs = performance.now() - startedMs
  return { successor: await site.daemon(), stopMs }
}

async function roll({ people, rounds }: { people: number; rounds: number }): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createPostgresDatabase()).at
  const queue = stack.use(await ownServer('redis')).url
  const site = stack.use(await openSite(host, { people, batchSize: 1, database, queue }))
  let daemons: readonly [SiteDaemon, SiteDaemon] = [await site.daemon(), await site.daemon()]
  await site.night()
  await daemons[0].control.startRun(acme)
  await site.whenIdle()
  site.proxy.fault(() => faults.delayed(800))
  const stops: number[] = []
  const states: (string | undefined)[] = []

  for (let round = 0; round < rounds; round++) {
    await nextNight(site, `Title ${round}`, [...site.hr.people.keys()][round] ?? '')
    await daemons[0].control.startRun(acme)
    await daemons[0].waitForOutput('delivery.sent')
    const first = await replace(site, daemons[0])
    states.push((await daemons[1].control.listRuns({ query: { limit: 1 } })).data[0]?.state)
    const second = await replace(site, daemons[1])
    daemons = [first.successor, second.successor]
    stops.push(first.stopMs, second.stopMs)
    await site.whenIdle()
  }

  const { data } = await daemons[0].control.listRuns({ query: {} })
  const confirmed = data.reduce((sum, run) => sum + run.confirmed, 0)
  expect(await site.account()).toEqual([])
  expect(site.peopleSent()).toBe(confirmed)
  expect(new Set(states)).toEqual(new Set(['delivering']))
  expect(Math.max(...stops)).toBeLessThan(stopWithinMs)
}

test('two processes that are restarted one after the other while they deliver lose no change and send none twice', async () => {
  await roll({ people: 80, rounds: 1 })
}, 240_000)

test('the same holds night after night', { tags: ['full'], timeout: 2_400_000 }, async () => {
  await roll({ people: 400, rounds: 6 })
})
