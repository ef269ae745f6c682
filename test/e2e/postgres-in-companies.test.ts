import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPair } from '../helpers/servers/clusters.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { startPgBouncer } from '../helpers/servers/pgbouncer.ts'
import { inFlight, openSite, until } from '../helpers/sources/own-site.ts'
import { type Host, startHost } from '../helpers/world.ts'

const people = 3000
const batchSize = 100
/** The number of delivered batches at which the fault happens. */
const middle = 10

describe('PostgreSQL as companies run it', { tags: ['full'] }, () => {
  let host: Host
  let hostDatabase: Awaited<ReturnType<typeof createPostgresDatabase>>
  beforeAll(async () => {
    hostDatabase = await createPostgresDatabase()
    host = await startHost(hostDatabase.at)
  })
  afterAll(async () => {
    await host[Symbol.asyncDispose]()
    await hostDatabase[Symbol.asyncDispose]()
  })

  test('a whole sync goes through a PgBouncer that pools by session', async () => {
    await using database = await createPostgresDatabase()
    await using pooler = await startPgBouncer(database.at, 'session', { default_pool_size: 40 })
    await using site = await openSite(host, { people, batchSize, database: pooler.at })
    await site.night()

    const daemon = await site.daemon()
    await daemon.control.startRun({ params: { connection: 'acme' }, body: {} })

    expect(await site.atRest(daemon.control)).toBe('finished')
    expect(await site.account()).toEqual([])
    expect(site.peopleSent()).toBe(people)
  })

  test('a run continues at the replica that becomes the primary during it, and loses nobody', async () => {
    await using pair = await startPair()
    await using site = await openSite(host, { people, batchSize, database: pair.at })
    await site.night()
    const daemon = await site.daemon()
    const gate = site.gateAfter(middle)
    await daemon.control.startRun({ params: { connection: 'acme' }, body: {} })
    await gate.reached(inFlight)

    await pair.caughtUp()
    await pair.primary.kill()
    await gate.open()
    await pair.promote()

    expect(await site.atRest(daemon.control)).toBe('finished')
    expect(await site.account()).toEqual([])
    expect(site.peopleSent() - people).toBeLessThanOrEqual(inFlight * batchSize)
    expect(daemon.child.exitCode).toBeNull()
  })

  test('after a failover to a replica that missed the last requests, they are sent again and nobody is lost', async () => {
    await using pair = await startPair()
    await using site = await openSite(host, { people, batchSize, database: pair.at })
    await site.night()
    const daemon = await site.daemon()
    const planned = site.gateAfter(1, { atMost: inFlight })
    await daemon.control.startRun({ params: { connection: 'acme' }, body: {} })
    await planned.reached(inFlight)
    await pair.caughtUp()
    await pair.cutOff()
    const gate = site.gateAfter(middle)
    await planned.open()
    await gate.reached(inFlight)

    await pair.primary.kill()
    await gate.open()
    await pair.promote()

    expect(await site.atRest(daemon.control)).toBe('finished')
    expect(await site.account()).toEqual([])
    // The batches that the replica did not hear of, and those under way.
    expect(site.peopleSent() - people).toBeGreaterThanOrEqual(middle * batchSize)
  })

  test('a run that the replica missed entirely is unknown, and verification finds its changes', async () => {
    await using pair = await startPair()
    await using site = await openSite(host, { people: 200, batchSize, database: pair.at })
    await site.night()
    const daemon = await site.daemon()
    const run = async (runs: number, body: { verify?: true } = {}) => {
      await daemon.control.startRun({ params: { connection: 'acme' }, body })
      return await site.atRest(daemon.control, runs)
    }
    await run(1)
    await pair.caughtUp()
    await pair.cutOff()
    const [someone = expect.fail()] = site.hr.rows()
    site.hr.change(someone.id, { title: 'Director' })
    await site.night()
    await run(2)

    await pair.primary.kill()
    await pair.promote()
    // HR takes it back, so that the store as it is now sees no change.
    site.hr.change(someone.id, { title: someone.title ?? '' })
    await site.night()
    const again = await until('the daemon was back', () => run(2))
    const differing = await site.findings()
    const verified = await run(3, { verify: true })

    expect({ again, verified }).toEqual({ again: 'unchanged', verified: 'finished' })
    expect(differing).toEqual([expect.stringContaining(someone.id)])
    expect(await site.findings()).toEqual([])
  })
})
