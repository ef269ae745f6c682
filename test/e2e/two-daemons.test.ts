import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultRetry } from '../../src/queue/backoff.ts'
import { openDatabaseBackend } from '../../src/queue/database-backend.ts'
import { openRedisBackend } from '../../src/queue/redis-backend.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'
import { ownServer } from '../helpers/servers/own-servers.ts'
import { inFlight, openSite, openStore, type Site, type SiteOptions, until } from '../helpers/sources/own-site.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, startHost } from '../helpers/world.ts'

const headcount = 800
/** A batch that is held back while all others are sent is not sent again, however long they take. */
const requestTimeoutMs = 600_000
const batchSize = 50
/**
 * A daemon that stands still keeps its work for a minute; the sweep that finds it comes every minute. Long enough for every wait within to
 * give up first, so that what was started is ended.
 */
const timeoutMs = 1_800_000

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

type Size = {
  readonly name: string
  readonly queue: (stack: AsyncDisposableStack) => Promise<{ readonly queue?: string }>
}

const withRedis: Size = {
  name: 'PostgreSQL and Redis',
  queue: async (stack) => ({ queue: stack.use(await ownServer('redis')).url }),
}
const alone: Size = { name: 'PostgreSQL alone', queue: async () => ({}) }

type OpenedSite = { readonly site: Site; readonly database: string; readonly queue?: string }

async function open(
  stack: AsyncDisposableStack,
  size: Size,
  options: Pick<SiteOptions, 'requestTimeoutMs'> = {},
): Promise<OpenedSite> {
  const database = stack.use(await createPostgresDatabase()).at
  const where = { database, ...(await size.queue(stack)) }
  const site = stack.use(await openSite(host, { people: headcount, batchSize, ...where, ...options }))
  return { site, ...where }
}

/** The queue of a site, beside those who work on it. */
async function jobsOf(stack: AsyncDisposableStack, { database, queue: url }: OpenedSite) {
  const events = silentEvents()
  const store = stack.use(await openStore(database))
  const backend = stack.use(
    url === undefined ? await openDatabaseBackend(store, events) : await openRedisBackend(url, events),
  )
  const producer = stack.adopt(backend.createProducer('jobs', defaultRetry), (opened) => opened.close())
  return {
    /** Removes every job, also those that are being worked on. */
    forget: () => producer.obliterate({ force: true }),
    /** Resolves when somebody has taken up whatever was waiting. */
    taken: () =>
      until('every job was taken', async () => ((await producer.getWaitingCount()) === 0 ? true : undefined)),
  }
}

const acme = { params: { connection: 'acme' }, body: {} } as const

/** HR gives everybody another title. */
function retitle({ hr }: Site, title: string): void {
  for (const id of hr.people.keys()) hr.change(id, { title })
}

describe.concurrent.each(isFull ? [withRedis, alone] : [withRedis])(
  'two daemons on $name',
  { timeout: timeoutMs },
  (size) => {
    test('share the work, and deliver each change once and one run after the other, even if the queue loses everything', async () => {
      await using stack = new AsyncDisposableStack()
      const opened = await open(stack, size, { requestTimeoutMs })
      const { site } = opened
      const daemons = await Promise.all([site.daemon(), site.daemon()])
      const jobs = await jobsOf(stack, opened)
      const askAll = () => Promise.all(daemons.map(({ control }) => control.startRun(acme)))
      await site.night()
      // A process sends three batches of a long run at a time. If one held three, a fourth that it has claimed would wait for them.
      const gate = site.gateAfter(3, { atMost: 2 })
      await askAll()
      await gate.reached(2)

      await jobs.forget()
      retitle(site, 'Lead')
      await site.night()
      // Whoever asks for a run has what is due enqueued again, as the sweep does. Most workers have nothing else to do.
      await askAll()
      await jobs.taken()
      await until('everybody was on the way', async () => (site.peopleSent() >= headcount ? true : undefined))
      await Promise.all(daemons.map(({ waitForOutput }) => waitForOutput('delivery.sent')))
      await gate.open()
      await site.whenIdle()
      retitle(site, 'Principal')
      await site.night()
      await askAll()
      await site.whenIdle()

      const runs = await daemons[0].control.listRuns({ query: {} })
      const delivered = runs.data.reduce((sum, { confirmed }) => sum + confirmed, 0)
      expect(await site.account()).toEqual([])
      expect(delivered).toBe(3 * headcount)
      expect(site.peopleSent()).toBe(delivered)
    })

    test('let the newer facts win if one of them is paused with batches in flight and continued after another run', async () => {
      await using stack = new AsyncDisposableStack()
      const { site } = await open(stack, size)
      await site.night()
      const stopped = await site.daemon()
      const gate = site.gateAfter(3, { keep: 'both' })
      await stopped.control.startRun(acme)
      await gate.reached(inFlight)

      stopped.child.kill('SIGSTOP')
      gate.leaveAside()
      const other = await site.daemon()
      const first = await site.atRest(other.control)
      retitle(site, 'Lead')
      await site.night()
      await other.control.startRun(acme)
      const second = await site.atRest(other.control, 2)
      await gate.open()
      const undone = await site.findings()
      stopped.child.kill('SIGCONT')
      await site.whenIdle()

      expect({ first, second }).toEqual({ first: 'finished', second: 'finished' })
      // What was on its way when the daemon was stopped has come after all, with the older facts.
      expect(undone).not.toEqual([])
      expect(await site.account()).toEqual([])
      expect(stopped.child.exitCode).toBeNull()
    })
  },
)

describe.concurrent('two daemons', { tags: ['full'], timeout: timeoutMs }, () => {
  test('continue if one of them is paused while it records the result of a batch', async () => {
    await using stack = new AsyncDisposableStack()
    const { site, database } = await open(stack, withRedis)
    await site.night()
    const stopped = await site.daemon()
    const gate = site.gateAfter(3)
    const { id } = await stopped.control.startRun(acme)
    await gate.reached(inFlight)

    // It ends its batches in transactions that have to wait for the run's row, and then hold it.
    const obstacle = await obstruct(stack, database, `select 1 from runs where id = '${id}' for update`)
    await gate.open()
    await obstacle.isFelt()
    stopped.child.kill('SIGSTOP')
    await obstacle.remove()
    const other = await site.daemon()
    const first = await site.atRest(other.control)
    stopped.child.kill('SIGCONT')
    await site.whenIdle()

    expect(first).toBe('finished')
    expect(await site.account()).toEqual([])
  })

  test('continue if one of them is paused while it plans', async () => {
    await using stack = new AsyncDisposableStack()
    const { site, database } = await open(stack, alone)
    await site.night()
    const stopped = await site.daemon()

    const obstacle = await obstruct(stack, database, 'lock table changes in exclusive mode')
    await stopped.control.startRun(acme)
    await obstacle.isFelt()
    stopped.child.kill('SIGSTOP')
    await obstacle.remove()
    const other = await site.daemon()
    const first = await site.atRest(other.control)
    stopped.child.kill('SIGCONT')
    await site.whenIdle()

    expect(first).toBe('finished')
    expect(await site.account()).toEqual([])
    expect(site.peopleSent()).toBe(headcount)
  })
})

/** Keeps something in the store locked. Whoever runs into it stands in the middle of a transaction. */
async function obstruct(stack: AsyncDisposableStack, database: string, statement: string) {
  await using opening = new AsyncDisposableStack()
  const store = opening.use(await openStore(database))
  const session = await store.pool.connect()
  opening.defer(() => session.release(true))
  await session.query('begin')
  await session.query(statement)
  const { rows: own } = await session.query('select pg_backend_pid() as pid')
  stack.use(opening.move())
  return {
    /** Resolves when somebody waits for it. */
    async isFelt(): Promise<void> {
      await until('somebody waited for the lock', async () => {
        // Asked in another session: within a transaction the server shows who was active when it was asked first.
        const { rows } = await store.pool.query(
          'select 1 from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))',
          [own[0].pid],
        )
        return rows.length > 0 ? true : undefined
      })
    },
    remove: () => session.query('commit'),
  }
}
