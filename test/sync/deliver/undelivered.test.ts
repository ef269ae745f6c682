import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listProblems, problemCounts } from '../../../src/store/deliveries/problems.ts'
import { inDoubtCounts } from '../../../src/store/in-doubt.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import {
  liveRecords,
  openRecordWorld,
  recordNight,
  recordOf,
  workers,
  workspaceOf,
} from '../../helpers/custom-records.ts'
import { refuse } from '../../helpers/servers/refuse.ts'
import { firstOf } from '../../helpers/tier.ts'
import { between, change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

const secondNight = '2026-11-21T01:00:00.000Z'
const thirdNight = '2026-11-22T01:00:00.000Z'
const leavingDate = '2026-11-05'
const failure = { status: 500, error: { message: 'no', code: null, name: null }, headers: {} } as const
const noAnswer = { status: 'unreachable', reason: 'timeout', message: 'no answer in time', sent: true } as const

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

type Failing = { ids: ReadonlySet<string>; isAway: boolean }

/** Has the platform fail on updates of these people, or on every request while it is away. */
function failingOn(world: World, ids: readonly string[], answer: typeof failure | typeof noAnswer = failure): Failing {
  const failing: Failing = { ids: new Set(ids), isAway: false }
  const isOf = (path: unknown) => [...failing.ids].some((id) => path === `identity-id:${id}`)
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      failing.isAway || isOf(input.params.userIdentityId) ? answer : await real.updateHrisUserIdentity(input, options),
    getHrisUserIdentity: async (input, options) =>
      failing.isAway ? answer : await real.getHrisUserIdentity(input, options),
    listHrisUserIdentities: async (input, options) =>
      failing.isAway ? answer : await real.listHrisUserIdentities(input, options),
  }))
  return failing
}

/** Lets minutes pass. A daemon does what is due at the end of each minute, or of each `step` minutes. */
async function minutes(world: World, count: number, { step = 1 } = {}): Promise<void> {
  for (let passed = 0; passed < count; passed += step) {
    world.clock.now = new Date(world.clock.now.getTime() + step * 60_000)
    await world.minute()
  }
}

/** Lets minutes go by until a run delivers no longer. */
async function untilClosed(world: World, runId: string): Promise<void> {
  for (let minute = 0; minute < patience && (await world.runOf(runId)).state === 'delivering'; minute++)
    await minutes(world, 1)
}

/** As long as it takes until every batch has been tried after a quarter of an hour, whatever its pauses. */
const patience = 40

async function problemsOf(world: World) {
  return await listProblems(world.sync.store.db, { now: world.clock.now })
}

test.each(firstOf(1, [{ answer: failure }, { answer: noAnswer }]))(
  'a person on whom the platform always fails ($answer.status) does not keep the next export waiting',
  async ({ answer }) => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(40))
    failingOn(world, ['E0001'], answer)
    const first = await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }), { asOf: secondNight })
    const both = ['E0001', 'E0002'].map((id) => ({ id, leavingDate: leavingDate }))
    const next = await world.night(change(staff(40), ...both), { asOf: thirdNight })
    const waiting = await world.runOf(next.id)

    await minutes(world, patience)

    expect(waiting.state).toBe('waiting')
    expect(await world.runOf(first.id)).toMatchObject({ state: 'finished_with_problems', problems: 1, remaining: 0 })
    expect(await world.runOf(next.id)).toMatchObject({ state: 'finished_with_problems', confirmed: 1, problems: 1 })
    expect((await peopleOn(client)).get('E0002')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
  },
)

test('a closed person is listed as undelivered and in doubt, and arrives once the platform takes the change', async () => {
  await using opened = await open()
  const { world, client } = opened
  const { db } = world.sync.store
  await world.night(staff(40))
  const failing = failingOn(world, ['E0001'])
  const run = await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }), { asOf: secondNight })
  await untilClosed(world, run.id)
  const problems = await problemsOf(world)
  const closedAt = world.clock.now
  const tallies = await problemCounts(db, { now: closedAt })
  const doubts = await inDoubtCounts(db)

  failing.ids = new Set()
  await minutes(world, 59)
  const early = (await peopleOn(client)).get('E0001')?.separatedAt
  await minutes(world, 3)

  expect(problems).toMatchObject([
    { identityId: 'E0001', state: 'undelivered', leaver: true, status: 500, code: 'server_error', runId: run.id },
  ])
  expect(problems[0]?.nextAt).toBe(new Date(closedAt.getTime() + 60 * 60_000).toISOString())
  expect(tallies.get('acme')).toEqual({
    refused: { people: 0, leavers: 0 },
    undelivered: { people: 1, leavers: 1 },
  })
  expect(doubts.get('acme')).toMatchObject({ people: 1 })
  expect(early).toBe(null)
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
  expect(await problemsOf(world)).toEqual([])
})

test('a closed person is in doubt even if the process ends before its attempt does', async () => {
  await using opened = await open()
  const { world } = opened
  const { db } = world.sync.store
  await world.night(staff(40))
  failingOn(world, ['E0001'])
  await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }), { asOf: secondNight })
  await refuse(db, 'update on deliveries', sql`new.state = 'done'`)

  const closed = async () => (await sql`select identity_id from problems`.execute(db)).rows

  for (let minute = 0; minute < patience && (await closed()).length === 0; minute++)
    await minutes(world, 1).catch(() => undefined)

  expect(await closed()).toHaveLength(1)
  expect((await inDoubtCounts(db)).get('acme')).toMatchObject({ people: 1, leavers: 1 })
})

test('a closed person is tried again every hour, and no other run waits longer than minutes for that', async () => {
  await using opened = await open()
  const { world } = opened
  await world.night(staff(40))
  failingOn(world, ['E0001'])
  await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }), { asOf: secondNight })
  await minutes(world, patience)
  const delivering: string[] = []
  let mostInRow = 0

  for (let minute = 0; minute < 3 * 60; minute++) {
    await minutes(world, 1)
    const { runs } = await listed(world)
    const active = runs.find(({ state }) => state === 'delivering')
    if (active) delivering.push(active.id)
    const inRow = delivering.filter((id) => id === active?.id).length
    mostInRow = Math.max(mostInRow, inRow)
  }

  const repairs = (await listed(world)).runs.filter(({ trigger }) => trigger === 'repair')
  expect(repairs.length).toBeGreaterThanOrEqual(2)
  expect(repairs.length).toBeLessThanOrEqual(4)
  expect(mostInRow).toBeLessThanOrEqual(3)
  expect(await problemsOf(world)).toMatchObject([{ identityId: 'E0001', times: repairs.length + 1 }])
})

async function listed(world: World) {
  return { runs: await listRuns(world.sync.store.db, { limit: 100 }) }
}

test('nobody is closed while the platform does not answer at all', async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(40))
  const failing = failingOn(world, [])
  failing.isAway = true
  const run = await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }), { asOf: secondNight })

  await minutes(world, 4 * 60, { step: 20 })
  const meanwhile = await world.runOf(run.id)
  failing.isAway = false
  await minutes(world, 61)

  expect(meanwhile).toMatchObject({ state: 'delivering', problems: 0 })
  expect(await world.runOf(run.id)).toMatchObject({ state: 'finished', confirmed: 1 })
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
})

test('looking the person up finds a change that was applied without an answer', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(40))
  let isLost = true
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      isLost ? noAnswer : await real.updateHrisUserIdentity(input, options),
  }))
  const run = await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }), { asOf: secondNight })
  await untilClosed(world, run.id)
  // HR takes the departure back, and the request arrives after all.
  await world.night(staff(40), { asOf: thirdNight })
  const { id: connectionId } = await connectionOn(client)
  const body = { separatedAt: '2026-11-05T00:00:00.000Z' }
  await client.updateHrisUserIdentity({ params: { connectionId, userIdentityId: 'identity-id:E0001' }, body })

  isLost = false
  await minutes(world, 62)

  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe(null)
  expect(await problemsOf(world)).toEqual([])
})

async function connectionOn(client: World['sync']['platform']['client']) {
  const answer = await client.listCustomConnections({ query: {} })
  if (answer.status !== 200) throw new Error('no list')
  const [connection] = answer.body.data
  if (!connection) throw new Error('no connection')
  return connection
}

test('a run that an operator requests tries such a person at once', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client } = opened
  await world.night(staff(40))
  const failing = failingOn(world, ['E0001'])
  await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }), { asOf: secondNight })
  await minutes(world, patience)
  failing.ids = new Set()

  await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options: {} })
  await world.drain()

  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-05T00:00:00.000Z')
  expect(await problemsOf(world)).toEqual([])
})

test('a session that the platform never takes is closed only once another run waits', { tags: ['full'] }, async () => {
  const { client, name } = await host.tenant()
  const workspaceId = await workspaceOf(host, name)
  await using world = await openRecordWorld(client, { workspaceId, deliver: 'session' })
  let isFailing = true
  between(world, (real) => ({
    uploadSessionRecords: async (input, options) =>
      isFailing ? failure : await real.uploadSessionRecords(input, options),
  }))
  const first = await recordNight(world, workers(3))
  await minutes(world, 2 * 60, { step: 20 })
  const alone = await world.runOf(first.id)

  const next = await recordNight(world, workers(4))
  await minutes(world, 62)
  const closed = await world.runOf(first.id)
  isFailing = false
  await minutes(world, 62)

  expect(alone).toMatchObject({ state: 'delivering', problems: 0 })
  expect(closed).toMatchObject({ state: 'finished_with_problems', problems: 3 })
  expect(await world.runOf(next.id)).toMatchObject({ state: 'finished', confirmed: 4 })
  expect(await liveRecords(client)).toEqual(new Map(workers(4).map((row) => [row.id, recordOf(row)])))
  expect(await problemsOf(world)).toEqual([])
})

test('the hourly repair of such a person does not replace a held plan of due departures', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world } = opened
  await world.night(staff(40))
  failingOn(world, ['E0001'])
  const later = staff(40)
    .slice(10, 25)
    .map(({ id }) => ({ id, leavingDate: '2026-11-21' }))
  await world.night(change(staff(40), { id: 'E0001', leavingDate: leavingDate }, ...later), {
    asOf: '2026-11-20T06:00:00.000Z',
  })
  await minutes(world, patience)
  world.clock.now = new Date('2026-11-22T01:00:00.000Z')
  await world.minute()
  const [held] = (await listed(world)).runs

  await minutes(world, 3 * 60)

  expect(held).toMatchObject({ feed: 'roster', state: 'held' })
  const [newest] = (await listed(world)).runs
  expect(newest).toMatchObject({ id: held?.id, state: 'held' })
})
