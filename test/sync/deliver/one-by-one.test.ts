import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyAnswer } from '../../../src/http/client/answer.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import { approveRun, retractPerson } from '../../../src/sync/sync.ts'
import { liveRecords, openRecordWorld, recordNight, workers, workspaceOf } from '../../helpers/custom-records.ts'
import { firstOf } from '../../helpers/tier.ts'
import { between, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  await world.night(staff(10))
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

function answering(httpStatus: number, message: string): never {
  const error = { message, code: null, name: null }
  return { status: 'undeclared', httpStatus, error, retryAfterMs: null } satisfies AnyAnswer as never
}
const noSuchMethod = answering(405, 'Method Not Allowed')
const noSuchRoute = answering(404, 'no route matched with those values')

async function retract({ sync, drain, runOf }: World, identityId: string) {
  const held = await retractPerson(sync, { connection: 'acme', identityId, reason: 'a test', by: 'ben' })
  await approveRun(sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' })
  await drain()
  return await runOf(held.id)
}

describe('a retraction', () => {
  test.each(
    firstOf(1, [
      [405, noSuchMethod],
      [404, noSuchRoute],
    ]),
  )(
    'that is answered %s is a problem while the platform has the person, and is tried again',
    async (status, answer) => {
      await using opened = await open()
      const { world, client } = opened
      const away = { isRouted: false }
      between(world, (real) => ({
        deleteHrisUserIdentity: async (input, options) =>
          away.isRouted ? await real.deleteHrisUserIdentity(input, options) : answer,
      }))

      const run = await retract(world, 'E0001')
      const problems = await listProblems(world.sync.store.db, { now: world.clock.now })
      const before = await peopleOn(client)
      away.isRouted = true
      await world.night(staff(10), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run).toMatchObject({ state: 'finished_with_problems', confirmed: 0, problems: 1 })
      expect(problems).toMatchObject([{ identityId: 'E0001', status }])
      expect(before.has('E0001')).toBe(true)
      expect((await peopleOn(client)).has('E0001')).toBe(false)
    },
  )

  test('blocks the connection if it and the list of the connection are answered with 404', async () => {
    await using opened = await open()
    const { world, client } = opened
    between(world, () => ({
      deleteHrisUserIdentity: async () => noSuchRoute,
      listHrisUserIdentities: async () => noSuchRoute,
    }))

    const run = await retract(world, 'E0001')

    const [state] = await connectionStates(world.sync.store.db)
    expect([run.state, state?.blocked?.code]).toEqual(['delivering', 'connection_missing'])
    expect((await peopleOn(client)).has('E0001')).toBe(true)
  })

  test('is done for a person who was already deleted on the platform', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, client } = opened
    const [state] = await connectionStates(world.sync.store.db)
    const connectionId = state?.targetId ?? 0
    await client.deleteHrisUserIdentity({ params: { connectionId, userIdentityId: 'identity-id:E0001' } })

    const run = await retract(world, 'E0001')

    expect(run).toMatchObject({ state: 'finished', confirmed: 1 })
  })

  test('is repeated after a lost answer, and is not done only because the person cannot be read', async () => {
    await using opened = await open()
    const { world, client } = opened
    const lost = { status: 'unreachable', reason: 'reset', message: 'connection reset', sent: true } as const
    const line = { isUp: false }
    between(world, (real) => ({
      deleteHrisUserIdentity: async (input, options) =>
        line.isUp ? await real.deleteHrisUserIdentity(input, options) : lost,
      getHrisUserIdentity: async () => noSuchRoute,
    }))

    const { id } = await retract(world, 'E0001')
    line.isUp = true
    world.clock.now = new Date(world.clock.now.getTime() + 60_000)
    await world.minute()

    expect((await world.runOf(id)).state).toBe('finished')
    expect((await peopleOn(client)).has('E0001')).toBe(false)
  })
})

test('a deletion without an answer is done once the list no longer has the person', async () => {
  await using opened = await open()
  const { world, client } = opened
  between(world, (real) => ({
    deleteHrisUserIdentity: async (input, options) => {
      await real.deleteHrisUserIdentity(input, options)
      return { status: 'unreachable', reason: 'timeout', message: 'late', sent: true } as never
    },
  }))

  const { id } = await retract(world, 'E0001')
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)
  await world.minute()

  expect(await world.runOf(id)).toMatchObject({ state: 'finished', confirmed: 1 })
  expect((await peopleOn(client)).has('E0001')).toBe(false)
})

test("a leaver's record does not count as removed when a gateway answers 404", async () => {
  const { client, name } = await host.tenant()
  await using world = await openRecordWorld(client, { workspaceId: await workspaceOf(host, name), deliver: 'direct' })
  await recordNight(world, workers(30))
  between(world, () => ({ deleteCustomDataRecord: async () => noSuchRoute }))

  const run = await recordNight(
    world,
    workers(30).filter(({ id }) => id !== 'E0002'),
  )

  expect(run).toMatchObject({ state: 'finished_with_problems', confirmed: 0, counts: { leave: 1 } })
  expect((await liveRecords(client)).has('E0002')).toBe(true)
})
