import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import { claimRun } from '../../../src/store/runs/claims.ts'
import { addWaitingRun, ensureConnection, listRuns } from '../../../src/store/runs/runs.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import { archiveSources } from '../../../src/sync/plan/feeds.ts'
import { approveRun, cancelRun, planDryRun, rejectRun, requestRun } from '../../../src/sync/sync.ts'
import { liveRecords } from '../../helpers/custom-records.ts'
import { openLinked } from '../../helpers/linked-world.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { connectorFor } from '../../helpers/sources/folder-source.ts'
import { firstOf } from '../../helpers/tier.ts'
import { type Host, headers, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const next = { asOf: '2026-11-21T01:00:00.000Z' }

test('an export is fetched once, and each connection plans and delivers it in its own run', async () => {
  await using opened = await openLinked(host)
  const { world, client } = opened

  const run = await world.night(staff(30))
  const linked = await opened.lastOf('records')

  expect(opened.count).toEqual({ opened: 1, closed: 1 })
  expect(run).toMatchObject({ state: 'finished', also: [{ id: linked.id, connection: 'records' }] })
  expect(linked).toMatchObject({ state: 'finished', ridesWith: run.id, confirmed: 30, source: run.source })
  expect((await peopleOn(client)).size).toBe(30)
  expect([...(await liveRecords(client)).values()][0]).toEqual({ id: 'E0001', name: 'Person 1', title: 'Engineer' })
  expect(opened.archived).toEqual([run.source?.version])
})

test('each connection opens a source itself if there is no copy', async () => {
  await using opened = await openLinked(host, { copies: false })
  const { world, client } = opened

  const run = await world.night(staff(30))

  expect(opened.count).toEqual({ opened: 2, closed: 2 })
  expect(await opened.lastOf('records')).toMatchObject({ state: 'finished', ridesWith: run.id })
  expect((await liveRecords(client)).size).toBe(30)
  expect(opened.archived).toEqual([run.source?.version])
})

test.each(
  firstOf(1, [
    ['acme', 'records'],
    ['records', 'acme'],
  ]),
)('%s stands still in the middle of a large export, and %s is accepted', async (slow, quick) => {
  await using opened = await openLinked(host)
  const { world, client, archived: settled } = opened
  const accepted = Promise.withResolvers<void>()
  const { events } = world.sync
  const runCommitted: typeof events.runCommitted = (committed) => {
    events.runCommitted(committed)
    if (committed.connection === quick) accepted.resolve()
  }
  Object.assign(world.sync, { events: { ...events, runCommitted } })
  const meanwhile: object[] = []
  opened.pauses[slow] = async () => {
    await accepted.promise
    meanwhile.push({ slow: (await opened.lastOf(slow)).state, settled: [...settled] })
  }

  const run = await world.night(staff(2500))

  expect(meanwhile).toEqual(Array(3).fill({ slow: 'reading', settled: [] }))
  expect(run.state).toBe('finished')
  expect((await opened.lastOf('records')).state).toBe('finished')
  expect((await peopleOn(client)).size).toBe(2500)
  expect((await liveRecords(client)).size).toBe(2500)
  expect(settled).toEqual([run.source?.version])
})

test('a dry run includes the plans of linked connections, from one copy', async () => {
  await using opened = await openLinked(host)
  const { world } = opened
  world.setExport(staff(30))

  const plan = await planDryRun(world.sync, 'acme', new AbortController().signal)

  expect(plan).toMatchObject({ counts: { join: 30 }, also: [{ connection: 'records', counts: { join: 30 } }] })
  expect(plan.also?.[0]?.kept.version).toBe(plan.kept.version)
  expect(opened.count).toEqual({ opened: 1, closed: 1 })
})

test('what the source still lists is recorded for linked connections too, so that none of them reads it again', async () => {
  await using opened = await openLinked(host)
  const { world, listed } = opened
  const { db } = world.sync.store
  await world.night(staff(3))
  const rows = await db.selectFrom('decided_sources').select('version').distinct().execute()
  listed.push(...rows.map(({ version }) => version))

  await world.night(staff(3), next)

  const listings = await db
    .selectFrom('decided_sources')
    .select('connection')
    .where('listed_at', 'is not', null)
    .execute()
  expect(listings.map(({ connection }) => connection).toSorted()).toEqual(['acme', 'records'])
})

describe('a plan of a linked connection that is held', () => {
  /** A plan of the records for 31 people is held, and the people are delivered. */
  async function openHeld() {
    const opened = await openLinked(host)
    await opened.world.night(staff(30))
    opened.holdRecords()
    opened.archived.length = 0
    await opened.world.night(staff(31), next)
    return { ...opened, held: await opened.lastOf('records') }
  }

  test('delays no other connection, and the export is archived once it is approved', async () => {
    await using opened = await openHeld()
    const { world, client, held, archived: settled } = opened

    const before = { people: (await peopleOn(client)).size, records: (await liveRecords(client)).size }
    const between = [...settled]
    await approveRun(world.sync, { runId: held.id, by: 'olga', digest: held.digest ?? '' })
    await world.drain()

    expect(held.state).toBe('held')
    expect(before).toEqual({ people: 31, records: 30 })
    expect((await liveRecords(client)).size).toBe(31)
    expect([between, settled]).toEqual([[], [next.asOf]])
  })

  test('lets the export be archived once it is rejected', { tags: ['full'] }, async () => {
    await using opened = await openHeld()

    await rejectRun(opened.world.sync, { runId: opened.held.id, by: 'olga' })

    expect(opened.archived).toEqual([next.asOf])
  })

  test('keeps the export after its run was cancelled, because nothing was decided about it', {
    tags: ['full'],
  }, async () => {
    await using opened = await openHeld()
    const { world, held, archived: settled } = opened
    const people = world.sync.connections.get('acme')
    if (!people) throw new Error('no connection')

    await cancelRun(world.sync, { runId: held.id, by: 'olga' })
    await archiveSources(world.sync, people)
    const between = [...settled]
    const again = await opened.syncOnly('records')
    await rejectRun(world.sync, { runId: again.id, by: 'olga' })

    expect([between, settled]).toEqual([[], [next.asOf]])
  })

  test('is replaced by the plan of a newer export, and both exports are archived once that is decided', {
    tags: ['full'],
  }, async () => {
    await using opened = await openHeld()
    const { world, client, held, archived: settled } = opened
    const third = '2026-11-22T01:00:00.000Z'

    await world.night(staff(32), { asOf: third })
    const between = [...settled]
    const newer = await opened.lastOf('records')
    await approveRun(world.sync, { runId: newer.id, by: 'olga', digest: newer.digest ?? '' })
    await world.drain()

    expect((await world.runOf(held.id)).state).toBe('superseded')
    expect(newer.source?.version).toBe(third)
    expect(between).toEqual([])
    expect((await liveRecords(client)).size).toBe(32)
    expect(settled).toEqual([next.asOf, third])
  })
})

test('a connection with another active run reads the source when that has ended', { tags: ['full'] }, async () => {
  await using opened = await openLinked(host)
  const { world, client } = opened
  const { db } = world.sync.store
  await ensureConnection(db, 'records')
  const busy = await addWaitingRun(db, {
    connection: 'records',
    feed: 'source',
    trigger: 'operator',
    options: {},
    now: world.clock.now,
  })
  await claimRun(db, { id: busy, lease: world.sync.lease, now: world.clock.now })

  const run = await world.night(staff(30))
  await db.updateTable('runs').set({ lease: null }).where('id', '=', busy).execute()
  await world.minute()
  await world.minute()

  expect(run.state).toBe('finished')
  expect(opened.count.opened).toBeGreaterThan(1)
  expect((await liveRecords(client)).size).toBe(30)
})

test('a linked connection that runs alone reads the source of the other and does not archive it', async () => {
  await using opened = await openLinked(host)
  const { world, client } = opened
  world.setExport(staff(30))

  await opened.syncOnly('records')

  expect((await liveRecords(client)).size).toBe(30)
  expect(await listRuns(world.sync.store.db, { connection: 'acme', limit: 1 })).toEqual([])
  expect(opened.archived).toEqual([])
})

describe('a failing run of a linked connection', () => {
  test('does not affect the other, and is repeated', async () => {
    await using opened = await openLinked(host)
    const { world, client } = opened
    await world.night(staff(30))
    await opened.breakRecord('E0031')

    const run = await world.night(staff(31), next)
    const between = (await liveRecords(client)).size
    await opened.repair()
    await world.minute()

    expect(run.state).toBe('finished')
    expect((await peopleOn(client)).size).toBe(31)
    expect(between).toBe(30)
    expect((await liveRecords(client)).size).toBe(31)
    expect(opened.archived).toEqual(['2026-11-20T01:00:00.000Z', next.asOf])
  })

  test('is logged with its code if another attempt may succeed, and not as an unexpected error', {
    tags: ['full'],
  }, async () => {
    await using opened = await openLinked(host, { copies: false })
    const { world } = opened
    const connector = world.sync.connections.get('records')?.feeds.source?.connector
    if (!connector) throw new Error('the records have a source')
    const open = async () => {
      throw new Failure('source_unreachable', 'the server is down')
    }
    Object.assign(connector, { open })

    const run = await world.night(staff(3))
    const { id } = await opened.lastOf('records')

    expect(run.state).toBe('finished')
    expect(world.events).toContainEqual(
      expect.objectContaining({ event: 'job.failed', id, final: false, code: 'source_unreachable' }),
    )
    expect(world.events).not.toContainEqual(expect.objectContaining({ event: 'unexpected' }))
  })

  test('keeps the export after its last attempt, until another run reads it', async () => {
    await using opened = await openLinked(host)
    const { world, client, archived: settled } = opened
    const people = world.sync.connections.get('acme')
    if (!people) throw new Error('no connection')
    await world.night(staff(30))
    settled.length = 0
    await opened.breakRecord('E0031')

    const run = await world.night(staff(31), next)
    const failed = await opened.failRecords()
    await archiveSources(world.sync, people)
    const between = [...settled]
    await opened.repair()
    await opened.syncOnly('records')

    expect([run.state, failed.state]).toEqual(['finished', 'failed'])
    expect(world.events).toContainEqual(
      expect.objectContaining({
        event: 'source.not_archived',
        connection: 'acme',
        reason: expect.stringMatching(
          /the last run of records failed.*"rollcall sync --connection records" repeats it/,
        ),
      }),
    )
    expect((await liveRecords(client)).size).toBe(31)
    expect([between, settled]).toEqual([[], [next.asOf]])
  })

  test('skips none of several exports that are read in turn', { tags: ['full'] }, async () => {
    await using folder = await exportFolder()
    const settings = { take: 'each', mode: 'delta', afterwards: { accepted: 'archive' } } as const
    await using opened = await openLinked(host, { connector: connectorFor(folder, settings) })
    const { client } = opened
    const deliver = async (id: string, modifiedAt: string) => {
      const row = `${id},${id}@acme.example,Ana,Engineer,2020-01-06,,Active`
      await folder.write(`${id}.csv`, `${headers.join(',')}\n${row}\n`, { modifiedAt: new Date(modifiedAt) })
      return await opened.syncOnly('acme')
    }
    const files = async () => (await readdir(folder.path)).filter((name) => name.endsWith('.csv'))

    await deliver('E0001', '2026-11-18T01:00:00Z')
    await opened.breakRecord('E0002')
    const second = await deliver('E0002', '2026-11-19T01:00:00Z')
    await opened.failRecords()
    await opened.repair()
    const between = await files()
    await deliver('E0003', '2026-11-20T01:00:00Z')

    expect(second.state).toBe('finished')
    expect(between).toEqual(['E0002.csv'])
    expect([...(await liveRecords(client)).keys()].toSorted()).toEqual(['E0001', 'E0002', 'E0003'])
    expect(await files()).toEqual([])
  })
})

test('an export whose kept plan was delivered is not archived until linked connections have read it', {
  tags: ['full'],
}, async () => {
  await using folder = await exportFolder()
  const settings = { take: 'each', mode: 'delta', afterwards: { accepted: 'archive' } } as const
  await using opened = await openLinked(host, { connector: connectorFor(folder, settings) })
  const { world, client } = opened
  const row = 'E0001,E0001@acme.example,Ana,Engineer,2020-01-06,,Active'
  await folder.write('E0001.csv', `${headers.join(',')}\n${row}\n`, { modifiedAt: new Date('2026-11-18T01:00:00Z') })
  const files = async () => (await readdir(folder.path)).filter((name) => name.endsWith('.csv'))

  const { kept } = await planDryRun(world.sync, 'acme', new AbortController().signal)
  await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options: { plan: kept } })
  await world.drain()
  const between = [await files(), await peopleOn(client).then(({ size }) => size)]
  await opened.syncOnly('records')

  expect(between).toEqual([['E0001.csv'], 1])
  expect(world.events).toContainEqual(
    expect.objectContaining({
      event: 'source.not_archived',
      reason: expect.stringMatching(/records has not read it yet.*"rollcall sync --connection records"/),
    }),
  )
  expect([...(await liveRecords(client)).keys()]).toEqual(['E0001'])
  expect(await files()).toEqual([])
})

test('a linked connection that has decided about other exports opens the source itself, because another one may be next', {
  tags: ['full'],
}, async () => {
  await using opened = await openLinked(host)
  const { world, listed, count } = opened
  await world.night(staff(3))
  const { db } = world.sync.store
  listed.push('an older export')
  const source = JSON.stringify({ name: 'older.csv', bytes: 1, version: 'an older export' })
  const taken = {
    connection: 'acme',
    version: 'an older export',
    source,
    outcome: 'accepted',
    decided_at: world.clock.now,
  }
  await db.insertInto('decided_sources').values(taken).execute()
  count.opened = 0

  await world.night(staff(4), next)

  expect(count.opened).toBe(2)
  expect((await opened.lastOf('records')).state).toBe('finished')
})

test.each(firstOf(1, ['acme', 'records']))(
  'a process that is killed while it reads for %s leaves nothing undone',
  async (reader) => {
    await using opened = await openLinked(host)
    const { world, client, pauses, archived: settled } = opened
    const lease = await takeLease(world.sync.store)
    const { promise: never, reject: end } = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    pauses[reader] = async () => {
      delete pauses[reader]
      reached.resolve()
      await never
    }
    world.setExport(staff(2500))
    await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    const [job] = world.jobs.splice(0)
    if (!job) throw new Error('no job')

    const killed = world.workOn(job, undefined, { lease }).catch(() => {})
    await reached.promise
    await lease[Symbol.asyncDispose]()
    await world.minute()
    await world.minute()
    const states = [(await opened.lastOf('acme')).state, (await opened.lastOf('records')).state]
    end(new Error('killed'))
    await killed

    expect(states).toEqual([expect.stringMatching(/finished|unchanged/), expect.stringMatching(/finished|unchanged/)])
    expect((await peopleOn(client)).size).toBe(2500)
    expect((await liveRecords(client)).size).toBe(2500)
    expect(settled).toEqual([(await opened.lastOf('acme')).source?.version])
  },
)
