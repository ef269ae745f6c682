import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { redisUrl } from '../helpers/servers/provided.ts'
import { openSite, until } from '../helpers/sources/own-site.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { openLink } from '../queue/link.ts'

/** A session that is gone is noticed within a minute. */
const noticedWithinMs = 60_000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Ends every session of a database but this one, as when its server is gone. */
async function endSessions(at: string): Promise<void> {
  const client = new pg.Client(at)
  await client.connect()
  await client.query(
    'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await client.end()
}

test.concurrent.each(['PostgreSQL', 'Redis'] as const)(
  'a leaver is delivered although %s is gone behind connections that stay open',
  { timeout: 300_000 },
  async (gone) => {
    await using stack = new AsyncDisposableStack()
    const { at } = stack.use(await createPostgresDatabase())
    const link = stack.use(await openLink(gone === 'Redis' ? await redisUrl() : at))
    const addresses = gone === 'Redis' ? { database: at, queue: link.url } : { database: link.url }
    const site = stack.use(await openSite(host, { people: 30, batchSize: 10, ...addresses }))
    await site.night()
    const daemon = await site.daemon()
    const start = () => daemon.control.startRun({ params: { connection: 'acme' }, body: {} })
    await start()
    const first = await site.atRest(daemon.control)
    site.hr.leave('E0003', '2026-11-19')
    await site.night()

    link.freeze()
    if (gone === 'PostgreSQL') await endSessions(at)
    const frozenMs = performance.now()
    await until('the daemon had taken the request', start)
    const second = await site.atRest(daemon.control, 2)
    const tookMs = performance.now() - frozenMs

    expect([first, second]).toEqual(['finished', 'finished'])
    expect(await site.account()).toEqual([])
    expect(tookMs).toBeLessThan(noticedWithinMs)
  },
)
