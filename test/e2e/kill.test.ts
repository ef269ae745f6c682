import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { company, toCsv } from '../../src/cli/demo/company.ts'
import type { PlatformClient } from '../../src/sync/context/context.ts'
import { startFaultProxy } from '../helpers/faults/proxy.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { redisUrl } from '../helpers/servers/provided.ts'
import { isFull } from '../helpers/tier.ts'
import { openWorkplace, type WorkplaceOptions } from '../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const headcount = isFull ? 5000 : 2000
const batchSize = 100
/** Maximum number of batches whose request is under way at the kill. For each the list may be read, which has `pages` pages. */
const maxInFlight = 5
const pages = headcount / 500

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

type Size = { readonly name: string; readonly size: (stack: AsyncDisposableStack) => Promise<WorkplaceOptions> }

const sizes: readonly Size[] = [
  { name: 'embedded', size: async () => ({}) },
  { name: 'PostgreSQL alone', size: async (stack) => ({ database: stack.use(await createPostgresDatabase()).at }) },
  {
    name: 'PostgreSQL and Redis',
    size: async (stack) => ({ database: stack.use(await createPostgresDatabase()).at, queue: await redisUrl() }),
  },
]

/** Of the other sizes, crash-random and crash-steps have one each in their small form. */
const tested = isFull ? sizes : sizes.slice(0, 1)

describe.each(tested)(`a daemon killed in the middle of ${headcount} people, $name`, ({ size }) => {
  test('loses nobody: the next sync brings everybody, once, and separates nobody it should not', async () => {
    await using stack = new AsyncDisposableStack()
    const { key, client } = await host.tenant()
    const storage = await size(stack)
    const proxy = stack.use(await startFaultProxy({ target: host.platform.baseUrl }))
    const work = stack.use(await openWorkplace({ baseUrl: proxy.baseUrl, key, ...storage }))
    await work.configure({ connection: `    delivery: { batchSize: ${batchSize} }\n` })
    const people = company({ seed: 7, size: headcount, today: '2026-11-20' })
    await work.drop('people.csv', toCsv(people))
    await using daemon = work.start('serve')
    await daemon.waitForOutput('daemon.started')
    const sync = work.start('sync')
    stack.use(sync)

    const atKill = await arrivals(client, headcount / 10)
    daemon.child.kill('SIGKILL')
    sync.child.kill('SIGKILL')
    await Promise.all([daemon.ended, sync.ended])
    proxy.forget()
    const after = await work.json('sync')
    const requests = proxy.requests.length

    const arrived = await peopleOn(client)
    expect(atKill).toBeLessThan(headcount)
    expect(after).toMatchObject({ exit: 0, document: { problems: 0 } })
    expect(arrived.size).toBe(headcount)
    const remainingBatches = Math.ceil((headcount - atKill) / batchSize)
    expect(requests).toBeLessThanOrEqual(remainingBatches + maxInFlight * (pages + 1))
    expect(
      [...arrived.values()]
        .map(({ identityId, separatedAt }) => [identityId, separatedAt?.slice(0, 10) ?? ''])
        .toSorted(),
    ).toEqual(people.map(({ workerId, terminationDate }) => [workerId, terminationDate]).toSorted())
    const person = await work.json<{ changes: unknown[] }>('person', people[0]?.workerId ?? '')
    expect(person.document.changes).toHaveLength(1)
  })
})

/** Resolves once the platform holds at least this many people of the account's connection, with their number. */
async function arrivals(client: PlatformClient, atLeast: number): Promise<number> {
  const deadline = AbortSignal.timeout(90_000)
  for (;;) {
    deadline.throwIfAborted()
    const listed = await client.listCustomConnections({ query: {} })
    const connectionId = listed.status === 200 ? listed.body.data[0]?.id : undefined
    if (connectionId === undefined) continue
    const people = await client.listHrisUserIdentities({
      params: { connectionId },
      query: { size: 1, includeTotalCount: true },
    })
    const count = people.status === 200 ? (people.body.pagination.totalCount ?? 0) : 0
    if (count >= atLeast) return count
  }
}
