import { afterAll, beforeAll, expect, test } from 'vitest'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import type { RateLimiter } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { requestRun } from '../../../src/sync/sync.ts'
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
  without,
} from '../../helpers/world.ts'

const nextNight = '2026-11-21T01:00:00.000Z'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open(overrides: Parameters<typeof openWorld>[0]['connection'] = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, connection: overrides })
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

const unreachable = { status: 'unreachable', reason: 'reset', message: 'connection reset', sent: true } as const
const listed = <S extends number>(status: S, message: string) =>
  ({ status, error: { message, code: null, name: null }, headers: {} }) as const

test('after one of several requests throws, no further one begins, and the batch is released when the others end', async () => {
  await using opened = await open({ guards: Guards.parse({ leavers: { count: 20, share: 1 } }) })
  const { world } = opened
  await world.night(staff(40))
  const [brokeOff, firstAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [begun, answered]: [unknown[], unknown[]] = [[], []]
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) => {
      const { userIdentityId: id } = input.params
      if (begun.push(id) === 2) {
        brokeOff.resolve()
        setImmediate(firstAnswer.resolve)
        throw new Error('the second request breaks off')
      }
      await firstAnswer.promise
      const answer = await real.updateHrisUserIdentity(input, options)
      answered.push(id)
      return answer
    },
  }))
  const { platform } = world.sync
  let turns = 0
  const rateLimiter: RateLimiter = {
    ...platform.rateLimiter,
    async send(request, signal) {
      // The budget lets two requests go, and the others once the second has broken off.
      if (++turns > 2) await brokeOff.promise
      return await platform.rateLimiter.send(request, signal)
    },
  }
  const leavers = staff(20).map(({ id }) => ({ id, leavingDate: '2026-11-05' }))
  world.setExport(change(staff(40), ...leavers), nextNight)
  await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  const [run] = world.jobs.splice(0)
  if (run) await world.workOn(run)
  const [job] = world.jobs.splice(0)

  const attempt = job && world.workOn(job, undefined, { platform: { ...platform, rateLimiter } })

  await expect(attempt).rejects.toThrow('the second request breaks off')
  expect([...begun].sort()).toEqual(['identity-id:E0001', 'identity-id:E0002'])
  expect(answered).toEqual(begun.slice(0, 1))
})

test('a batch that is refused as a whole is halved until the refused person is alone', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client } = opened
  let requests = 0
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      requests++
      const guilty = JSON.stringify(input.body).includes('E0013')
      return guilty ? listed(400, 'this will not do') : await real.upsertHrisUserIdentities(input, options)
    },
  }))

  const run = await world.night(staff(64))

  expect(run).toMatchObject({ state: 'finished_with_problems', confirmed: 63, problems: 1 })
  expect(await listProblems(world.sync.store.db, { now: world.clock.now })).toMatchObject([
    { identityId: 'E0013', message: 'this will not do' },
  ])
  expect((await peopleOn(client)).size).toBe(63)
  expect(requests).toBe(1 + 2 * Math.log2(64))
})

test.each(
  firstOf(1, [
    ['shorter', (results: unknown[]) => results.slice(1)],
    ['longer', (results: unknown[]) => [...results, results[0]]],
    ['in another order', (results: unknown[]) => results.toReversed()],
  ]),
)('results that come back %s are not trusted: everybody is looked up', async (_name, spoil) => {
  await using opened = await open()
  const { world } = opened
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      const answer = await real.upsertHrisUserIdentities(input, options)
      return answer.status === 201 ? { ...answer, body: spoil(answer.body) as typeof answer.body } : answer
    },
  }))

  const run = await world.night(staff(30))

  expect(run).toMatchObject({ state: 'finished', confirmed: 30 })
  expect(run.sent.upsert.requests).toBeGreaterThan(1)
})

test('a lost answer leaves people due, and the next attempt closes them without repeating anything', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world, client } = opened
  const sound = world.sync.platform
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      await real.upsertHrisUserIdentities(input, options)
      return unreachable
    },
  }))
  const run = await world.night(change(staff(30), { id: 'E0009', leavingDate: '2026-11-01' }))
  Object.assign(world.sync, { platform: sound })
  world.clock.now = new Date(world.clock.now.getTime() + 60 * 60_000)

  await world.minute()

  expect(run).toMatchObject({ state: 'delivering', remaining: 30 })
  expect(await world.runOf(run.id)).toMatchObject({ state: 'finished', confirmed: 30 })
  expect((await peopleOn(client)).size).toBe(30)
})

test('a pause that the platform asks for postpones the batch and does not count as a failed attempt', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world } = opened
  between(world, () => ({
    upsertHrisUserIdentities: async () => ({
      status: 'undeclared',
      httpStatus: 429,
      error: { message: 'slow down', code: null, name: null },
      retryAfterMs: 7000,
    }),
  }))
  world.setExport(staff(5))
  await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  const [run] = world.jobs.splice(0)
  if (run) await world.workOn(run)
  const [job] = world.jobs.splice(0)

  const attempt = job ? world.workOn(job) : Promise.resolve()

  await expect(attempt).rejects.toMatchObject({ name: 'Postponed', delayMs: 7000 })
})

test.each(
  firstOf(1, [
    [401, 'the platform does not accept the API key (401)'],
    [402, "the platform account's plan does not include custom connections (402)"],
    [403, 'the API key lacks a permission (403)'],
    [412, 'the platform account has not accepted the terms (412)'],
  ]),
)(
  "an answer of %i blocks the connection with its reason, and an operator's run tries again",
  async (status, reason) => {
    await using opened = await open()
    const { world } = opened
    const sound = world.sync.platform
    let requests = 0
    between(world, () => ({
      listCustomConnections: async () => {
        requests++
        return listed(status, 'no')
      },
    }))
    const run = await world.night(staff(5))
    await world.minute()
    const [blocked] = await connectionStates(world.sync.store.db)
    Object.assign(world.sync, { platform: sound })

    await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await world.drain()

    expect(run.state).toBe('delivering')
    expect(blocked?.blocked?.reason).toBe(`${reason}: no`)
    expect(requests).toBe(1)
    expect((await world.runOf(run.id)).state).toBe('finished')
    expect((await connectionStates(world.sync.store.db))[0]?.blocked).toBeNull()
  },
)

test('a leaver whom the platform does not know is sent with the full record', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))
  const [connection] = await connectionStates(world.sync.store.db)
  await client.deleteHrisUserIdentity({
    params: { connectionId: connection?.targetId ?? 0, userIdentityId: 'identity-id:E0003' },
  })

  const run = await world.night(change(staff(10), { id: 'E0003', leavingDate: '2026-11-19' }), { asOf: nextNight })

  expect(run.state).toBe('finished')
  expect((await peopleOn(client)).get('E0003')).toMatchObject({
    separatedAt: '2026-11-19T00:00:00.000Z',
    jobTitle: 'Engineer',
  })
})

test('a platform without the update operation is detected once, and gets leavers through the batch upsert', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))
  let updates = 0
  between(world, () => ({
    updateHrisUserIdentity: async () => {
      updates++
      return listed(404, 'Cannot PUT')
    },
  }))
  await world.night(change(staff(10), { id: 'E0003', leavingDate: '2026-11-19' }), { asOf: nextNight })

  await world.night(
    change(staff(10), { id: 'E0003', leavingDate: '2026-11-19' }, { id: 'E0004', leavingDate: '2026-11-20' }),
    {
      asOf: '2026-11-22T01:00:00.000Z',
    },
  )

  const people = await peopleOn(client)
  expect([people.get('E0003')?.separatedAt, people.get('E0004')?.separatedAt]).toEqual([
    '2026-11-19T00:00:00.000Z',
    '2026-11-20T00:00:00.000Z',
  ])
  expect(updates).toBe(1)
})

test('a wave of leavers goes through the batch upsert', { tags: ['full'] }, async () => {
  await using opened = await open({ delivery: { batchSize: 1000, batchBytes: 1_000_000, updateWave: 3 } })
  const { world, client } = opened
  await world.night(staff(40))

  const run = await world.night(without(staff(40), 'E0001', 'E0002', 'E0003', 'E0004'), { asOf: nextNight })

  expect(run).toMatchObject({ state: 'finished', sent: { update: { requests: 1, people: 4 } } })
  expect([...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt)).toHaveLength(4)
})

test('batches contain at most the configured number of people and bytes', async () => {
  await using opened = await open({ delivery: { batchSize: 8, batchBytes: 1000, updateWave: 100 } })
  const { world } = opened
  const sizes: { people: number; bytes: number }[] = []
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      sizes.push({ people: input.body.length, bytes: JSON.stringify(input.body).length })
      return await real.upsertHrisUserIdentities(input, options)
    },
  }))

  const run = await world.night(staff(30))

  expect(run).toMatchObject({ state: 'finished', confirmed: 30 })
  expect(Math.max(...sizes.map(({ people }) => people))).toBeLessThanOrEqual(8)
  expect(Math.max(...sizes.map(({ bytes }) => bytes))).toBeLessThanOrEqual(1000)
})

test('a full run sends everybody again', async () => {
  await using opened = await open()
  const { world } = opened
  await world.night(staff(10))

  const run = await world.night(staff(10), { full: true })

  expect(run).toMatchObject({ state: 'finished', sent: { upsert: { requests: 1, people: 10 } } })
})

test('a verifying run repairs lost and changed people, counts foreign people, and deletes nobody', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))
  const [connection] = await connectionStates(world.sync.store.db)
  const params = { connectionId: connection?.targetId ?? 0 }
  await client.deleteHrisUserIdentity({ params: { ...params, userIdentityId: 'identity-id:E0001' } })
  await client.upsertHrisUserIdentities({
    params,
    body: [
      { identityId: 'E0002', jobTitle: 'King' },
      { identityId: 'X1', firstName: 'Foreign' },
    ],
  })

  const run = await world.night(staff(10), { verify: true })

  const people = await peopleOn(client)
  expect(run).toMatchObject({
    state: 'finished',
    verification: { listed: 10, lost: 1, changed: 1, foreign: 1 },
    counts: { join: 1, update: 1, leave: 0 },
  })
  expect(people.get('E0002')?.jobTitle).toBe('Engineer')
  expect([people.has('E0001'), people.has('X1')]).toEqual([true, true])
})

test('a duplicate key in an export leaves that person unchanged', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))

  const run = await world.night(
    [...change(staff(10), { id: 'E0002', title: 'King' }), { id: 'E0002', title: 'Queen', first: 'Person 2' }],
    { asOf: nextNight },
  )

  expect(run).toMatchObject({
    state: 'unchanged',
    rows: 11,
    records: 9,
    counts: { rejected: 2, unchanged: 9, leave: 0 },
  })
  expect((await peopleOn(client)).get('E0002')?.jobTitle).toBe('Engineer')
})

test.each(
  firstOf(1, [
    ['before', (sound: HrPerson[], broken: HrPerson) => [broken, ...sound]],
    ['behind', (sound: HrPerson[], broken: HrPerson) => [...sound, broken]],
  ]),
)('a broken row %s a valid one with the same key rejects both', async (_name, together) => {
  await using opened = await open()
  const { world } = opened
  await world.night(staff(10))

  const run = await world.night(
    together(change(staff(10), { id: 'E0002', title: 'King' }), { id: 'E0002', start: 'soon' }),
    {
      asOf: nextNight,
    },
  )

  expect(run).toMatchObject({ state: 'unchanged', rows: 11, records: 9, counts: { rejected: 2, update: 0, leave: 0 } })
})

test('the second row of a key withdraws what the first one planned, however far apart they are', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(10))
  world.source.slice = 3

  const run = await world.night(
    [...change(staff(10), { id: 'E0002', title: 'King', leavingDate: '2026-11-01' }), { id: 'E0002', title: 'Queen' }],
    { asOf: nextNight },
  )

  expect(run).toMatchObject({ state: 'unchanged', records: 9, counts: { rejected: 2, update: 0, leave: 0 } })
  expect((await peopleOn(client)).get('E0002')).toMatchObject({ jobTitle: 'Engineer', separatedAt: null })
})

test('rows with an unreadable key hold the plan while somebody is absent', async () => {
  await using opened = await open()
  const { world } = opened
  await world.night(staff(10))

  const run = await world.night([...without(staff(10), 'E0010'), { id: '', first: 'Person 10' }], { asOf: nextNight })

  expect(run.state).toBe('held')
  expect(run.reason).toContain('unreadableKeys')
})
