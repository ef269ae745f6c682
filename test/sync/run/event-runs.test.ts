import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { prepareRestored } from '../../../src/store/backup/restored.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { acceptedSource } from '../../../src/store/connections/sources.ts'
import { personOf, rejectsOf } from '../../../src/store/history/history.ts'
import { pendingCount } from '../../../src/store/inbox/inbox.ts'
import { listEvents, retryEvents } from '../../../src/store/inbox/review.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import type { SourceFeed, SyncConnection } from '../../../src/sync/context/context.ts'
import {
  approveRun,
  cancelRun,
  rejectRun,
  requestEventRuns,
  requestRun,
  restorePerson,
  retractPerson,
} from '../../../src/sync/sync.ts'
import {
  type HrEvent,
  heldRun,
  lastRun,
  later,
  receive,
  terminated,
  updated,
  webhookFeed,
} from '../../helpers/events.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { firstOf } from '../../helpers/tier.ts'
import {
  between,
  change,
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const sixLeavers = Array.from({ length: 6 }, (_, i) =>
  terminated(`E000${i + 1}`, '2026-11-19', '2026-11-20T02:10:00.000Z'),
)

describe.each(databases)('on $name', ({ createDatabase }) => {
  async function open(
    webhook = webhookFeed(),
    feed: Partial<SourceFeed> = {},
    connection: Partial<Pick<SyncConnection, 'guards'>> = {},
  ) {
    const stack = new AsyncDisposableStack()
    const { at } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(await openWorld({ at, client, webhook, feed, connection }))
    return { world, client, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  describe('events', () => {
    test('become one run after a quiet time, in the order of their own times', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      await receive(world, updated('E0003', 'Director', '2026-11-20T02:30:00.000Z'))
      await receive(world, updated('E0003', 'Lead', '2026-11-20T02:10:00.000Z'))

      await later(world, 4)
      const beforeQuiet = await lastRun(world)
      await later(world, 2)

      expect(beforeQuiet.feed).toBe('source')
      expect(await lastRun(world)).toMatchObject({ feed: 'webhook', trigger: 'webhook', state: 'finished', rows: 2 })
      expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('Director')
      expect(await pendingCount(world.sync.store.db, 'acme')).toBe(0)
    })

    test('that are dated ahead of a clock that was set back do not wait for their time', {
      tags: ['full'],
    }, async () => {
      await using opened = await open()
      const { world } = opened
      await receive(world, updated('E0003', 'Lead', '2026-11-20T02:10:00.000Z'))

      await later(world, -7200)

      expect(await lastRun(world)).toMatchObject({ feed: 'webhook', trigger: 'webhook' })
    })

    test('that are too wide to be read together become two runs, without rejecting any', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      const wide = (name: string) => Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`${name}${n}`, '1']))
      const departure = terminated('E0004', '2026-11-19', '2026-11-20T02:20:00.000Z')
      await receive(world, JSON.stringify({ ...updated('E0003', 'Lead', '2026-11-20T02:10:00.000Z'), more: wide('a') }))
      await receive(world, JSON.stringify({ ...departure, more: wide('b') }))

      await later(world, 6)
      await later(world, 6)

      const people = await peopleOn(client)
      expect(people.get('E0003')?.jobTitle).toBe('Lead')
      expect(people.get('E0004')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
      expect(await pendingCount(world.sync.store.db, 'acme')).toBe(0)
    })

    test('that never stop arriving become a run too', { tags: ['full'] }, async () => {
      await using opened = await open(webhookFeed({ quietSeconds: 5, quietMostSeconds: 20 }))
      const { world } = opened
      await world.night(staff(20))

      for (let i = 0; i < 6; i++) {
        await receive(world, updated('E0003', `Title ${i}`, '2026-11-20T02:10:00.000Z'))
        await later(world, 4)
      }

      expect(await lastRun(world)).toMatchObject({ feed: 'webhook', state: 'finished' })
    })

    test('change only what they state', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))

      await receive(world, updated('E0003', 'Lead', '2026-11-20T02:10:00.000Z'))
      await later(world, 6)

      expect((await peopleOn(client)).get('E0003')).toMatchObject({
        jobTitle: 'Lead',
        email: 'e3@acme.example',
        firstName: 'Person 3',
        startedAt: '2020-01-06T00:00:00.000Z',
        separatedAt: null,
      })
    })

    test('of a leaver separate; without a date, on the day of the event', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))

      await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T02:10:00.000Z'))
      await receive(world, { type: 'terminated', at: '2026-11-18T23:30:00.000Z', employee: { id: 'E0004' } })
      await receive(world, { type: 'terminated', at: '2026-11-20T02:20:00.000Z', employee: { id: 'E0005' } })
      await later(world, 6)

      const people = await peopleOn(client)
      expect(people.get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
      expect(people.get('E0004')?.separatedAt, 'older than the export of 01:00').toBeNull()
      expect(people.get('E0005')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
    })

    test('about fields without a column in the export keep their values', { tags: ['full'] }, async () => {
      const feed = webhookFeed()
      const secondaryEmail = Mapping.parse({ fields: { identityId: 'x', secondaryEmail: 'employee.private' } })
      Object.assign(feed.mapping.fields, { secondaryEmail: secondaryEmail.fields.secondaryEmail })
      await using opened = await open(feed)
      const { world } = opened
      await world.night(staff(20))
      const employee = { id: 'E0003', private: 'p@example.org' }
      await receive(world, { type: 'updated', at: '2026-11-20T02:10:00.000Z', employee })
      await later(world, 6)

      await world.night(change(staff(20), { id: 'E0003', title: 'Lead' }), { asOf: '2026-11-21T01:00:00.000Z' })

      const known = await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0003' })
      expect(known?.entry?.desired).toMatchObject({ secondaryEmail: 'p@example.org', jobTitle: 'Lead' })
    })

    test('about something else are skipped, whatever they contain', async () => {
      const feed = webhookFeed()
      Object.assign(feed.mapping.action ?? {}, { ignore: ['*'] })
      await using opened = await open(feed)
      const { world } = opened
      await world.night(staff(20))

      await receive(world, '{"type":"payslip.ready","at":"2026-11-20T02:10:00.000Z"}')
      await later(world, 6)

      expect(await lastRun(world)).toMatchObject({ feed: 'webhook', state: 'unchanged', counts: { rejected: 0 } })
      expect(await listEvents(world.sync.store.db, { connection: 'acme' })).toMatchObject([{ state: 'settled' }])
    })

    test('are in the person’s history', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20))

      await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T02:10:00.000Z'))
      await later(world, 6)

      const known = await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0003' })
      expect(known?.changes[0]).toMatchObject({ origin: { event: '1', line: 1 }, state: 'confirmed' })
      expect(await listEvents(world.sync.store.db, { connection: 'acme' })).toMatchObject([
        { state: 'settled', bytes: 0 },
      ])
    })
  })

  describe('promise 1: no leaver is lost', () => {
    test('an unreadable event stays, with its reason, and is retried once it is readable', async () => {
      await using opened = await open()
      const { world, client } = opened
      const { db } = world.sync.store
      await world.night(staff(20))
      await receive(world, terminated('E0003', '19.11.2026', '2026-11-20T02:10:00.000Z'))
      await receive(world, terminated('E0004', '2026-11-19', '2026-11-20T02:10:00.000Z'))

      await later(world, 6)

      const run = await lastRun(world)
      expect(run.state).toBe('finished')
      expect(await rejectsOf(db, run.id)).toMatchObject([
        { reject: { event: '1', line: 1, column: 'employee.left', identityId: 'E0003' } },
      ])
      expect(await listEvents(db, { connection: 'acme', state: 'rejected' })).toMatchObject([
        { id: '1', reason: expect.stringMatching(/^item 1: employee\.left: .*is not a date/) },
      ])

      const separatedAt = world.connection.feeds.webhook?.mapping.fields.separatedAt
      Object.assign(separatedAt ?? {}, { format: 'dd.MM.yyyy' })
      await retryEvents(db, { connection: 'acme' })
      await later(world, 6)

      const people = await peopleOn(client)
      expect(people.get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
      expect(people.get('E0004')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
      expect(await listEvents(db, { connection: 'acme', state: 'rejected' })).toEqual([])
    })

    test('an event with a rejected part is never acknowledged, however many items and cells were rejected before it', async () => {
      await using opened = await open(webhookFeed({ events: '/items' }))
      const { world } = opened
      await world.night(staff(20))
      const at = '2026-11-20T02:10:00.000Z'
      const nobody = Array.from({ length: 5001 }, () => ({ type: 'terminated', at, employee: {} }))
      const cells = Array.from({ length: 5001 }, () => updated('E0002', 'Lead', at, { start: '13/13/2020' }))
      const unknown = [{ type: 'resigned', at, employee: { id: 'E0004', left: '2026-11-19' } }]
      const events = [nobody, cells, unknown, [updated('E0005', 'Lead', at)]]
      for (const items of events) await receive(world, JSON.stringify({ items }))
      await later(world, 6)

      const kept = expect.toSatisfy((bytes: number) => bytes > 0)
      expect((await lastRun(world)).counts).toMatchObject({ rejected: 5002, incomplete: 5001, update: 2 })
      expect(await listEvents(world.sync.store.db, { connection: 'acme' })).toMatchObject([
        { state: 'rejected', bytes: kept },
        { state: 'rejected', reason: expect.stringContaining('employee.start'), bytes: kept },
        { state: 'rejected', reason: expect.stringContaining('type'), bytes: kept },
        { state: 'settled', bytes: 0 },
      ])
    })

    test('a departure that arrives after a newer change of the record still separates', async () => {
      await using opened = await open()
      const { world, client } = opened
      await receive(world, { type: 'hired', at: '2026-11-20T02:00:00.000Z', employee: { id: 'E0003', first: 'Ana' } })
      await receive(world, updated('E0003', 'Lead', '2026-11-20T02:30:00.000Z'))
      await later(world, 6)

      await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T02:10:00.000Z'))
      await later(world, 6)
      await receive(world, updated('E0003', 'Former', '2026-11-20T02:40:00.000Z'))
      await later(world, 6)

      expect((await peopleOn(client)).get('E0003')).toMatchObject({
        jobTitle: 'Former',
        separatedAt: '2026-11-19T00:00:00.000Z',
      })
    })

    test('events of a run whose job was lost stay in it', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T02:10:00.000Z'))
      world.clock.now = new Date(world.clock.now.getTime() + 6000)
      await requestEventRuns(world.sync)
      world.jobs.length = 0

      await world.minute()

      expect((await peopleOn(client)).get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    })

    test('events of a run that was cancelled are in the next one', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      await receive(
        world,
        ...Array.from({ length: 6 }, (_, i) => terminated(`E000${i + 1}`, '2026-11-19', '2026-11-20T02:10:00.000Z')),
      )
      await later(world, 6)
      await cancelRun(world.sync, { runId: (await lastRun(world)).id, by: 'ops' })

      await receive(world, updated('E0010', 'Lead', '2026-11-20T02:40:00.000Z'))
      await later(world, 6)
      const { id, digest } = await heldRun(world)
      const updatedAlready = (await peopleOn(client)).get('E0010')?.jobTitle
      await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
      await world.drain()

      expect(updatedAlready).toBe('Lead')
      expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    })

    test.each(firstOf(1, ['cancelled', 'ended by a restore']))(
      'events of a run that was %s are planned again by themselves',
      async (how) => {
        await using opened = await open()
        const { world } = opened
        const { db } = world.sync.store
        await world.night(staff(20))
        await receive(world, ...sixLeavers)
        await later(world, 6)
        const held = await heldRun(world)
        if (how === 'ended by a restore')
          await db.transaction().execute((tx) => prepareRestored(tx, { until: world.clock.now, now: world.clock.now }))
        else await cancelRun(world.sync, { runId: held.id, by: 'ops' })

        await later(world, 60)
        const soon = await lastRun(world)
        await later(world, 300)

        expect(soon).toMatchObject({ id: held.id, state: 'cancelled' })
        expect(await heldRun(world)).toMatchObject({ counts: { leave: 6 } })
      },
    )
  })

  describe('promise 2: no mass mistake', () => {
    test('too many leavers hold the run until an operator decides, and a departure that arrives meanwhile proceeds', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      await receive(world, ...sixLeavers)
      await later(world, 6)
      const held = await lastRun(world)

      await receive(world, terminated('E0007', '2026-11-19', '2026-11-20T02:20:00.000Z'))
      await later(world, 6)
      await later(world, 60)
      const [waiting] = await connectionStates(world.sync.store.db, 'acme')
      const none = [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null)
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()
      await later(world, 6)

      expect(held).toMatchObject({ state: 'held', counts: { leave: 6 } })
      expect(waiting).toMatchObject({ pendingEvents: 6, heldEvents: 6 })
      expect(none.map(({ identityId }) => identityId)).toEqual(['E0007'])
      const leavers = [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null)
      expect(leavers.length).toBe(7)
      expect(await pendingCount(world.sync.store.db, 'acme')).toBe(0)
    })

    test('a run that an operator requests supersedes a held run with a plan of its events and those behind it', {
      tags: ['full'],
    }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      await receive(world, ...sixLeavers)
      await later(world, 6)
      const first = await lastRun(world)
      await receive(world, terminated('E0007', '2026-11-19', '2026-11-20T02:20:00.000Z'))

      world.clock.now = new Date(world.clock.now.getTime() + 1000)
      await requestRun(world.sync, { connection: 'acme', feed: 'webhook', trigger: 'operator' })
      await world.drain()

      expect((await world.runOf(first.id)).state).toBe('superseded')
      expect(await lastRun(world)).toMatchObject({ state: 'held', counts: { leave: 7 } })
      expect((await peopleOn(client)).get('E0001')?.separatedAt).toBeNull()
    })

    test('a held run can be approved even if more events wait than fit into one plan', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      const many = Array.from({ length: 5000 }, (_, i) => updated('E0010', `Title ${i}`, '2026-11-20T02:15:00.000Z'))
      await receive(world, ...sixLeavers)
      await receive(world, ...many)
      await receive(world, terminated('E0007', '2026-11-19', '2026-11-20T02:20:00.000Z'))
      await later(world, 6)
      const held = await heldRun(world)

      await later(world, 6)
      await later(world, 6)
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()
      await later(world, 6)

      expect(held).toMatchObject({ state: 'held', counts: { leave: 6 } })
      const leavers = [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null)
      expect(leavers.length).toBe(7)
    })

    test('many small plans do not evade the limit of a large one', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))

      for (let i = 1; i <= 6; i++) {
        await receive(world, terminated(`E000${i}`, '2026-11-19', `2026-11-20T02:1${i}:00.000Z`))
        await later(world, 6)
      }

      expect(await lastRun(world)).toMatchObject({
        state: 'held',
        reason: expect.stringContaining('within a day by events'),
      })
      const leavers = [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null)
      expect(leavers.length).toBe(5)
    })

    test('a departure that the platform refuses counts for the day once, however many runs carry it', {
      tags: ['full'],
    }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      between(world, (real) => ({
        updateHrisUserIdentity: async (input, options) =>
          input.params.userIdentityId === 'identity-id:E0001'
            ? ({ status: 400, error: { message: 'no', code: null, name: null }, headers: {} } as const)
            : await real.updateHrisUserIdentity(input, options),
      }))
      const at = (minute: number) => `2026-11-20T02:${String(minute).padStart(2, '0')}:00.000Z`
      await receive(world, terminated('E0001', '2026-11-19', at(1)))
      await later(world, 6)
      for (let i = 2; i <= 7; i++) {
        await receive(world, updated(`E001${i}`, 'Lead', at(i)))
        await later(world, 6)
      }

      await receive(world, terminated('E0009', '2026-11-19', at(20)))
      await later(world, 6)

      expect(await lastRun(world)).toMatchObject({ counts: { leave: 2 } })
      expect((await peopleOn(client)).get('E0009')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    })

    test('departures count for the day even if their run was cancelled before they were delivered', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      const down = { status: 500, error: { message: 'down', code: null, name: null }, headers: {} } as const
      between(world, () => ({ updateHrisUserIdentity: async () => down }))
      const departureOf = (identityId: string) => terminated(identityId, '2026-11-19', '2026-11-20T02:10:00.000Z')
      await receive(world, ...['E0001', 'E0002', 'E0003', 'E0004', 'E0005'].map(departureOf))
      await later(world, 6)
      const { id, state } = await lastRun(world)
      await cancelRun(world.sync, { runId: id, by: 'ops' })
      between(world, () => client)

      await receive(world, departureOf('E0006'))
      await later(world, 6)

      expect(state).toBe('delivering')
      const { reason, counts } = await heldRun(world)
      expect(counts).toMatchObject({ leave: 1 })
      expect(reason).toContain('leavers: 6 of 15 people would be separated within a day by events')
    })

    test('the joiners of a first plan do not count for the day', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      const hired = ({ id, first, start }: HrPerson): HrEvent => ({
        type: 'hired',
        at: '2026-11-20T02:01:00.000Z',
        employee: { id, first: first ?? null, start: start ?? null },
      })
      await receive(world, ...staff(30).map(hired))
      await later(world, 6)

      await receive(world, ...staff(31).slice(30).map(hired))
      await later(world, 6)

      expect((await lastRun(world)).state).toBe('finished')
      expect((await peopleOn(client)).size).toBe(31)
    })

    test('e-mail addresses of first plans do not count either', { tags: ['full'] }, async () => {
      await using opened = await open(
        webhookFeed(),
        {},
        { guards: Guards.parse({ emailChanges: { count: 2, share: 0 } }) },
      )
      const { world, client } = opened
      await world.night(staff(20))

      for (const number of [1, 2, 3]) {
        const employee = { id: `E000${number}`, email: `moved${number}@acme.example` }
        await receive(world, { type: 'updated', at: `2026-11-20T02:1${number}:00.000Z`, employee })
        await later(world, 6)
      }
      const held = await lastRun(world)
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()
      world.clock.now = new Date(world.clock.now.getTime() + 24 * 60 * 60_000)
      const employee = { id: 'E0004', email: 'moved4@acme.example' }
      await receive(world, { type: 'updated', at: '2026-11-21T02:14:00.000Z', employee })
      await later(world, 6)

      expect(held).toMatchObject({
        state: 'held',
        reason: 'emailChanges: 3 of 20 people would get another e-mail address within a day by events; the limit is 2',
      })
      expect((await lastRun(world)).state, 'a day later').toBe('finished')
      const moved = [...(await peopleOn(client)).values()].filter(({ email }) => email?.startsWith('moved'))
      expect(moved.length).toBe(4)
    })

    test('a truncated export is held, even if an event has separated the last person of the previous one', async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, terminated('E0020', '2026-11-19', '2026-11-19T12:00:00.000Z'))
      await later(world, 6)

      const run = await world.night(staff(20).slice(0, 17), { asOf: '2026-11-20T01:00:00.000Z' })

      expect(run).toMatchObject({ state: 'held', reason: expect.stringContaining('endMissing') })
    })

    test('the events of a rejected plan become rejected', async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20))
      await receive(
        world,
        ...Array.from({ length: 6 }, (_, i) => terminated(`E000${i + 1}`, '2026-11-19', '2026-11-20T02:10:00.000Z')),
      )
      await later(world, 6)

      await rejectRun(world.sync, { runId: (await lastRun(world)).id, by: 'ops' })

      const events = await listEvents(world.sync.store.db, { connection: 'acme', state: 'rejected' })
      expect(events.length).toBe(6)
      expect(events[0]?.reason).toBe('the plan was rejected')
    })
  })

  test('promise 3: a retraction by an event always waits for a person', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(20))
    await receive(world, { type: 'purged', at: '2026-11-20T02:10:00.000Z', employee: { id: 'E0003' } })

    await later(world, 6)
    const { id, state, digest } = await lastRun(world)
    const before = (await peopleOn(client)).has('E0003')
    await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
    await world.drain()

    expect({ state, before }).toEqual({ state: 'held', before: true })
    expect((await peopleOn(client)).has('E0003')).toBe(false)
  })

  describe('several retractions of one person', () => {
    const person = { connection: 'acme', identityId: 'E0003' }
    const request = { ...person, reason: 'sent in error', by: 'ops' }
    const purged: HrEvent = { type: 'purged', at: '2026-11-20T02:10:00.000Z', employee: { id: 'E0003' } }

    test('holds one at a time, whoever requests it', async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20))
      await receive(world, purged)
      await later(world, 6)
      const { id } = await lastRun(world)

      const beside = retractPerson(world.sync, request)
      await expect(beside).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(`run ${id}`) })
      await rejectRun(world.sync, { runId: id, by: 'ops' })
      const both = await Promise.allSettled([retractPerson(world.sync, request), retractPerson(world.sync, request)])

      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      const held = await listRuns(world.sync.store.db, { connection: 'acme', states: ['held'], limit: 5 })
      expect(held.map(({ options }) => options.retract)).toEqual([
        { identityId: 'E0003', reason: 'sent in error', by: 'ops' },
      ])
    })

    test('delete only once, even if both are approved', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      const first = await retractPerson(world.sync, request)
      await receive(world, purged)
      await later(world, 6)
      const byEvent = await lastRun(world)

      for (const { id, digest } of [byEvent, first]) {
        await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
        await world.drain()
      }

      expect((await peopleOn(client)).has('E0003')).toBe(false)
      expect(await world.runOf(first.id)).toMatchObject({ state: 'finished', sent: { delete: { requests: 0 } } })
      const known = await personOf(world.sync.store.db, person)
      expect(known?.entry?.retracted?.reason).toBe('event 1 says so')
    })
  })

  describe('promise 5: newer facts win', () => {
    test('an export taken at 01:00 never undoes an event of 01:30, whichever is read first', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T01:30:00.000Z'))
      await receive(world, { type: 'hired', at: '2026-11-20T01:30:00.000Z', employee: { id: 'E0099', first: 'New' } })
      await later(world, 6)

      await world.night(staff(20), { asOf: '2026-11-20T01:00:00.000Z' })

      const people = await peopleOn(client)
      expect(people.get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
      expect(people.get('E0099')?.separatedAt).toBeNull()
    })

    test('an event that arrives late does not undo the export that came after it', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(change(staff(20), { id: 'E0003', title: 'Director' }), { asOf: '2026-11-20T01:00:00.000Z' })

      await receive(world, updated('E0003', 'Intern', '2026-11-20T00:30:00.000Z'))
      await later(world, 6)

      expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('Director')
      expect(await lastRun(world)).toMatchObject({ feed: 'webhook', state: 'unchanged' })
    })

    test('an export that is read late states who has left, and does not change what a newer event stated', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, updated('E0003', 'Lead', '2026-11-20T01:30:00.000Z'))
      await receive(world, updated('E0004', 'Lead', '2026-11-20T01:30:00.000Z'))
      await later(world, 6)

      const people = change(staff(20), { id: 'E0003', leavingDate: '2026-11-18' }).filter(({ id }) => id !== 'E0004')
      await world.night(people, { asOf: '2026-11-20T01:00:00.000Z' })

      const stored = await peopleOn(client)
      expect(stored.get('E0003')).toMatchObject({ jobTitle: 'Lead', separatedAt: '2026-11-18T00:00:00.000Z' })
      expect(stored.get('E0004')).toMatchObject({ jobTitle: 'Lead', separatedAt: '2026-11-20T00:00:00.000Z' })
    })

    test('a late event applies to every field that no newer event has set, until a newer export', {
      tags: ['full'],
    }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, updated('E0003', 'Lead', '2026-11-20T00:30:00.000Z'))
      await later(world, 6)

      await receive(world, updated('E0003', 'Intern', '2026-11-20T00:10:00.000Z', { first: 'Anja' }))
      await later(world, 6)
      const meanwhile = (await peopleOn(client)).get('E0003')
      await world.night(change(staff(20), { id: 'E0003', title: 'Lead' }), { asOf: '2026-11-20T01:00:00.000Z' })
      await receive(world, updated('E0003', 'Lead', '2026-11-20T00:45:00.000Z', { first: 'Anka' }))
      await later(world, 6)

      expect(meanwhile).toMatchObject({ jobTitle: 'Lead', firstName: 'Anja' })
      expect((await peopleOn(client)).get('E0003')).toMatchObject({ jobTitle: 'Lead', firstName: 'Person 3' })
    })

    test('events of somebody who is not in the last export apply in their own order', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-20T01:00:00.000Z' })
      await receive(world, { type: 'hired', at: '2026-11-20T00:10:00.000Z', employee: { id: 'E0099', first: 'New' } })
      await later(world, 6)

      await receive(world, terminated('E0099', '2026-11-19', '2026-11-20T00:20:00.000Z'))
      await later(world, 6)

      expect((await peopleOn(client)).get('E0099')).toMatchObject({
        firstName: 'New',
        separatedAt: '2026-11-19T00:00:00.000Z',
      })
    })

    test('the next export applies to that person too', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      const withNew = [{ id: 'E0099', first: 'New', status: 'Active' }, ...staff(20)]
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, { type: 'hired', at: '2026-11-19T00:10:00.000Z', employee: { id: 'E0099', first: 'New' } })
      await later(world, 6)
      await world.night(withNew, { asOf: '2026-11-20T01:00:00.000Z' })

      await receive(world, terminated('E0099', '2026-11-19', '2026-11-20T00:20:00.000Z'))
      await later(world, 6)

      expect((await peopleOn(client)).get('E0099')?.separatedAt).toBeNull()
    })
  })

  test('an export whose silence means nothing applies only to the people whom it lists', {
    tags: ['full'],
  }, async () => {
    await using opened = await open(webhookFeed(), { absence: 'ignore' })
    const { world, client } = opened
    await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
    await world.night(without(staff(20), 'E0003'), { asOf: '2026-11-20T01:00:00.000Z' })
    await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T00:20:00.000Z'))
    await receive(world, terminated('E0004', '2026-11-19', '2026-11-20T00:20:00.000Z'))

    await later(world, 6)

    const stored = await peopleOn(client)
    expect(stored.get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    expect(stored.get('E0004')?.separatedAt).toBeNull()
  })

  test('an approved older export applies to somebody who is not in the newer one', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, client } = opened
    const person = { id: 'E0099', email: 'e99@acme.example', first: 'New', title: 'Engineer', start: '2026-11-18' }
    await world.night(staff(20), { asOf: '2026-11-20T01:00:00.000Z' })
    await receive(world, { type: 'hired', at: '2026-11-18T00:10:00.000Z', employee: person })
    await later(world, 6)
    const held = await world.night([{ ...person, status: 'Active' }, ...staff(20)], {
      asOf: '2026-11-19T01:00:00.000Z',
    })
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })

    await receive(world, updated('E0099', 'Intern', '2026-11-18T12:00:00.000Z'))
    await later(world, 6)

    expect(held.state).toBe('held')
    expect((await peopleOn(client)).get('E0099')?.jobTitle).toBe('Engineer')
  })

  test('an approved older export does not change the known end and size of the newer one', async () => {
    await using opened = await open()
    const { world } = opened
    const accepted = () => acceptedSource(world.sync.store.db, 'acme')
    await world.night(staff(20), { asOf: '2026-11-20T01:00:00.000Z' })
    const before = await accepted()
    const held = await world.night(staff(19), { asOf: '2026-11-19T01:00:00.000Z' })

    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
    await world.drain()

    expect(held.reason).toContain('staleExport')
    expect(before).toMatchObject({ rows: 20, asOf: '2026-11-20T01:00:00.000Z' })
    expect(await accepted()).toEqual(before)
  })

  describe('a held plan of one feed', () => {
    const behind = '2026-11-19T12:00:00.000Z'
    const newerTitle = updated('E0010', 'Lead', '2026-11-20T01:30:00.000Z')

    /** The run that took the place of the held one. */
    async function anewOf(world: World, feed: 'source' | 'webhook') {
      const runs = await listRuns(world.sync.store.db, { connection: 'acme', limit: 10 })
      const anew = runs.find((run) => run.feed === feed && run.state !== 'superseded' && !run.options.retract)
      if (!anew) throw new Error('no run')
      return anew
    }

    /** Approves the held plan. Returns the run that delivers it: another one if the plan has to be made again. */
    async function approveAnew(world: World, feed: 'source' | 'webhook') {
      const { id, digest } = await anewOf(world, feed)
      const run = await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
      await world.drain()
      return await world.runOf(run.id)
    }

    test('is made again by a requested run, based on what that accepts', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, ...sixLeavers)
      await later(world, 6)
      const held = await lastRun(world)

      const people = change(staff(20), { id: 'E0001', title: 'Moved' })
      const export_ = await world.night(people, { asOf: '2026-11-20T01:00:00.000Z' })
      const { id: newer } = await anewOf(world, 'webhook')
      const approval = approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })

      await expect(approval).rejects.toThrow(
        `run ${held.id} is superseded, not held: a newer plan exists: run ${newer}`,
      )
      expect(held.state).toBe('held')
      expect(export_.state).toBe('finished')
      expect(await anewOf(world, 'webhook')).toMatchObject({ state: 'held', counts: { leave: 6 } })
      await approveAnew(world, 'webhook')
      expect((await peopleOn(client)).get('E0001')).toMatchObject({
        jobTitle: 'Moved',
        separatedAt: '2026-11-19T00:00:00.000Z',
      })
      expect(await pendingCount(world.sync.store.db, 'acme')).toBe(0)
    })

    test('is made again if a newer export without news was accepted', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, ...sixLeavers)
      await later(world, 6)
      const held = await lastRun(world)

      await world.night(staff(20), { asOf: '2026-11-20T03:00:00.000Z' })

      expect((await world.runOf(held.id)).state).toBe('superseded')
      expect(await anewOf(world, 'webhook')).toMatchObject({ state: 'unchanged' })
      expect((await peopleOn(client)).get('E0001')?.separatedAt).toBeNull()
      expect(await pendingCount(world.sync.store.db, 'acme')).toBe(0)
    })

    test('is not sent once an export was accepted: an approval makes it again, and holds it again if it differs', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, ...sixLeavers)
      await later(world, 6)
      const { id } = await lastRun(world)
      world.setExport(change(staff(20), { id: 'E0001', title: 'Moved' }), '2026-11-20T01:00:00.000Z')
      const night = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
      await world.drain()
      const held = await world.runOf(id)

      const again = await approveAnew(world, 'webhook')
      const nothing = (await peopleOn(client)).get('E0001')?.separatedAt
      await approveAnew(world, 'webhook')

      const moved = `facts about 6 of its people were accepted since, by run ${night.id}`
      expect(held).toMatchObject({ state: 'held', moved })
      expect((await world.runOf(id)).state).toBe('superseded')
      expect(again).toMatchObject({ state: 'held', counts: { leave: 6 } })
      expect(again.reason).toContain(`the limit is 5; made again after ops approved run ${id}: ${moved}`)
      expect(nothing).toBeNull()
      expect((await peopleOn(client)).get('E0001')).toMatchObject({
        jobTitle: 'Moved',
        separatedAt: '2026-11-19T00:00:00.000Z',
      })
    })

    test('is sent with the approval if it is made again without a difference', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, ...sixLeavers)
      await later(world, 6)
      world.setExport(change(staff(20), { id: 'E0010', title: 'Moved' }), '2026-11-20T01:00:00.000Z')
      await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
      await world.drain()

      const again = await approveAnew(world, 'webhook')

      expect(again).toMatchObject({ state: 'finished', decidedBy: 'ops', counts: { leave: 6 } })
      expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    })

    test('stays held if it cannot be made again, so that nothing is lost', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      const held = await world.night(staff(20).slice(6), { asOf: '2026-11-20T01:00:00.000Z' })
      await receive(world, terminated('E0001', '2026-11-19', '2026-11-20T01:30:00.000Z'))
      await later(world, 6)
      const sound = world.sync.connections.get('acme')?.feeds.source?.connector.open
      const connector = world.connection.feeds.source?.connector ?? {}
      Object.assign(connector, { open: () => Promise.reject(new Failure('source_unreadable', 'there is no export')) })

      const failed = await approveAnew(world, 'source')
      const stays = await world.runOf(held.id)
      Object.assign(connector, { open: sound })
      world.clock.now = new Date(world.clock.now.getTime() + 1000)
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()
      await approveAnew(world, 'source')

      expect(failed).toMatchObject({ state: 'failed', reason: 'there is no export' })
      expect(stays.state).toBe('held')
      const leavers = [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null)
      expect(leavers.length).toBe(6)
    })

    test('does not infer the date of a leaver that an older event has stated since', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-18T01:00:00.000Z' })
      const held = await world.night(staff(20).slice(7), {
        ...{ asOf: '2026-11-20T01:00:00.000Z', full: true, verify: true },
      })
      const stated = terminated('E0001', '2026-11-17', '2026-11-19T12:00:00.000Z')

      await receive(world, stated)
      await later(world, 6)

      const anew = await approveAnew(world, 'source')
      expect(held).toMatchObject({ state: 'held', counts: { leave: 7 } })
      expect((await world.runOf(held.id)).state).toBe('superseded')
      expect(anew).toMatchObject({ state: 'held', options: { full: true, verify: true }, counts: { leave: 6 } })
      await approveAnew(world, 'source')
      const people = await peopleOn(client)
      expect(people.get('E0001')?.separatedAt).toBe('2026-11-17T00:00:00.000Z')
      expect(people.get('E0002')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
    })

    test('loses no leaver about whom an event has stated something else since', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      const remaining = staff(20)
        .slice(6)
        .map((person) => ({ ...person, title: 'Moved' }))
      const held = await world.night(remaining, { asOf: '2026-11-20T01:00:00.000Z' })
      await receive(world, updated('E0001', 'Was here', '2026-11-20T01:30:00.000Z'))
      await receive(world, terminated('E0010', '2026-11-20', '2026-11-20T01:30:00.000Z'))
      await later(world, 6)
      await approveAnew(world, 'source')
      await approveAnew(world, 'source')

      const people = await peopleOn(client)
      expect(held.state).toBe('held')
      expect(people.get('E0001')).toMatchObject({ jobTitle: 'Was here', separatedAt: '2026-11-20T00:00:00.000Z' })
      expect(people.get('E0002')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
      expect(people.get('E0010')).toMatchObject({ jobTitle: 'Moved', separatedAt: '2026-11-20T00:00:00.000Z' })
      expect(people.get('E0011')?.jobTitle).toBe('Moved')
    })

    test('of an export is outdated if older facts were accepted, also about people without news in it', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-18T01:00:00.000Z' })
      const held = await world.night(staff(20).slice(6), { asOf: '2026-11-20T01:00:00.000Z' })

      await receive(world, updated('E0010', 'Once', '2026-11-19T12:00:00.000Z'))
      await receive(world, { type: 'hired', at: '2026-11-19T12:00:00.000Z', employee: { id: 'E0099', first: 'New' } })
      await later(world, 6)
      await approveAnew(world, 'source')
      await approveAnew(world, 'source')

      const people = await peopleOn(client)
      expect((await world.runOf(held.id)).state).toBe('superseded')
      expect(people.get('E0010')).toMatchObject({ jobTitle: 'Engineer', separatedAt: null })
      expect(people.get('E0099')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
    })

    test('of an export is outdated also if an older fact about them came behind a newer one', {
      tags: ['full'],
    }, async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20), { asOf: '2026-11-18T01:00:00.000Z' })
      await receive(world, updated('E0010', 'Lead', '2026-11-20T01:30:00.000Z'))
      await later(world, 6)
      const held = await world.night(staff(20).slice(6), { asOf: '2026-11-20T01:00:00.000Z' })

      await receive(world, updated('E0010', 'Once', '2026-11-19T12:00:00.000Z', { first: 'Once' }))
      await later(world, 6)
      await approveAnew(world, 'source')

      expect((await world.runOf(held.id)).state).toBe('superseded')
    })

    test.each(
      firstOf(1, [
        ['the event changes nothing yet', '', false, terminated('E0001', '2026-12-31', '2026-11-20T01:30:00.000Z')],
        ['the export changes nothing yet', '2026-12-31', false, newerTitle],
        ['the export is sent to everybody once more', '', true, newerTitle],
      ]),
    )('of an export is outdated also if a newer event was accepted and %s', async (_, leavingDate, full, event) => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      const people = change(staff(20).slice(6), { id: 'E0010', leavingDate: leavingDate })
      const held = await world.night(people, { asOf: '2026-11-20T01:00:00.000Z', full })

      await receive(world, event)
      await later(world, 6)

      expect(await world.runOf(held.id)).toMatchObject({ state: 'held', moved: expect.stringContaining('1 person') })
    })

    test.each<readonly [string, HrEvent, string | null]>(
      firstOf(2, [
        ['changes it if it states that a person has left', terminated('E0010', '2026-11-19', behind), '1 person'],
        [
          'does not change it if it states that a person is employed',
          { type: 'hired', at: behind, employee: { id: 'E0010' } },
          null,
        ],
        [
          'does not change it if a field stays',
          { type: 'updated', at: behind, employee: { id: 'E0010', first: 'Person 10' } },
          null,
        ],
      ]),
    )('of an export meets an older fact behind a newer one, which %s', async (_, event, moved) => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20), { asOf: '2026-11-18T01:00:00.000Z' })
      await receive(world, newerTitle)
      await later(world, 6)
      const held = await world.night(staff(20).slice(6), { asOf: '2026-11-20T01:00:00.000Z' })

      await receive(world, event)
      await later(world, 6)

      const expected = moved === null ? null : expect.stringContaining(moved)
      expect(await world.runOf(held.id)).toMatchObject({ state: 'held', moved: expected })
    })

    test('of events stays valid if older facts about others were accepted', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      await receive(world, ...sixLeavers)
      await later(world, 6)
      const held = await lastRun(world)

      await receive(world, updated('E0010', 'Lead', behind))
      await later(world, 6)

      expect(await world.runOf(held.id)).toMatchObject({ state: 'held', moved: null })
    })

    test('stays valid if only facts about others were accepted', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      const held = await world.night(staff(20).slice(6), { asOf: '2026-11-20T01:00:00.000Z' })

      await receive(world, updated('E0010', 'Lead', '2026-11-20T01:30:00.000Z'))
      await later(world, 6)
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()

      const people = await peopleOn(client)
      expect(people.get('E0001')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
      expect(people.get('E0010')).toMatchObject({ jobTitle: 'Lead', separatedAt: null })
    })

    test('does not retract a person again whose retraction was withdrawn since', async () => {
      await using opened = await open()
      const { world, client } = opened
      const person = { connection: 'acme', identityId: 'E0007' }
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      const request = await retractPerson(world.sync, { ...person, reason: 'sent in error', by: 'ops' })
      await approveRun(world.sync, { runId: request.id, digest: request.digest ?? '', by: 'ops' })
      await cancelRun(world.sync, { runId: request.id, by: 'ops' })
      const held = await world.night(staff(20).slice(6), { asOf: '2026-11-20T01:00:00.000Z' })

      await restorePerson(world.sync, { ...person, by: 'ops' })
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()

      expect(held).toMatchObject({ state: 'held', counts: { leave: 6, retract: 1 } })
      expect((await personOf(world.sync.store.db, person))?.entry?.retracted).toBeNull()
      expect((await peopleOn(client)).has('E0007')).toBe(true)
      expect((await world.runOf(held.id)).sent.delete).toEqual({ requests: 0, people: 0 })
    })

    test('is made again without a person who was retracted since; a requested retraction continues to wait', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
      const retraction = { connection: 'acme', reason: 'sent in error', by: 'ops' }
      const first = await retractPerson(world.sync, { ...retraction, identityId: 'E0001' })
      const other = await retractPerson(world.sync, { ...retraction, identityId: 'E0002' })
      const held = await world.night(staff(20).slice(8), { asOf: '2026-11-20T01:00:00.000Z' })

      await approveRun(world.sync, { runId: first.id, digest: first.digest ?? '', by: 'ops' })
      await world.drain()
      const again = await approveAnew(world, 'source')

      expect((await world.runOf(held.id)).state).toBe('superseded')
      expect((await world.runOf(other.id)).state).toBe('held')
      expect(again).toMatchObject({ state: 'held', counts: { leave: 7 } })
      await approveAnew(world, 'source')
      const people = await peopleOn(client)
      expect(people.has('E0001')).toBe(false)
      expect(people.get('E0002')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
      expect(await world.runOf(other.id)).toMatchObject({ state: 'held', moved: null })
    })
  })
})
