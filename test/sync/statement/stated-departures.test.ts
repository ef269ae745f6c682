import { afterAll, beforeAll, expect, test } from 'vitest'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { makeStatement } from '../../../src/store/statement/make.ts'
import { everybodyIn, statementAt } from '../../../src/store/statement/read.ts'
import { answerKeys } from '../../../src/sync/requests/key-answers.ts'
import { stateDeparture } from '../../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../../src/sync/requests/withdrawn-departures.ts'
import { change, type Host, openWorld, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const ana = { connection: 'acme', reason: 'dismissed today', by: 'ana', principal: 'token:ana' }
const company = staff(12)

async function open(people = company) {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  const { id: runId } = await world.night(people, { asOf: '2026-11-19T01:00:00.000Z' })
  const { db } = world.sync.store
  /** Where E0003, or another key, is this number of hours later. */
  const partAfter = async (hours: number, key = 'E0003') => {
    const now = new Date(world.clock.now.getTime() + hours * 3_600_000)
    const { addsUp, unaccounted } = await db
      .transaction()
      .execute((tx) => makeStatement(tx, { runId, connection: 'acme', removes: false, separatesAbsent: true, now }))
    const statement = (await statementAt(db, { connection: 'acme' }))?.id ?? 0
    const person = (await everybodyIn(db, { connection: 'acme', statement })).find((each) => each.identityId === key)
    return { part: person?.part, detail: person?.detail, addsUp, unaccounted }
  }
  return { world, partAfter, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

/** Lets the run that an operator's word asks for fail. */
async function fail(world: World, { runId }: { readonly runId: string | null }): Promise<void> {
  world.jobs.length = 0
  const failed = { state: 'failed', failure: 'the platform is away', finished_at: world.clock.now } as const
  await world.sync.store.db.updateTable('runs').set(failed).where('id', '=', runId).execute()
}

async function stateAndSend(world: World): Promise<void> {
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await world.drain()
}

const unsent: Readonly<Record<string, { detail: string; state: (world: World) => Promise<unknown> }>> = {
  'A departure that an operator states': {
    detail: 'stated as left on 2026-11-20',
    state: async (world) => fail(world, await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })),
  },
  'Another day for a departure that was sent': {
    detail: 'stated as left on 2026-11-25',
    state: async (world) => {
      await stateAndSend(world)
      await fail(world, await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-25' }))
    },
  },
  'The end of a departure that was sent': {
    detail: 'no longer stated as left',
    state: async (world) => {
      await stateAndSend(world)
      await fail(world, await withdrawDeparture(world.sync, { ...ana, identityId: 'E0003' }))
    },
  },
}

test.each(Object.entries(unsent))(
  '%s is on the way for a day, and then unaccounted for',
  async (_, { detail, state }) => {
    await using opened = await open()
    await state(opened.world)

    const soon = await opened.partAfter(1)
    const late = await opened.partAfter(25)

    expect(soon).toEqual({ part: 'onTheWay', detail: `${detail}, not sent`, addsUp: true, unaccounted: [] })
    expect(late).toEqual({ part: 'unaccounted', detail: `${detail}, not sent`, addsUp: false, unaccounted: ['E0003'] })
  },
)

test('a departure that is due counts whatever the row of the person is, and under their later key', async () => {
  await using opened = await open()
  const { world, partAfter } = opened
  await answerKeys(world.sync, { connection: 'acme', former: 'E0003', identityId: 'N3', same: true, by: 'ana' })
  await world.night(
    company.map((person) => (person.id === 'E0003' ? { ...person, id: 'N3' } : person)),
    { asOf: '2026-11-20T01:00:00.000Z' },
  )
  await fail(world, await stateDeparture(world.sync, { ...ana, identityId: 'E0003' }))
  await world.sync.store.db
    .updateTable('stated_keys')
    .set({ treatment: 'outOfScope' })
    .where('identity_id', '=', 'N3')
    .execute()

  expect(await partAfter(25, 'N3')).toMatchObject({ part: 'unaccounted', unaccounted: ['N3'] })
})

test('a departure that waits in a held plan is held', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, partAfter } = opened
  Object.assign(world.connection, { guards: Guards.parse({ leavers: { count: 0, share: 0 } }) })
  const { runId } = await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await world.drain()

  expect(await world.runOf(runId ?? '')).toMatchObject({ state: 'held' })
  expect(await partAfter(25)).toMatchObject({ part: 'held', detail: runId, addsUp: true })
})

test('a departure that a roster run will send is on the way', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, partAfter } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  const { db } = world.sync.store
  const run = db.updateTable('runs').where('feed', '=', 'roster')
  await run.set({ state: 'waiting', created_at: new Date(world.clock.now.getTime() + 20 * 3_600_000) }).execute()
  const waiting = await partAfter(30)
  await run.set({ state: 'failed', finished_at: world.clock.now }).execute()
  const failed = await partAfter(30)

  expect(waiting).toMatchObject({ part: 'onTheWay', addsUp: true })
  expect(failed).toMatchObject({ part: 'unaccounted' })
})

test('a departure that is sent, ahead, or waits for a second person is in the part of its kind', async () => {
  await using opened = await open(change(company, { id: 'E0004', leavingDate: '2026-12-31' }))
  const { world, partAfter } = opened
  await stateAndSend(world)
  await stateDeparture(world.sync, { ...ana, identityId: 'E0004', on: '2026-12-24' })
  await stateDeparture(world.sync, { ...ana, identityId: 'E0005', on: '2026-12-24' })
  Object.assign(world.connection, { approvals: { expireHours: 72, twoPeople: true } })
  await stateDeparture(world.sync, { ...ana, identityId: 'E0006' })

  const show = async (key: string) => {
    const { part, detail, addsUp } = await partAfter(25, key)
    return [part, detail, addsUp]
  }
  expect(await show('E0003')).toEqual(['excluded', 'stated as left', true])
  expect(await show('E0004')).toEqual(['deferred', '2026-12-24', true])
  expect(await show('E0005')).toEqual(['deferred', '2026-12-24', true])
  expect(await show('E0006')).toEqual(['employed', null, true])
})
