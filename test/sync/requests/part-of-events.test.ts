import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { listEvents } from '../../../src/store/inbox/review.ts'
import { listRuns, type Run } from '../../../src/store/runs/runs.ts'
import { approveRun, previewPart, rejectRun } from '../../../src/sync/sync.ts'
import { type HrEvent, heldRun, later, receive, webhookFeed } from '../../helpers/events.ts'
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

describe.each(databases)('a part of a held plan of events on $name', ({ createDatabase }) => {
  /** Three new addresses, of which two are allowed, wait for an approval. */
  async function open() {
    const stack = new AsyncDisposableStack()
    const { at: database } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(
      await openWorld({ at: database, client, webhook: webhookFeed(), connection: { guards: twoEmails } }),
    )
    await world.night(staff(20))
    for (const id of ['E0001', 'E0002', 'E0003']) await receive(world, readdressed(id))
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
    await using opened = await open()
    const { world, held } = opened
    const { db } = world.sync.store
    // As if one event had brought both people.
    const [first] = await listEvents(db, { connection: 'acme' })
    await db
      .updateTable('changes')
      .set({ origin: JSON.stringify({ event: first?.id, line: 2 }) })
      .where('run_id', '=', held.id)
      .where('identity_id', '=', 'E0002')
      .execute()

    await approve(world, held, ['E0001'])
    const [afterOne] = await eventsOf(world)
    const part = await approve(world, held, ['E0002'])
    const [afterTwo] = await eventsOf(world)

    expect(afterOne).toEqual({ state: 'held', runId: held.id })
    expect(afterTwo).toEqual({ state: 'settled', runId: part.id })
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
