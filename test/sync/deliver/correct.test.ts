import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import { changesOf } from '../../../src/store/history/history.ts'
import { between, change, type Host, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

const nextNight = '2026-11-21T01:00:00.000Z'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

const unreachable = { status: 'unreachable', reason: 'reset', message: 'connection reset', sent: true } as const
const refusal = {
  status: 400,
  error: { message: 'this will not do', code: null, name: null },
  headers: {},
} as const

test('a corrected leaving date is cleared first and set in a second request', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-10' }))
  const sent: unknown[] = []
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) => {
      sent.push(input.body?.separatedAt)
      return await real.updateHrisUserIdentity(input, options)
    },
  }))

  const run = await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-05' }), { asOf: nextNight })

  expect(run).toMatchObject({ state: 'finished', counts: { correct: 1 } })
  expect(sent).toEqual([null, '2026-11-05T00:00:00.000Z'])
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
})

test('a correction whose first step is refused is a problem of the batch and of the run', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world, client } = opened
  const leavers = ['E0001', 'E0002', 'E0003']
  await world.night(change(staff(10), ...leavers.map((id) => ({ id, leavingDate: '2026-11-10' }))))
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) => {
      const isGuilty = input.params.userIdentityId === 'identity-id:E0002'
      return isGuilty ? refusal : await real.updateHrisUserIdentity(input, options)
    },
  }))

  const run = await world.night(change(staff(10), ...leavers.map((id) => ({ id, leavingDate: '2026-11-05' }))), {
    asOf: nextNight,
  })

  expect(run).toMatchObject({ state: 'finished_with_problems', counts: { correct: 3 }, confirmed: 2, problems: 1 })
  expect(world.events).toContainEqual(
    expect.objectContaining({ event: 'delivery.sent', people: 3, confirmed: 2, problems: 1 }),
  )
  expect(world.events).toContainEqual(
    expect.objectContaining({ event: 'run.finished', runId: run.id, confirmed: 2, problems: 1 }),
  )
  expect(await listProblems(world.sync.store.db, { now: world.clock.now })).toMatchObject([{ identityId: 'E0002' }])
  expect((await peopleOn(client)).get('E0003')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
})

test('the history of a corrected leaving date shows the last request and the number of requests', async () => {
  await using opened = await open()
  const { world } = opened
  await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-10' }))
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) => {
      world.clock.now = new Date(world.clock.now.getTime() + 1000)
      return await real.updateHrisUserIdentity(input, options)
    },
  }))

  const run = await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-05' }), { asOf: nextNight })

  const answeredAt = world.clock.now
  const sentAt = new Date(answeredAt.getTime() - 1000)
  expect(await changesOf(world.sync.store.db, run.id)).toMatchObject([
    { state: 'confirmed', requests: 2, sentAt: sentAt.toISOString(), answeredAt: answeredAt.toISOString() },
  ])
})

test('the history counts the request whose leaving date the platform ignored', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))
  const [connection] = await connectionStates(world.sync.store.db)
  await client.upsertHrisUserIdentities({
    params: { connectionId: connection?.targetId ?? 0 },
    body: [{ identityId: 'E0001', separatedAt: '2026-01-01T00:00:00.000Z' }],
  })

  const run = await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-05' }), { asOf: nextNight })

  expect(run.sent.update).toEqual({ requests: 3, people: 1 })
  expect(await changesOf(world.sync.store.db, run.id)).toMatchObject([{ state: 'confirmed', requests: 3 }])
})

test('a correction that was interrupted between its two steps ends with the right date', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-10' }))
  const sound = world.sync.platform
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      input.body?.separatedAt === null ? await real.updateHrisUserIdentity(input, options) : unreachable,
  }))
  const run = await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-05' }), { asOf: nextNight })
  const inBetween = (await peopleOn(client)).get('E0001')?.separatedAt
  Object.assign(world.sync, { platform: sound })
  world.clock.now = new Date(world.clock.now.getTime() + 60 * 60_000)

  await world.minute()

  expect(inBetween).toBeNull()
  expect(run.state).toBe('delivering')
  expect((await world.runOf(run.id)).state).toBe('finished')
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
})

test('a person with another leaving date on the platform is corrected too', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))
  const [connection] = await connectionStates(world.sync.store.db)
  const connectionId = connection?.targetId ?? 0
  await client.upsertHrisUserIdentities({
    params: { connectionId },
    body: [{ identityId: 'E0001', separatedAt: '2026-01-01T00:00:00.000Z' }],
  })

  const run = await world.night(change(staff(10), { id: 'E0001', leavingDate: '2026-11-05' }), { asOf: nextNight })

  expect(run.state).toBe('finished')
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
})

test('a joiner who has left, and has another date on the platform, is looked up and corrected', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world, client } = opened
  const gone = change(staff(10), { id: 'E0002', leavingDate: '2026-11-05' })
  await world.night(gone)
  const [connection] = await connectionStates(world.sync.store.db)
  await client.upsertHrisUserIdentities({
    params: { connectionId: connection?.targetId ?? 0 },
    body: [{ identityId: 'E0002', separatedAt: null }],
  })
  await client.upsertHrisUserIdentities({
    params: { connectionId: connection?.targetId ?? 0 },
    body: [{ identityId: 'E0002', separatedAt: '2026-02-02T00:00:00.000Z' }],
  })

  const run = await world.night(gone, { asOf: nextNight, full: true })

  expect(run.state).toBe('finished')
  expect((await peopleOn(client)).get('E0002')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
})

test('a refused leaver is not acknowledged with another leaver whose date needs a second request', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))
  const { db } = world.sync.store
  const [connection] = await connectionStates(db)
  await client.upsertHrisUserIdentities({
    params: { connectionId: connection?.targetId ?? 0 },
    body: [{ identityId: 'E0001', separatedAt: '2026-01-01T00:00:00.000Z' }],
  })
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) => {
      const isGuilty = input.params.userIdentityId === 'identity-id:E0002'
      return isGuilty ? refusal : await real.updateHrisUserIdentity(input, options)
    },
  }))

  const run = await world.night(
    change(staff(10), { id: 'E0001', leavingDate: '2026-11-05' }, { id: 'E0002', leavingDate: '2026-11-05' }),
    { asOf: nextNight },
  )

  const clocks = await db
    .selectFrom('leavers')
    .select(['identity_id', 'acknowledged_at'])
    .orderBy('identity_id')
    .execute()
  const people = await peopleOn(client)
  expect(run).toMatchObject({ state: 'finished_with_problems', confirmed: 1, problems: 1 })
  expect(people.get('E0002')?.separatedAt).toBeNull()
  expect(clocks).toEqual([
    { identity_id: 'E0001', acknowledged_at: expect.any(Date) },
    { identity_id: 'E0002', acknowledged_at: null },
  ])
})
