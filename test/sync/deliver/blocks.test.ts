import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import { classifyAnswer } from '../../../src/sync/rate-limit/classify-answers.ts'
import { requestRun, syncWorkers } from '../../../src/sync/sync.ts'
import { between, change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const { signal } = new AbortController()
const nextNight = '2026-11-21T01:00:00.000Z'
const leavers = ['E0001', 'E0002', 'E0003']
const afterwards = change(staff(40), ...leavers.map((id) => ({ id, leavingDate: '2026-11-05' })))

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  await world.night(staff(40))
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

function answering(httpStatus: number, retryAfterMs: number | null = null) {
  const error = { message: 'no', code: null, name: null }
  return { status: 'undeclared', httpStatus, error, retryAfterMs } as const
}

async function blocked({ sync }: World) {
  const [state] = await connectionStates(sync.store.db)
  return state?.blocked ?? null
}

async function pass(world: World, minutes: number): Promise<void> {
  world.clock.now = new Date(world.clock.now.getTime() + minutes * 60_000)
  await world.minute()
}

test('a process that does not know a connection does not block it for others', async () => {
  await using opened = await open()
  const { world, client } = opened
  world.setExport(afterwards, nextNight)
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options: {} })
  const [run] = world.jobs.splice(0)
  if (run) await world.workOn(run)
  const [batch] = world.jobs.splice(0)
  await using lease = await takeLease(world.sync.store)
  const unknown = batch && world.workOn(batch, undefined, { connections: new Map(), lease })
  await expect(unknown).rejects.toThrow()

  expect(await blocked(world)).toBeNull()
  await pass(world, 1)
  expect((await world.runOf(id)).state).toBe('finished')
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
})

test('batches of a connection that no process knows are checked less and less often', async () => {
  await using opened = await open()
  const { world } = opened
  world.setExport(afterwards, nextNight)
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options: {} })
  const [run] = world.jobs.splice(0)
  if (run) await world.workOn(run)
  const { db } = world.sync.store
  const pauses: number[] = []

  for (let times = 0; times < 3; times++) {
    world.clock.now = new Date(world.clock.now.getTime() + 60_000)
    await syncWorkers.update({ ...world.sync, connections: new Map() }, { runId: id, batch: 1 }, signal).catch(() => {})
    const { due_at } = await db
      .selectFrom('deliveries')
      .select('due_at')
      .where('run_id', '=', id)
      .executeTakeFirstOrThrow()
    pauses.push(due_at.getTime() - world.clock.now.getTime())
  }

  expect(pauses).toEqual([10_000, 20_000, 30_000])
})

test('a platform that keeps asking to wait is listed until it takes something', async () => {
  await using opened = await open()
  const { world } = opened
  const { rateLimiter } = world.sync.platform
  Object.assign(world.sync, {
    platform: { ...world.sync.platform, rateLimiter: { ...rateLimiter, pause: async () => {} } },
  })
  const line = { isUp: false }
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      line.isUp ? await real.updateHrisUserIdentity(input, options) : answering(429, 60_000),
  }))
  await world.night(afterwards, { asOf: nextNight })
  for (let minutes = 0; minutes < 20; minutes += 2) await pass(world, 2)
  const { db } = world.sync.store

  const problems = await listProblems(db, { now: world.clock.now })
  line.isUp = true
  await pass(world, 2)

  expect(problems.map(({ identityId, code }) => [identityId, code])).toEqual(
    leavers.map((identityId) => [identityId, 'rate_limited']),
  )
  expect(await listProblems(db, { now: world.clock.now })).toEqual([])
})

test('an overtaken attempt does not block the connection', async () => {
  await using opened = await open()
  const { world } = opened
  const { db } = world.sync.store
  between(world, () => ({
    updateHrisUserIdentity: async () => {
      await db.updateTable('deliveries').set({ attempts: 7 }).where('state', '=', 'due').execute()
      return answering(403)
    },
  }))

  await world.night(change(staff(40), { id: 'E0001', leavingDate: '2026-11-05' }), { asOf: nextNight })

  expect(await blocked(world)).toBeNull()
})

test('a probe that delivers one person unblocks the connection, even if it stops at another', async () => {
  await using opened = await open()
  const { world } = opened
  const answers = { status: 403 }
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      answers.status === 500 && input.params.userIdentityId === 'identity-id:E0001'
        ? await real.updateHrisUserIdentity(input, options)
        : answering(answers.status),
  }))
  Object.assign(world.sync, { platform: { ...world.sync.platform, inFlight: 1 } })
  await world.night(afterwards, { asOf: nextNight })
  const before = await blocked(world)
  answers.status = 500

  await pass(world, 16)

  expect(before?.code).toBe('permission_missing')
  expect(await blocked(world)).toBeNull()
})

test.each([
  { answer: answering(429, 600_000), pauses: [600_000], code: undefined },
  { answer: answering(403), pauses: [], code: 'permission_missing' },
])(
  'an answer of $answer.httpStatus is heeded though a failure of one person came before it',
  async ({ answer, pauses, code }) => {
    await using opened = await open()
    const { world } = opened
    const paused: number[] = []
    const pause = async (ms: number) => void paused.push(ms)
    const { platform } = world.sync
    Object.assign(world.sync, {
      platform: { ...platform, inFlight: 1, rateLimiter: { ...platform.rateLimiter, pause } },
    })
    const answers = new Map([['identity-id:E0002', answering(500)]])
    between(world, (real) => ({
      updateHrisUserIdentity: async (input, options) =>
        answers.get(String(input.params.userIdentityId)) ?? (await real.updateHrisUserIdentity(input, options)),
    }))
    for (const id of leavers) answers.set(`identity-id:${id}`, answering(500))
    await world.night(afterwards, { asOf: nextNight })
    // The second attempt begins with the second one of three.
    for (const id of ['E0001', 'E0003']) answers.set(`identity-id:${id}`, answer)

    await pass(world, 2)

    expect(paused).toEqual(pauses)
    expect((await blocked(world))?.code).toBe(code)
  },
)

test('an error after the request was sent leaves its outcome unknown', () => {
  const tls = { status: 'unreachable', reason: 'tls', message: 'bad record', sent: true } as const
  expect(classifyAnswer(tls)).toMatchObject({ kind: 'retry', code: 'connection_lost' })
  expect(classifyAnswer({ ...tls, sent: false })).toMatchObject({ kind: 'retry', code: 'tls_failed' })
})
