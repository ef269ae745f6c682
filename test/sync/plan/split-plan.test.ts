import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDecider } from '../../../src/identity/decide/decider.ts'
import { eventRows } from '../../../src/identity/decide/row-models.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { rejectsOf } from '../../../src/store/history/history.ts'
import { pendingCount } from '../../../src/store/inbox/inbox.ts'
import { listEvents, retryEvents } from '../../../src/store/inbox/review.ts'
import { stagePeople } from '../../../src/store/plans/plans.ts'
import { getRun, listRuns, type Run } from '../../../src/store/runs/runs.ts'
import { decidePage } from '../../../src/sync/plan/decide-people.ts'
import { splitPlan } from '../../../src/sync/plan/split-plan.ts'
import { memoryStage } from '../../../src/sync/plan/stage.ts'
import { approveRun, cancelRun, classifyValue, rejectRun, requestRun } from '../../../src/sync/sync.ts'
import { type HrEvent, heldRun, later, receive, terminated, updated, webhookFeed } from '../../helpers/events.ts'
import { entry, nightly, observation } from '../../helpers/records.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const at = '2026-11-20T02:10:00.000Z'
const purged = (id: string): HrEvent => ({ type: 'purged', at, employee: { id } })
const readdressed = (id: string, email = `new-${id}@acme.example`, time = at): HrEvent => ({
  type: 'updated',
  at: time,
  employee: { id, email },
})
const twoEmails = Guards.parse({ emailChanges: { count: 2, share: 0 } })

describe.each(databases)('on $name', ({ createDatabase }) => {
  async function open({ guards = Guards.parse({}), webhook = webhookFeed() } = {}) {
    const stack = new AsyncDisposableStack()
    const { at: database } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(await openWorld({ at: database, client, webhook, connection: { guards } }))
    await world.night(staff(20))
    return {
      world,
      person: async (id: string) => (await peopleOn(client)).get(id),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }

  async function approve(world: World, { id, digest }: Run): Promise<Run> {
    const run = await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
    await world.drain()
    return await world.runOf(run.id)
  }

  /** Events that come one after the other, so that they are listed like that. */
  async function inOrder(world: World, ...events: readonly (HrEvent | string)[]): Promise<void> {
    for (const event of events) await receive(world, event)
  }

  const eventsOf = async (world: World) =>
    (await listEvents(world.sync.store.db, { connection: 'acme' })).map(({ state }) => state)

  const runsOf = async (world: World) =>
    (await listRuns(world.sync.store.db, { connection: 'acme', limit: 50 })).filter(({ feed }) => feed === 'webhook')

  const asideRun = async (world: World) => (await runsOf(world)).find((run) => run.heldPart !== null)

  test('of a retraction, an unknown action and a departure in one delivery, the departure proceeds', async () => {
    await using opened = await open()
    const { world, person } = opened
    const unknown = JSON.stringify({ type: 'promoted', at, employee: { id: 'E0005' } })
    await inOrder(world, purged('E0003'), unknown, terminated('E0004', '2026-11-19', at), updated('E0006', 'Lead', at))

    await later(world, 6)
    const held = await heldRun(world)
    const between = [(await person('E0003'))?.identityId, (await person('E0004'))?.separatedAt]
    const [retraction, rejected, departure, change] = await listEvents(world.sync.store.db, { connection: 'acme' })
    await approve(world, held)

    expect(between).toEqual(['E0003', '2026-11-19T00:00:00.000Z'])
    expect((await person('E0006'))?.jobTitle).toBe('Lead')
    expect(held).toMatchObject({ counts: { retract: 1, leave: 0, update: 0 }, trigger: 'webhook' })
    expect(held.reason).toBe('retractions: 1 person would be deleted, which always waits for an approval')
    expect(retraction).toMatchObject({ state: 'held', runId: held.id, reason: held.reason })
    expect(rejected).toMatchObject({ state: 'rejected', reason: expect.stringContaining('type') })
    expect([departure?.state, change?.state]).toEqual(['settled', 'settled'])
    expect(await asideRun(world)).toMatchObject({
      heldPart: held.id,
      state: 'finished',
      counts: { leave: 1, update: 1 },
    })
    expect(await person('E0003')).toBeUndefined()
    expect(await eventsOf(world)).toEqual(['settled', 'rejected', 'settled', 'settled'])
  })

  test('an event that states a field twice is rejected, and one with another spelling has its own run', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world, person } = opened
    const twice = { id: 'E0003', left: '2026-11-19', Left: '2026-11-19' }
    await inOrder(
      world,
      terminated('E0004', '2026-11-19', at),
      { type: 'terminated', at, employee: twice },
      { type: 'terminated', at, employee: { id: 'E0005', LEFT: '2026-11-19' } },
    )

    await later(world, 6)
    const first = [(await person('E0004'))?.separatedAt, await eventsOf(world)]
    await later(world, 6)

    expect(first).toEqual(['2026-11-19T00:00:00.000Z', ['settled', 'rejected', 'pending']])
    expect((await person('E0005'))?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    expect(await listEvents(world.sync.store.db, { connection: 'acme', state: 'rejected' })).toMatchObject([
      { reason: expect.stringContaining('employee.Left') },
    ])
  })

  test('unusable rows beyond the limit hold nothing but themselves', async () => {
    await using opened = await open()
    const { world, person } = opened
    const unknown = Array.from({ length: 8 }, (_, i) =>
      JSON.stringify({ type: 'promoted', at, employee: { id: `E001${i}` } }),
    )
    await receive(world, ...unknown, terminated('E0004', '2026-11-19', at))

    await later(world, 6)

    expect((await person('E0004'))?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    expect((await eventsOf(world)).filter((state) => state === 'rejected').length).toBe(8)
  })

  test('every departure stays in the plan even if more people wait than fit on a page', async () => {
    await using opened = await open()
    const { db } = opened.world.sync.store
    const context = nightly({ mode: 'delta', asOf: '2026-11-20T02:30:00.000Z' })
    const rules = { context, acceptedAsOf: null, rows: eventRows, rejectsKept: 10 }
    const [stage, decider] = [memoryStage(), createDecider(rules)]
    const leavers = ['E0005', 'E0006', 'E0007']
    for (const id of staff(7).map((person) => person.id)) {
      const event = { asOf: at, hasEmploymentCell: false, leavingDate: undefined }
      decider.book.add(observation(id, { ...event, fields: { email: `new-${id}@acme.example` } }))
      if (leavers.includes(id)) decider.book.add(observation(id, { ...event, fields: {}, leavingDate: '2026-11-19' }))
    }
    const staging = { db, connection: 'acme', stage, decider, isFirst: false, signal: new AbortController().signal }
    await decidePage(staging, decider.book.lastPage())
    const verdicts = [{ name: 'emailChanges', actual: 7, limit: 2, ok: false }]

    const result = await splitPlan(staging, { verdicts, keyChanges: [], queuesBehindHeld: false, pageSize: 2 })
    const staged = (await Array.fromAsync(stage.changes())).flat().map(({ change }) => [change.identityId, change.kind])

    expect(staged).toEqual(leavers.map((id) => [id, 'leave']))
    expect(decider.counts()).toMatchObject({ leave: 3, update: 0 })
    expect(result).toMatchObject({ kind: 'part', part: { counts: { update: 7 } } })
  })

  test('too many people with both a departure and a retraction wait, and none of them is separated', async () => {
    await using opened = await open()
    const { world, person } = opened
    const people = staff(6)
    await receive(world, ...people.map(({ id }) => terminated(id, '2026-11-19', at)))
    await receive(world, ...people.map(({ id }) => ({ ...purged(id), at: '2026-11-20T02:20:00.000Z' })))

    await later(world, 6)

    const held = await heldRun(world)
    expect(held.reason).toContain('leavers: 6 of 20 people would be separated')
    expect((await person('E0001'))?.separatedAt).toBeNull()
  })

  test('too many e-mail changes wait, but departures and other changes proceed', async () => {
    await using opened = await open({ guards: twoEmails })
    const { world, person } = opened
    const moved = ['E0001', 'E0002', 'E0003'].map((id) => readdressed(id))
    await receive(world, ...moved, terminated('E0003', '2026-11-19', '2026-11-20T02:20:00.000Z'))
    await receive(world, updated('E0006', 'Lead', at))

    await later(world, 6)
    const held = await heldRun(world)
    const between = await person('E0003')
    const again = await approve(world, held)
    const anew = again.state === 'held' ? await approve(world, again) : again

    expect(between).toMatchObject({ separatedAt: '2026-11-19T00:00:00.000Z', email: 'e3@acme.example' })
    expect((await person('E0006'))?.jobTitle).toBe('Lead')
    expect(held).toMatchObject({ counts: { update: 3, leave: 0 }, moved: expect.stringContaining('1 person') })
    expect(anew.state).toBe('finished')
    expect((await person('E0001'))?.email).toBe('new-e0001@acme.example')
    expect((await person('E0003'))?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    expect(await pendingCount(world.sync.store.db, 'acme')).toBe(0)
  })

  test('too many departures wait, and everything else proceeds', async () => {
    await using opened = await open()
    const { world, person } = opened
    const leavers = staff(6).map(({ id }) => terminated(id, '2026-11-19', at))
    await receive(world, ...leavers, updated('E0010', 'Lead', at))

    await later(world, 6)
    const held = await heldRun(world)
    const none = (await person('E0001'))?.separatedAt
    await approve(world, held)

    expect(held).toMatchObject({ counts: { leave: 6, update: 0 } })
    expect(none).toBeNull()
    expect((await person('E0010'))?.jobTitle).toBe('Lead')
    expect((await person('E0001'))?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
  })

  test('people who exceed a limit for which a run is held queue behind that run', async () => {
    await using opened = await open({ guards: twoEmails })
    const { world, person } = opened
    await receive(world, ...['E0001', 'E0002', 'E0003'].map((id) => readdressed(id)))
    await later(world, 6)
    const held = await heldRun(world)
    await receive(world, ...['E0004', 'E0005', 'E0006'].map((id) => readdressed(id)), updated('E0010', 'Lead', at))

    await later(world, 6)
    const lone = await runsOf(world)
    const [, , , behind] = await listEvents(world.sync.store.db, { connection: 'acme' })
    const [waiting] = await connectionStates(world.sync.store.db, 'acme')
    await approve(world, held)
    await later(world, 6)
    const next = await heldRun(world)
    await approve(world, next)

    expect(lone.filter(({ state }) => state === 'held').map(({ id }) => id)).toEqual([held.id])
    expect(behind).toMatchObject({
      state: 'held',
      runId: held.id,
      reason: expect.stringContaining(`behind run ${held.id}`),
    })
    expect(waiting).toMatchObject({ pendingEvents: 6, heldEvents: 6 })
    expect(next.id).not.toBe(held.id)
    expect((await person('E0004'))?.email).toBe('new-e0004@acme.example')
    expect((await person('E0010'))?.jobTitle).toBe('Lead')
    expect(await pendingCount(world.sync.store.db, 'acme')).toBe(0)
  })

  test('people who exceed another limit have their own held run, and so has every retraction', {
    tags: ['full'],
  }, async () => {
    await using opened = await open({ guards: twoEmails })
    const { world } = opened
    await receive(world, purged('E0010'))
    await later(world, 6)
    await receive(world, ...['E0001', 'E0002', 'E0003'].map((id) => readdressed(id)))
    await later(world, 6)
    await receive(world, purged('E0011'), ...['E0004', 'E0005', 'E0006'].map((id) => readdressed(id)))
    await later(world, 6)

    const held = (await runsOf(world)).filter(({ state }) => state === 'held')

    expect(held.map(({ counts }) => [counts?.retract, counts?.update])).toEqual([
      [1, 3],
      [0, 3],
      [1, 0],
    ])
  })

  describe('two held plans', () => {
    async function openTwo() {
      const opened = await open({ guards: twoEmails })
      const { world } = opened
      await receive(world, purged('E0010'))
      await later(world, 6)
      const first = await heldRun(world)
      await receive(world, ...['E0001', 'E0002', 'E0003'].map((id) => readdressed(id)))
      await later(world, 6)
      const second = await heldRun(world)
      const approving = ({ id, digest }: Run) => approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
      return { world, first, second, approving, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
    }

    test('can be approved one after the other', async () => {
      await using opened = await openTwo()
      const { world, first, second, approving } = opened

      await approving(first)
      const meanwhile = approving(second)

      await expect(meanwhile).rejects.toThrow(`run ${first.id} of "acme" is active; approve when it has ended`)
      await world.drain()
      expect((await approve(world, second)).state).toBe('finished')
    })

    test('can be made again one after the other', { tags: ['full'] }, async () => {
      await using opened = await openTwo()
      const { world, first, second, approving } = opened
      const before = '2026-11-20T02:05:00.000Z'
      await receive(world, terminated('E0010', '2026-11-19', before), terminated('E0001', '2026-11-19', before))
      await later(world, 6)

      await approving(first)
      const meanwhile = approving(second)

      await expect(meanwhile).rejects.toThrow(`run ${first.id} is being planned again; approve when that has ended`)
      await world.drain()
      expect((await approve(world, second)).reason).toContain(`made again after ops approved run ${second.id}`)
    })
  })

  describe('a person who waits in a held plan', () => {
    async function openHeld() {
      const opened = await open()
      const { world } = opened
      await receive(world, purged('E0003'))
      await later(world, 6)
      return { ...opened, held: await heldRun(world), [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
    }

    test('waits with later events, while events about others proceed', async () => {
      await using opened = await openHeld()
      const { world, person, held } = opened
      await receive(world, updated('E0003', 'Lead', '2026-11-20T02:20:00.000Z'), updated('E0006', 'Lead', at))

      await later(world, 6)
      const [, joined] = await listEvents(world.sync.store.db, { connection: 'acme' })
      const between = [(await person('E0003'))?.jobTitle, (await person('E0006'))?.jobTitle]
      const { state, digest } = await world.runOf(held.id)

      expect(between).toEqual(['Engineer', 'Lead'])
      expect(joined).toMatchObject({
        state: 'held',
        runId: held.id,
        reason: expect.stringContaining('the same person'),
      })
      expect({ state, digest }).toEqual({ state: 'held', digest: held.digest })
    })

    test('waits with later events even if the held plan changes nothing about the person', {
      tags: ['full'],
    }, async () => {
      await using opened = await openHeld()
      const { world, held } = opened
      const staged = { identityId: 'E0007', entry: entry('E0007'), change: null, origin: null }
      await stagePeople(world.sync.store.db, held.id, [staged])
      await receive(world, updated('E0007', 'Lead', '2026-11-20T02:20:00.000Z'))

      await later(world, 6)

      expect(await eventsOf(world)).toEqual(['held', 'held'])
    })

    test('is planned with the later event once the held plan is rejected', async () => {
      await using opened = await openHeld()
      const { world, person, held } = opened
      await receive(world, updated('E0003', 'Lead', '2026-11-20T02:20:00.000Z'))
      await later(world, 6)

      await rejectRun(world.sync, { runId: held.id, by: 'ops' })
      await later(world, 6)

      expect(await eventsOf(world)).toEqual(['rejected', 'settled'])
      expect((await person('E0003'))?.jobTitle).toBe('Lead')
    })

    test('is planned with the later event and the held one once the held plan is cancelled', {
      tags: ['full'],
    }, async () => {
      await using opened = await openHeld()
      const { world, person, held } = opened
      await receive(world, updated('E0003', 'Lead', '2026-11-20T02:20:00.000Z'))
      await later(world, 6)

      await cancelRun(world.sync, { runId: held.id, by: 'ops' })
      await receive(world, updated('E0006', 'Lead', at))
      await later(world, 6)

      expect(await eventsOf(world)).toEqual(['settled', 'settled', 'settled'])
      expect((await person('E0003'))?.jobTitle, 'a newer fact takes a retraction back').toBe('Lead')
    })

    test('leaves without waiting, and the held plan is made again on approval', async () => {
      await using opened = await openHeld()
      const { world, person, held } = opened
      await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T02:05:00.000Z'))

      await later(world, 6)
      const between = (await person('E0003'))?.separatedAt
      const moved = await world.runOf(held.id)
      const again = await approve(world, held)

      expect(between).toBe('2026-11-19T00:00:00.000Z')
      expect(moved).toMatchObject({ state: 'held', moved: expect.stringContaining('facts about 1 person') })
      expect(again).toMatchObject({ state: 'finished', decidedBy: 'ops', counts: { retract: 1 } })
      expect((await world.runOf(held.id)).state).toBe('superseded')
      expect(await person('E0003')).toBeUndefined()
      expect(await eventsOf(world)).toEqual(['settled', 'settled'])
    })

    test('a plan that was rejected while it was made again sends nothing', async () => {
      await using opened = await openHeld()
      const { world, person, held } = opened
      await receive(world, terminated('E0003', '2026-11-19', '2026-11-20T02:05:00.000Z'))
      await later(world, 6)

      const again = await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await rejectRun(world.sync, { runId: held.id, by: 'ana' })
      await world.drain()

      expect(await world.runOf(again.id)).toMatchObject({
        state: 'failed',
        reason: expect.stringContaining('decided meanwhile'),
      })
      expect((await person('E0003'))?.identityId).toBe('E0003')
      expect((await eventsOf(world))[0]).toBe('rejected')
    })
  })

  test('the people of an event whom no guard stops proceed, and the event is closed last', async () => {
    await using opened = await open({ webhook: webhookFeed({ events: '/items', time: '/at' }) })
    const { world, person } = opened
    const items = [
      { type: 'purged', employee: { id: 'E0003' } },
      { type: 'terminated', employee: { id: 'E0004', left: '2026-11-19' } },
      { type: 'promoted', employee: { id: 'E0005' } },
    ]
    await receive(world, JSON.stringify({ at, items }))

    await later(world, 6)
    const held = await heldRun(world)
    const between = [(await person('E0004'))?.separatedAt, await eventsOf(world)]
    await approve(world, held)

    expect(between).toEqual(['2026-11-19T00:00:00.000Z', ['held']])
    expect(await person('E0003')).toBeUndefined()
    expect(await rejectsOf(world.sync.store.db, held.id)).toMatchObject([{ reject: { line: 3 } }])
    expect(await eventsOf(world)).toEqual(['rejected'])
  })

  test('the rest of an event with an unlisted status is used, others proceed, and it is retried once the status is classified', async () => {
    const webhook = webhookFeed()
    const status = { column: 'employee.state', optional: true, leftWhen: ['Left'], employedWhen: ['Active'] }
    await using opened = await open({ webhook: { ...webhook, mapping: Mapping.parse({ ...webhook.mapping, status }) } })
    const { world, person } = opened
    const leaver = { id: 'E0003', title: 'Lead', state: 'Exited' }
    await inOrder(world, { type: 'updated', at, employee: leaver }, terminated('E0004', '2026-11-19', at))

    await later(world, 6)
    const before = [await person('E0003'), await person('E0004')]
    const [unclassed] = await listEvents(world.sync.store.db, { connection: 'acme' })
    await classifyValue(world.sync, { connection: 'acme', value: 'exited', meaning: 'left', by: 'ops' })
    await retryEvents(world.sync.store.db, { connection: 'acme' })
    await later(world, 6)

    expect(before).toMatchObject([{ jobTitle: 'Lead', separatedAt: null }, { separatedAt: '2026-11-19T00:00:00.000Z' }])
    expect(unclassed).toMatchObject({
      state: 'rejected',
      reason: expect.stringContaining('listed neither in leftWhen'),
    })
    expect((await person('E0003'))?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
    expect(await eventsOf(world)).toEqual(['settled', 'settled'])
  })

  test('an event about several people waits behind the run that holds one of them', { tags: ['full'] }, async () => {
    await using opened = await open({ webhook: webhookFeed({ events: '/items', time: '/at' }) })
    const { world } = opened
    const retraction = { type: 'purged', employee: { id: 'E0003' } }
    await receive(world, JSON.stringify({ at, items: [retraction] }))
    await later(world, 6)
    const held = await heldRun(world)
    const items = [
      { type: 'purged', employee: { id: 'E0004' } },
      { type: 'updated', employee: { id: 'E0003', title: 'Lead' } },
    ]
    await receive(world, JSON.stringify({ at, items }))

    await later(world, 6)
    const [, joined] = await listEvents(world.sync.store.db, { connection: 'acme' })

    expect(joined).toMatchObject({ state: 'held', runId: held.id })
  })

  test('unreadable events are closed while others wait', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await inOrder(world, purged('E0003'), JSON.stringify({ type: 'promoted', at, employee: { id: 'E0005' } }))

    await later(world, 6)
    const held = await heldRun(world)

    expect(held.counts).toMatchObject({ retract: 1, rejected: 0 })
    expect(await asideRun(world)).toMatchObject({ heldPart: held.id, counts: { retract: 0, rejected: 1 } })
    expect(await eventsOf(world)).toEqual(['held', 'rejected'])
  })

  test('events without news are closed while others wait', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await inOrder(world, purged('E0003'), updated('E0006', 'Engineer', at))

    await later(world, 6)

    expect(await eventsOf(world)).toEqual(['held', 'settled'])
  })

  test('if all people of a run wait, the run itself is held', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await receive(world, purged('E0003'))

    await later(world, 6)

    expect(await runsOf(world)).toMatchObject([{ state: 'held', heldPart: null, counts: { retract: 1 } }])
    expect(await eventsOf(world)).toEqual(['held'])
  })

  test('a run that an operator requests plans everything that waits again', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await receive(world, purged('E0003'))
    await later(world, 6)
    const first = await heldRun(world)
    await inOrder(world, purged('E0004'), updated('E0003', 'Lead', '2026-11-20T02:20:00.000Z'))
    await later(world, 6)
    const second = await heldRun(world)

    world.clock.now = new Date(world.clock.now.getTime() + 1000)
    await requestRun(world.sync, { connection: 'acme', feed: 'webhook', trigger: 'operator' })
    await world.drain()

    expect([(await world.runOf(first.id)).state, (await world.runOf(second.id)).state]).toEqual([
      'superseded',
      'superseded',
    ])
    expect(await heldRun(world)).toMatchObject({ counts: { retract: 1 } })
    expect(await eventsOf(world)).toEqual(['settled', 'held', 'settled'])
  })

  test('a process that dies right after a split leaves nothing undone', async () => {
    await using opened = await open()
    const { world, person } = opened
    await inOrder(world, purged('E0003'), terminated('E0004', '2026-11-19', at))
    const { runPrepared } = world.sync.events
    Object.assign(world.sync.events, {
      runPrepared: () => {
        throw new Error('killed')
      },
    })
    await later(world, 6)
    Object.assign(world.sync.events, { runPrepared })
    const [held] = (await runsOf(world)).filter(({ state }) => state === 'held')

    await world.minute()

    expect((await person('E0004'))?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    expect(await eventsOf(world)).toEqual(['held', 'settled'])
    expect((await runsOf(world)).filter(({ state }) => state === 'held').map(({ id }) => id)).toEqual([held?.id])
    expect((await getRun(world.sync.store.db, held?.id ?? ''))?.counts).toMatchObject({ retract: 1 })
  })
})
