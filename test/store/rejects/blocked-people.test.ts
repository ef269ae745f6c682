import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Connector } from '../../../src/connectors/connector.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { stagePeople } from '../../../src/store/plans/plans.ts'
import {
  type BlockedPersonCursor,
  countBlockedPeople,
  listBlockedPeople,
  noBlockedPeople,
} from '../../../src/store/rejects/blocked-people.ts'
import type { SourceFeed } from '../../../src/sync/context/context.ts'
import { approveRun, retractPerson } from '../../../src/sync/sync.ts'
import { entry } from '../../helpers/records.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { change, type Host, type HrPerson, openWorld, staff, startHost, without } from '../../helpers/world.ts'

/** Neither can be read: a date of leaving that is none, and an address that is none. */
const leaver = { id: 'E0004', leavingDate: '31/02/2025', status: '' }
const mover = { id: 'E0002', email: 'DISABLED' }

/** The rows of a source as a delta, with or without columns for addresses and departures. */
function sparseDelta(
  { open }: Connector,
  speaks: { readonly ofEmail: boolean; readonly ofLeaving: boolean },
): Connector {
  return {
    async open(ctx) {
      const reading = await open(ctx)
      const rows = async function* () {
        for await (const slice of reading.rows) {
          yield slice.map((row) => {
            const values = row.values.slice(0, speaks.ofLeaving ? 7 : 5)
            return { ...row, values: speaks.ofEmail ? values : values.with(1, undefined) }
          })
        }
      }
      return { ...reading, mode: 'delta', sparse: true, rows: rows() }
    },
  }
}

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe.each(databases)('blocked people on $name', ({ createDatabase }) => {
  async function open({ isDelta = false, feed = {} }: { isDelta?: boolean; feed?: Partial<SourceFeed> } = {}) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, feed }))
    const { db } = world.sync.store
    const { source } = world.connection.feeds
    const speaks = { ofEmail: true, ofLeaving: true }
    if (isDelta && source) Object.assign(source, { connector: sparseDelta(source.connector, speaks) })
    let nights = 0
    return {
      world,
      speaks,
      night: (people: readonly HrPerson[]) =>
        world.night(people, { asOf: new Date(Date.UTC(2026, 10, 20 + nights++, 1)).toISOString() }),
      blockedPeople: () => listBlockedPeople(db, { now: world.clock.now }),
      keys: async () => (await listBlockedPeople(db, { now: world.clock.now })).map(({ identityId }) => identityId),
      tally: async () => (await countBlockedPeople(db, { now: world.clock.now })).get('acme') ?? noBlockedPeople,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }

  test('include people whose leaving date has come while its plan is held', async () => {
    await using opened = await open()
    const { world, night, blockedPeople } = opened
    await night(staff(20))
    const leaves = change(
      staff(20),
      { id: 'E0002', leavingDate: '2026-11-22' },
      { id: 'E0003', leavingDate: '2026-11-23' },
    )
    const held = await night(leaves.map((person) => ({ ...person, email: `${person.id}@new.example` })))
    world.clock.now = new Date('2026-11-21T23:59:59.000Z')
    const dayBefore = await blockedPeople()

    world.clock.now = new Date('2026-11-22T00:00:00.000Z')
    const listed = await blockedPeople()
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
    await world.drain()

    expect(held.state).toBe('held')
    expect(dayBefore).toEqual([])
    expect(listed).toMatchObject([
      {
        identityId: 'E0002',
        leaver: true,
        line: null,
        reason: 'the leaving date 2026-11-22 has come, and the plan that states it is held',
        runId: held.id,
        accepted: false,
      },
    ])
    expect(await blockedPeople()).toEqual([])
  })

  test('are listed with each held plan that states their date, also if a page ends between two of them', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world, night } = opened
    const { db } = world.sync.store
    await night(staff(20))
    const leaves = change(
      staff(20),
      { id: 'E0002', leavingDate: '2026-11-22' },
      { id: 'E0003', leavingDate: '2026-11-23' },
    )
    const held = await night(leaves.map((person) => ({ ...person, email: `${person.id}@new.example` })))
    const { id: other } = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'E0020',
      reason: 'sent in error',
      by: 'ana',
    })
    const waits = entry('E0002', { deferredTo: '2026-11-22', deferredZone: 'UTC' })
    await stagePeople(db, other, [{ identityId: 'E0002', entry: waits, change: null, origin: null }])
    world.clock.now = new Date('2026-11-24T00:00:00.000Z')

    const listed: string[][] = []
    for (let after: BlockedPersonCursor | undefined; listed.length < 9; ) {
      const [one] = await listBlockedPeople(db, { now: world.clock.now, ...(after && { after }), limit: 1 })
      if (!one) break
      listed.push([one.identityId ?? '', one.runId])
      after = one.cursor
    }

    expect(listed).toHaveLength(3)
    expect(listed).toEqual(
      expect.arrayContaining([
        ['E0002', held.id],
        ['E0002', other],
        ['E0003', held.id],
      ]),
    )
  })

  test('are listed with the fault, its place and time; possible leavers first', async () => {
    await using opened = await open()
    const { world, night, blockedPeople, tally } = opened

    await night(staff(5))
    const first = await night(change(staff(5), leaver, mover))
    const since = world.clock.now.toISOString()
    const second = await night([{ id: 'E0000', email: '' }, ...change(staff(5), leaver, mover)])

    expect(await blockedPeople()).toMatchObject([
      {
        connection: 'acme',
        identityId: 'E0004',
        leaver: true,
        cellOnly: true,
        column: 'Leaving Date',
        reason: expect.stringContaining('date'),
        source: 'people.csv',
        line: 6,
        rows: 1,
        runId: second.id,
        accepted: true,
        firstAt: since,
        lastAt: world.clock.now.toISOString(),
      },
      { identityId: 'E0002', leaver: false, column: 'Email', line: 4, firstAt: since },
    ])
    expect(await tally()).toEqual({ people: 2, leavers: 1, rows: 0 })
    expect([first.blockedPeople, second.blockedPeople]).toEqual([await tally(), await tally()])
  })

  test('end once an accepted export has them without the fault, or no longer has them', async () => {
    await using opened = await open()
    const { night, keys } = opened

    await night(change(staff(5), leaver, mover))
    await night(change(staff(5), mover))
    const mended = await keys()
    const run = await night(without(change(staff(5), mover), 'E0002'))

    expect(mended).toEqual(['E0002'])
    expect(await keys()).toEqual([])
    expect(run.blockedPeople).toEqual({ people: 0, leavers: 0, rows: 0 })
  })

  test('stay while an export without the fault is held', async () => {
    await using opened = await open()
    const { night, keys } = opened

    await night(change(staff(12), leaver))
    const held = await night(without(staff(12), 'E0007', 'E0008', 'E0009', 'E0010', 'E0011', 'E0012'))

    expect(held.state).toBe('held')
    expect(await keys()).toEqual(['E0004'])
  })

  test('no longer count as leavers once their separation is sent, and end once they are retracted', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world, night, blockedPeople, keys } = opened

    await night(staff(5))
    await night(change(staff(5), { id: 'E0002', leavingDate: '2026-11-01' }))
    await night(change(staff(5), { id: 'E0002', leavingDate: '2026-11-01', email: 'DISABLED' }, leaver))
    await night(change(staff(5), { id: 'E0002', leavingDate: '01/11/2026' }, leaver))
    const listed = await blockedPeople()
    const { id, digest } = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'E0004',
      reason: 'sent in error',
      by: 'ana',
    })
    await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ana' })

    expect(listed).toMatchObject([
      { identityId: 'E0002', leaver: false },
      { identityId: 'E0004', leaver: true },
    ])
    expect(await keys()).toEqual(['E0002'])
  })

  test('of a delta stay until a later one states them, including the departure if that was unreadable', async () => {
    await using opened = await open({ isDelta: true })
    const { speaks, night, keys } = opened

    await night(staff(5))
    await night(change(staff(5), leaver, mover))
    await night([{ id: 'E0001', email: 'DISABLED' }])
    const others = await keys()
    speaks.ofLeaving = false
    await night(staff(5).slice(1))
    const titles = await keys()
    speaks.ofLeaving = true
    await night(staff(5))

    expect(others).toEqual(['E0004', 'E0001', 'E0002'])
    expect(titles).toEqual(['E0004', 'E0001'])
    expect(await keys()).toEqual([])
  })

  test('of a delta with a contradicting status stay until a later one states the employment again', {
    tags: ['full'],
  }, async () => {
    await using opened = await open({ isDelta: true })
    const { speaks, night, keys, blockedPeople } = opened
    const contradicted = { id: 'E0003', leavingDate: '2026-06-30', status: 'Active' }

    await night(staff(5))
    await night(change(staff(5), contradicted).slice(2, 3))
    const listed = await blockedPeople()
    speaks.ofLeaving = false
    await night(change(staff(5), { id: 'E0003', title: 'Director' }))
    const others = await keys()
    speaks.ofLeaving = true
    await night([{ id: 'E0003', leavingDate: '2026-06-30', status: 'Inactive' }])

    expect(listed).toMatchObject([{ identityId: 'E0003', leaver: false, contradicts: true }])
    expect(others).toEqual(['E0003'])
    expect(await keys()).toEqual([])
  })

  test('of a delta stay until the unreadable field is stated', { tags: ['full'] }, async () => {
    await using opened = await open({ isDelta: true })
    const { speaks, night, keys } = opened

    await night(staff(5))
    await night([mover, { id: 'E0006', email: 'DISABLED' }])
    speaks.ofEmail = false
    await night(change(staff(6), { id: 'E0002', title: 'Director' }))
    const others = await keys()
    speaks.ofEmail = true
    await night([{ id: 'E0002', email: 'e2@acme.example' }])
    const listed = await keys()
    await night([{ id: 'E0006', email: '' }])

    expect(others).toEqual(['E0002', 'E0006'])
    expect(listed).toEqual(['E0006'])
    expect(await keys()).toEqual([])
  })

  test('exclude people with a newer usable row', async () => {
    const mapping = Mapping.parse({
      fields: { identityId: 'Worker ID', email: 'Email' },
      severalRows: { latest: { column: 'Job Title' } },
    })
    await using opened = await open({ feed: { mapping } })
    const { night, keys } = opened
    const rows = (...titles: string[]) => titles.map((title) => ({ ...mover, title }))

    await night([...rows('1'), { ...mover, title: '2', email: 'e2@acme.example' }, { id: 'E0003', title: '1' }])
    const none = await keys()
    await night([...rows('3'), { ...mover, title: '2', email: 'e2@acme.example' }, { id: 'E0003', title: '1' }])

    expect(none).toEqual([])
    expect(await keys()).toEqual(['E0002'])
  })
})
