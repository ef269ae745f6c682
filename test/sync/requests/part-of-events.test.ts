import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { listEvents, retryEvents } from '../../../src/store/inbox/review.ts'
import { rosterEntry } from '../../../src/store/roster/roster.ts'
import { listRuns, type Run } from '../../../src/store/runs/runs.ts'
import { approveRun, previewPart, rejectRun } from '../../../src/sync/sync.ts'
import { type HrEvent, heldRun, later, receive, terminated, updated, webhookFeed } from '../../helpers/events.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const at = '2026-11-20T02:10:00.000Z'
const readdressed = (id: string, email = `new-${id}@acme.example`): HrEvent => ({
  type: 'updated',
  at,
  employee: { id, email },
})
const twoEmails = Guards.parse({ emailChanges: { count: 2, share: 0 } })

const withScope = webhookFeed()
Object.assign(withScope.mapping, { scope: '($not(employee.dept = "Store" or `employee.dept` = "Store"))' })

describe.each(databases)('a part of a held plan of events on $name', ({ createDatabase }) => {
  /** Three new addresses, of which two are allowed, wait for an approval. */
  async function open(
    events: readonly (HrEvent | string)[] = ['E0001', 'E0002', 'E0003'].map((id) => readdressed(id)),
    webhook = webhookFeed(),
  ) {
    const stack = new AsyncDisposableStack()
    const { at: database } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(await openWorld({ at: database, client, webhook, connection: { guards: twoEmails } }))
    await world.night(staff(20))
    for (const event of events) await receive(world, event)
    await later(world, 6)
    return {
      world,
      held: await heldRun(world),
      emailOf: async (id: string) => (await peopleOn(client)).get(id)?.email,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }

  async function approve(world: World, { id: runId }: Run, people: readonly string[]): Promise<Run> {
    const { digest } = await previewPart(world.sync, { runId, selection: { people } })
    const part = await approveRun(world.sync, { runId, digest, part: { people }, by: 'ana' })
    await world.drain()
    return await world.runOf(part.id)
  }

  const eventsOf = async (world: World) =>
    (await listEvents(world.sync.store.db, { connection: 'acme' })).map(({ state, runId }) => ({ state, runId }))

  test('settles the events of its people, so that a rejection of the rest refuses only the others', async () => {
    await using opened = await open()
    const { world, held, emailOf } = opened

    const part = await approve(world, held, ['E0001', 'E0002'])
    const between = await eventsOf(world)
    await rejectRun(world.sync, { runId: held.id, by: 'ben' })

    const settled = { state: 'settled', runId: part.id }
    expect(part).toMatchObject({ state: 'finished', confirmed: 2 })
    expect(between).toEqual([settled, settled, { state: 'held', runId: held.id }])
    expect(await eventsOf(world)).toEqual([settled, settled, { state: 'rejected', runId: held.id }])
    expect([await emailOf('E0001'), await emailOf('E0003')]).toEqual(['new-e0001@acme.example', 'e3@acme.example'])
  })

  test('leaves an event about several people with the rest until the last of them is approved', async () => {
    const both = [readdressed('E0001'), readdressed('E0002')]
    await using opened = await open([JSON.stringify(both), readdressed('E0003')])
    const { world, held } = opened

    await approve(world, held, ['E0001'])
    const [afterOne] = await eventsOf(world)
    const part = await approve(world, held, ['E0002'])
    const [afterTwo] = await eventsOf(world)

    expect(afterOne).toEqual({ state: 'held', runId: held.id })
    expect(afterTwo).toEqual({ state: 'settled', runId: part.id })
  })

  test('keeps an event that states a departure for a later day of somebody else: after a rejection it can be retried', async () => {
    const both = [readdressed('E0001'), { ...terminated('E0009', '2026-12-31', at), type: 'updated' }]
    // Somebody who is no longer in scope holds the whole plan, and not only some people of it.
    const moved = { ...updated('E0012', 'Clerk', at), employee: { id: 'E0012', dept: 'Store' } }
    await using opened = await open([JSON.stringify(both), moved], withScope)
    const { world, held } = opened
    const { db } = world.sync.store
    const leavingDate = async () =>
      (await rosterEntry(db, { connection: 'acme', identityId: 'E0009' }))?.deferredTo ?? null

    await approve(world, held, ['E0001'])
    const [between] = await eventsOf(world)
    await rejectRun(world.sync, { runId: held.id, by: 'ben' })
    const before = await leavingDate()
    const [event] = await listEvents(db, { connection: 'acme' })
    const retried = await retryEvents(db, { connection: 'acme', ids: [event?.id ?? ''] })
    await later(world, 6)

    expect(between).toEqual({ state: 'held', runId: held.id })
    expect([before, event?.state, retried]).toEqual([null, 'rejected', 1])
    expect(await leavingDate()).toBe('2026-12-31')
  })

  test('settles all events about its people, also those that later ones of the plan replaced', async () => {
    await using opened = await open([
      readdressed('E0001', 'first@acme.example'),
      { ...readdressed('E0001'), at: '2026-11-20T02:11:00.000Z' },
      readdressed('E0002'),
      readdressed('E0003'),
    ])
    const { world, held, emailOf } = opened

    const part = await approve(world, held, ['E0001'])
    await rejectRun(world.sync, { runId: held.id, by: 'ben' })

    const [settled, rejected] = [
      { state: 'settled', runId: part.id },
      { state: 'rejected', runId: held.id },
    ]
    expect(await eventsOf(world)).toEqual([settled, settled, rejected, rejected])
    expect(await emailOf('E0001')).toBe('new-e0001@acme.example')
  })

  test('frees the events that queued behind the plan: later ones of its people, and those that its limit no longer holds', async () => {
    await using opened = await open()
    const { world, held, emailOf } = opened
    await receive(world, readdressed('E0001', 'newer@acme.example'))
    for (const id of ['E0004', 'E0005', 'E0006']) await receive(world, readdressed(id))
    await later(world, 6)
    const queued = await eventsOf(world)

    await approve(world, held, ['E0001', 'E0002'])
    await later(world, 6)

    const runs = await listRuns(world.sync.store.db, { connection: 'acme', limit: 20 })
    const heldRuns = runs.filter(({ state }) => state === 'held')
    expect(queued).toEqual(Array.from({ length: 7 }, () => ({ state: 'held', runId: held.id })))
    expect(heldRuns.map(({ id, counts }) => [id === held.id, counts?.update])).toEqual([
      [false, 4],
      [true, 1],
    ])
    expect(await emailOf('E0001')).toBe('new-e0001@acme.example')
  })
})
