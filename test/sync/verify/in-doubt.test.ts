import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeRoster } from '../../../src/store/connections/connections.ts'
import { markUncertain } from '../../../src/store/deliveries/uncertain.ts'
import { inDoubtCounts } from '../../../src/store/in-doubt.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { cancelRun, requestRun, sweep, verifyPeopleInDoubt } from '../../../src/sync/sync.ts'
import { faults } from '../../helpers/faults/faults.ts'
import type { ReceivedRequest } from '../../helpers/faults/proxy.ts'
import { openStory, type Story } from '../../helpers/faults/story.ts'
import {
  between,
  change,
  type Host,
  openWorld,
  peopleOn,
  readInDoubt,
  staff,
  startHost,
  type World,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const isUpsert = ({ operation }: ReceivedRequest) => operation === 'upsertHrisUserIdentities'

async function inDoubt({ world }: Story) {
  return (await inDoubtCounts(world.sync.store.db)).get('acme') ?? null
}

/** The keys of the people who were looked up, one request each, since the last call. */
function lookedUpKeys({ proxy }: Story): string[] {
  const keys = proxy.requests.flatMap(({ operation, identityIds }) =>
    operation === 'getHrisUserIdentity' ? identityIds : [],
  )
  proxy.forget()
  return keys
}

/** A night in which the first request that changes somebody has no answer, though it was applied; the next one is answered. */
async function doubtfulNight(story: Story) {
  story.setFault(faults.resetAfter)
  const run = await story.night()
  await story.heal()
  const ended = await story.end(run)
  lookedUpKeys(story)
  return ended
}

/** HR exports again in the same night. */
async function nextExport({ hr, world, advanceMinutes }: Story, at: string) {
  const { rows, asOf } = hr.night(at)
  world.setExport(rows, asOf)
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await advanceMinutes(0)
  return await world.runOf(id)
}

test('people of a request without an answer are looked up after 1, 5 and 15 minutes and once more, and then no longer in doubt', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.leave('E0003', '2026-11-19')
  const run = await doubtfulNight(story)
  const closedAt = story.world.clock.now.getTime()
  const runs = (await listRuns(story.world.sync.store.db, { limit: 100 })).length

  const read: number[] = []
  for (let minute = 1; minute <= 40; minute++) {
    await story.advanceMinutes(1)
    if (lookedUpKeys(story).length > 0) read.push(minute)
  }

  expect(run).toMatchObject({ state: 'finished', inDoubt: { people: 1, leavers: 1 } })
  expect(run.inDoubt?.until).toBe(new Date(closedAt + 30 * 60_000).toISOString())
  expect(read).toEqual([1, 5, 15, 30])
  expect(await inDoubt(story)).toBeNull()
  // No run is made for readings that find nothing.
  expect(await listRuns(story.world.sync.store.db, { limit: 100 })).toHaveLength(runs)
})

test('the next look-up finds and repairs a late return that brought a leaver back, and the schedule starts again', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.comeBack('E0004', '2026-11-20')
  story.useShortTimeout()
  const holding = story.proxy.hold(({ identityIds }) => identityIds.includes('E0004'), 'arrived')
  const returning = await story.night()
  const late = await holding
  await cancelRun(story.world.sync, { runId: returning.id, by: 'ana' })
  story.useAddress(story.proxy.baseUrl)
  story.hr.leave('E0004', '2026-10-01')
  const leaving = await nextExport(story, '2026-11-21T01:30:00.000Z')
  const counts = await inDoubt(story)
  await story.advanceMinutes(2)
  const lateRequest = story.proxy.requests.find(({ applied, operation }) => applied === null && operation !== null)

  late.release()
  await expect.poll(() => lateRequest?.applied).toBe(200)
  const undone = (await peopleOn(story.client)).get('E0004')?.separatedAt
  await story.advanceMinutes(3)
  const mended = (await peopleOn(story.client)).get('E0004')?.separatedAt
  const countsAfterRepair = await inDoubt(story)
  await story.advanceMinutes(10)
  await story.advanceMinutes(15)

  expect(leaving.state).toBe('finished')
  expect(counts).toMatchObject({ people: 1, leavers: 1 })
  expect(undone).toBeNull()
  expect(mended).toBe('2026-10-01T00:00:00.000Z')
  expect(countsAfterRepair).toMatchObject({ people: 1, leavers: 1 })
  expect(await inDoubt(story)).toBeNull()
  expect(await story.findings()).toEqual([])
})

test('leavers are looked up before all others', async () => {
  await using story = await openStory(host)
  story.setFault((request) => (isUpsert(request) ? faults.resetAfter : faults.pass))
  const run = await story.night()
  await story.heal()
  await story.end(run)
  lookedUpKeys(story)

  await story.advanceMinutes(1)

  expect(lookedUpKeys(story).slice(0, 3)).toEqual(['E0004', 'E0005', 'E0001'])
})

test('many people are read from pages of the list', { tags: ['full'] }, async () => {
  await using story = await openStory(host, { people: 40 })
  story.setFault((request) => (isUpsert(request) ? faults.resetAfter : faults.pass))
  const run = await story.night()
  await story.heal()
  await story.end(run)
  lookedUpKeys(story)

  await story.advanceMinutes(1)

  const requests = story.proxy.requests.map(({ operation }) => operation)
  expect(requests).toEqual(['getHrisUserIdentity', 'getHrisUserIdentity', 'listHrisUserIdentities'])
  expect(await inDoubt(story)).toMatchObject({ people: 40, leavers: 2 })
})

test('while the platform does not answer, people stay in doubt and are looked up every minute', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.leave('E0003', '2026-11-19')
  await doubtfulNight(story)
  await story.advanceMinutes(14)
  story.proxy.fault(() => faults.answer({ status: 503 }))
  lookedUpKeys(story)

  for (let minute = 0; minute < 20; minute++) await story.advanceMinutes(1)
  const meanwhile = lookedUpKeys(story)
  await story.heal()
  await story.advanceMinutes(1)
  await story.advanceMinutes(15)

  expect(meanwhile.length).toBeGreaterThanOrEqual(19)
  expect(await inDoubt(story)).toBeNull()
})

test('people of a batch are in doubt once they are closed, although the rest of it stays due', async () => {
  await using story = await openStory(host, { delivery: { updateWave: 100 } })
  await story.night()
  story.hr.leave('E0002', '2026-11-18')
  story.hr.leave('E0003', '2026-11-19')
  const isOf = (id: string) => (request: ReceivedRequest) => request.identityIds.includes(id)
  story.setFault((request) => (isOf('E0003')(request) ? faults.delayed(100, faults.resetAfter) : faults.pass))
  await story.night()

  const counts = await inDoubt(story)

  expect(counts).toMatchObject({ people: 1, leavers: 1 })
})

test('a look-up does not overwrite what was accepted or delivered meanwhile', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.change('E0002', { title: 'Director' })
  await doubtfulNight(story)
  const { world } = story
  const { platform } = world.sync
  between(world, (real) => ({
    async getHrisUserIdentity(input, options) {
      const answer = await real.getHrisUserIdentity(input, options)
      Object.assign(world.sync, { platform })
      story.hr.change('E0002', { title: 'King' })
      await story.night()
      return answer
    },
  }))
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)

  await readInDoubt(world.sync)

  expect((await peopleOn(story.client)).get('E0002')?.jobTitle).toBe('King')
  expect(await story.findings()).toEqual([])
})

test('a command looks up people who are due before it plans, so that its own run repairs differences', {
  tags: ['full'],
}, async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.leave('E0003', '2026-11-19')
  await doubtfulNight(story)
  await story.platformHolds({ identityId: 'E0003', separatedAt: null })
  story.world.clock.now = new Date(story.world.clock.now.getTime() + 60_000)

  const run = await story.night()

  expect(run).toMatchObject({ state: 'finished', counts: { leave: 1 } })
  expect(await story.findings()).toEqual([])
})

test('two processes that look people up at the same time look nobody up twice', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.leave('E0003', '2026-11-19')
  await doubtfulNight(story)
  story.world.clock.now = new Date(story.world.clock.now.getTime() + 60_000)
  const { signal } = new AbortController()
  const read = () => verifyPeopleInDoubt(story.world.sync, { connections: ['acme'], repairs: 'by a run', signal })

  await Promise.all([read(), read()])

  expect(lookedUpKeys(story)).toEqual(['E0003'])
})

test('people of an uncertain batch who are found as sent are in doubt like the others', {
  tags: ['full'],
}, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(staff(40))
  const line = { isUp: false }
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) => {
      const isFirst = input.params.userIdentityId === 'identity-id:E0001'
      const answer = line.isUp || isFirst ? await real.updateHrisUserIdentity(input, options) : null
      return line.isUp && answer ? answer : { status: 'unreachable', reason: 'timeout', message: 'late', sent: true }
    },
  }))
  const leavers = ['E0001', 'E0002', 'E0003']
  const { id } = await world.night(
    change(staff(40), ...leavers.map((key) => ({ id: key, leavingDate: '2026-11-05' }))),
    {
      asOf: '2026-11-21T01:00:00.000Z',
    },
  )
  line.isUp = true
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)

  await sweep(world.sync)
  await world.drain()

  const { db } = world.sync.store
  const doubted = await db.selectFrom('in_doubt').select('identity_id').orderBy('identity_id').execute()
  expect(await world.runOf(id)).toMatchObject({ state: 'finished', confirmed: 3 })
  expect(doubted.map(({ identity_id }) => identity_id)).toEqual(leavers)
})

/** Puts everybody in doubt since twenty minutes ago, so that the look-up is due now. */
async function doubtAll({ sync, clock }: World, runId: string): Promise<void> {
  await sql`
    insert into in_doubt (connection, identity_id, run_id, since, due_at)
    select connection, identity_id, ${runId}, ${clock.now}::timestamptz - interval '20 minutes', ${clock.now} from roster`.execute(
    sync.store.db,
  )
}

test('results from before the platform stopped answering are recorded, and only the others are looked up again soon', {
  tags: ['full'],
}, async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { id } = await world.night(staff(600))
  await doubtAll(world, id)
  let pages = 0
  between(world, (real) => ({
    listHrisUserIdentities: async (input, options) => {
      pages++
      if (pages === 1) return await real.listHrisUserIdentities(input, options)
      return {
        status: 'undeclared',
        httpStatus: 503,
        error: { message: 'no', code: null, name: null },
        retryAfterMs: null,
      }
    },
  }))

  await readInDoubt(world.sync)

  const soon = new Date(world.clock.now.getTime() + 60_000)
  const { db } = world.sync.store
  const unread = await db.selectFrom('in_doubt').select('identity_id').where('due_at', '=', soon).execute()
  expect(pages).toBe(2)
  expect(unread).toHaveLength(100)
})

/** Waits until a session of the store waits for another one. */
async function untilWaiting({ db }: World['sync']['store']): Promise<void> {
  const waiting = sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(async () => (await waiting.execute(db)).rows).toEqual([{ count: 1 }])
}

test.each([
  ['read back', (world: World) => readInDoubt(world.sync)],
  [
    'marked as uncertain',
    async (world: World) => {
      const [run] = await world.sync.store.db.selectFrom('runs').select('id').execute()
      await markUncertain(world.sync.store.db, { runId: run?.id ?? '', batch: 1, now: world.clock.now })
    },
  ],
])('people who are %s wait for a plan that is being accepted, without blocking it', async (_name, task) => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { id } = await world.night(staff(3))
  const { db } = world.sync.store
  await sql`insert into acknowledged (connection, identity_id, confirmed) values ('acme', 'E0001', null)`.execute(db)
  await doubtAll(world, id)

  // In the order of a plan that is accepted.
  const { done } = await db.transaction().execute(async (tx) => {
    await changeRoster(tx, 'acme')
    await sql`update acknowledged set run_id = null`.execute(tx)
    const running = task(world)
    await untilWaiting(world.sync.store)
    await sql`select from roster for update nowait`.execute(tx)
    return { done: running }
  })
  await done

  expect(world.events).not.toContainEqual(expect.objectContaining({ event: 'unexpected' }))
})
