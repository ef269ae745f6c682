import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { removeExpired } from '../../../src/store/retention/retain.ts'
import { rosterEntry } from '../../../src/store/roster/roster.ts'
import { readRunAccount } from '../../../src/store/runs/accounts.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import type { RevertAccount } from '../../../src/store/schema.ts'
import type { SourceFeed } from '../../../src/sync/context/context.ts'
import { approveRun, cancelRun, rejectRun, requestRevert, requestRun, retractPerson } from '../../../src/sync/sync.ts'
import { lastRun, later, receive, terminated, updated, webhookFeed } from '../../helpers/events.ts'
import { noLimits } from '../../helpers/guards/no-limits.ts'
import {
  between,
  change,
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const right = '2026-11-19T01:00:00.000Z'
const wrong = '2026-11-20T01:00:00.000Z'
const mended = '2026-11-21T01:00:00.000Z'
const people = staff(20)

async function open({ feed = {}, guards = noLimits }: { feed?: Partial<SourceFeed>; guards?: Guards } = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, feed, connection: { guards }, webhook: webhookFeed() })
  await world.night(people, { asOf: right })
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function ask(world: World, runId: string): Promise<Run> {
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)
  const signal = new AbortController().signal
  return await requestRevert(world.sync, { runId, reason: 'the export was wrong', by: 'ops', signal })
}

async function revert(world: World, { id }: Run): Promise<Run> {
  const requested = await ask(world, id)
  await world.drain()
  return await world.runOf(requested.id)
}

async function accounted(world: World, { id }: Run): Promise<RevertAccount | undefined> {
  return (await readRunAccount(world.sync.store.db, id))?.revert
}

const listed = <S extends number>(status: S, message: string) =>
  ({ status, error: { message, code: null, name: null }, headers: {} }) as const

/** The people on the platform, without its own fields. */
async function held(client: Parameters<typeof peopleOn>[0]) {
  const all = await peopleOn(client)
  return [...all.values()].map(({ identityId, email, firstName, jobTitle, startedAt, separatedAt }) => ({
    identityId,
    email,
    firstName,
    jobTitle,
    startedAt,
    separatedAt,
  }))
}

const spoiled: readonly HrPerson[] = [
  ...change(
    without(people, 'E0002'),
    { id: 'E0001', leavingDate: '2026-11-18' },
    { id: 'E0003', title: 'Wrong', email: 'wrong@acme.example' },
    { id: 'E0004', status: 'Inactive' },
  ),
  { id: 'N1', title: 'Never hired', start: '2020-01-06', status: 'Active' },
]

test('a revert undoes a run, lists its joiners, and the next correct export sends nothing twice', async () => {
  await using opened = await open()
  const { world, client } = opened
  const before = await held(client)
  const mistake = await world.night(spoiled, { asOf: wrong })

  const run = await revert(world, mistake)

  expect(mistake.counts).toMatchObject({ leave: 3, update: 1, join: 1 })
  expect(run).toMatchObject({
    feed: 'revert',
    trigger: 'operator',
    state: 'finished',
    source: null,
    options: { revert: { runId: mistake.id, reason: 'the export was wrong', by: 'ops' } },
    counts: { return: 3, update: 1, leave: 0 },
    confirmed: 4,
  })
  expect(await accounted(world, run)).toEqual({
    runId: mistake.id,
    people: 4,
    joiners: { count: 1, keys: ['N1'] },
    retracted: { count: 0, keys: [] },
    left: { count: 0, people: [] },
  })
  expect((await held(client)).filter(({ identityId }) => identityId !== 'N1')).toEqual(before)

  const next = await world.night([...people, ...spoiled.slice(-1)], { asOf: mended })

  expect(next).toMatchObject({ state: 'unchanged', sent: { upsert: { requests: 0 }, update: { requests: 0 } } })
})

test('the same wrong export plans the same changes again, under the same guards', { tags: ['full'] }, async () => {
  await using opened = await open({ guards: Guards.parse({ leavers: { count: 2, share: 0 } }) })
  const { world } = opened
  const mistake = await world.night(spoiled, { asOf: wrong })
  await approveRun(world.sync, { runId: mistake.id, digest: mistake.digest ?? '', by: 'ops' })
  await world.drain()
  await revert(world, mistake)

  const again = await world.night(spoiled, { asOf: wrong })

  expect(again).toMatchObject({ state: 'held', counts: { leave: 3, update: 1 } })
})

test('a corrected date and a return are reverted to the previous date', async () => {
  await using opened = await open()
  const { world, client } = opened
  const gone = change(people, { id: 'E0001', leavingDate: '2026-11-10' }, { id: 'E0002', leavingDate: '2026-11-11' })
  await world.night(gone, { asOf: '2026-11-19T02:00:00.000Z' })
  const mistake = await world.night(change(people, { id: 'E0001', leavingDate: '2026-10-10' }), { asOf: wrong })

  const run = await revert(world, mistake)
  const next = await world.night(gone, { asOf: mended })

  expect(mistake.counts).toMatchObject({ correct: 1, return: 1 })
  expect(run).toMatchObject({ state: 'finished', counts: { correct: 1, leave: 1 } })
  const all = await peopleOn(client)
  expect([all.get('E0001')?.separatedAt, all.get('E0002')?.separatedAt]).toEqual([
    '2026-11-10T00:00:00.000Z',
    '2026-11-11T00:00:00.000Z',
  ])
  expect(next.state).toBe('unchanged')
})

test('people with newer facts stay unchanged, and are listed with the reason', async () => {
  await using opened = await open()
  const { world, client } = opened
  const mistake = await world.night(spoiled, { asOf: wrong })
  await receive(
    world,
    updated('E0003', 'Right', '2026-11-20T02:00:00.000Z'),
    terminated('E0002', '2026-11-17', '2026-11-20T02:00:00.000Z'),
  )
  await later(world, 600)
  const event = (
    await world.sync.store.db.selectFrom('runs').select('id').where('feed', '=', 'webhook').executeTakeFirstOrThrow()
  ).id

  const run = await revert(world, mistake)

  expect(run).toMatchObject({ state: 'finished', counts: { return: 2, update: 0 } })
  const reason = `run ${event} accepted a change of them since`
  expect((await accounted(world, run))?.left).toEqual({
    count: 2,
    people: [
      { identityId: 'E0002', reason },
      { identityId: 'E0003', reason },
    ],
  })
  const all = await peopleOn(client)
  expect([all.get('E0002')?.separatedAt, all.get('E0003')?.jobTitle]).toEqual(['2026-11-17T00:00:00.000Z', 'Right'])
})

test('refused changes are reverted too, so that no later run sends them', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client } = opened
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      const isRefused = JSON.stringify(input.body).includes('E0003')
      return isRefused ? listed(400, 'this will not do') : await real.upsertHrisUserIdentities(input, options)
    },
  }))
  const mistake = await world.night(change(people, { id: 'E0003', title: 'Wrong' }, { id: 'E0004', title: 'Wrong' }), {
    asOf: wrong,
  })
  between(world, () => client)

  await revert(world, mistake)
  const next = await world.night(people, { asOf: mended })

  expect(mistake).toMatchObject({ state: 'finished_with_problems', problems: 1 })
  expect(next.state).toBe('unchanged')
  expect(await rosterEntry(world.sync.store.db, { connection: 'acme', identityId: 'E0003' })).toMatchObject({
    desired: { jobTitle: 'Engineer' },
  })
})

test('a departure that an earlier run stated stays, even if the platform refused it until the reverted run', async () => {
  await using opened = await open()
  const { world, client } = opened
  between(world, (real) => ({
    updateHrisUserIdentity: async (input, options) =>
      input.params.userIdentityId === 'identity-id:E0001'
        ? listed(400, 'no')
        : await real.updateHrisUserIdentity(input, options),
  }))
  await receive(world, terminated('E0001', '2026-11-19', '2026-11-20T02:01:00.000Z'))
  await later(world, 600)
  between(world, () => client)
  await receive(world, updated('E0001', 'Wrong', '2026-11-20T02:02:00.000Z'))
  await later(world, 600)
  const mistake = await lastRun(world)

  const run = await revert(world, mistake)

  expect(mistake).toMatchObject({ state: 'finished', counts: { leave: 1 } })
  expect(run).toMatchObject({ state: 'finished', counts: { update: 1, return: 0 } })
  const person = (await peopleOn(client)).get('E0001')
  expect([person?.jobTitle, person?.separatedAt]).toEqual(['Engineer', '2026-11-19T00:00:00.000Z'])
})

test('a revert beyond a limit is held, and is delivered once it is approved', async () => {
  await using opened = await open({ guards: Guards.parse({ returns: { count: 2, share: 0 } }) })
  const { world, client } = opened
  const mistake = await world.night(spoiled, { asOf: wrong })

  const run = await revert(world, mistake)

  expect(run).toMatchObject({ state: 'held', counts: { return: 3 } })
  expect(run.reason).toContain('returns: 3 of 18 people who left would come back')
  await expect(ask(world, mistake.id)).rejects.toThrow(/is held: approve or reject it/)
  await approveRun(world.sync, { runId: run.id, digest: run.digest ?? '', by: 'ops' })
  await world.drain()
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBeNull()
})

test('a revert separates a pinned person only after an approval', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, connection: { guards: noLimits, pinned: new Set(['E0001']) } })
  const gone = change(people, { id: 'E0001', leavingDate: '2026-11-10' })
  const first = await world.night(gone, { asOf: right })
  await approveRun(world.sync, { runId: first.id, digest: first.digest ?? '', by: 'ops' })
  await world.drain()
  const mistake = await world.night(people, { asOf: wrong })

  const run = await revert(world, mistake)

  expect(run).toMatchObject({ state: 'held', counts: { leave: 1 } })
  expect(run.reason).toContain('pinned: 1 of the pinned people would be separated')
})

test('a run whose values were removed cannot be reverted', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world } = opened
  const mistake = await world.night(spoiled, { asOf: wrong })
  const { now } = world.clock
  await removeExpired(
    world.sync.store.db,
    { valuesDays: 30, historyDays: 365 },
    new Date(now.getTime() + 40 * 86_400_000),
  )

  await expect(ask(world, mistake.id)).rejects.toThrow(/the values of the run were removed, as their time was over/)
})

test('a held revert whose people got newer facts is made again on approval, and does not change them', {
  tags: ['full'],
}, async () => {
  await using opened = await open({ guards: Guards.parse({ returns: { count: 2, share: 0 } }) })
  const { world, client } = opened
  const mistake = await world.night(spoiled, { asOf: wrong })
  const run = await revert(world, mistake)
  await receive(world, updated('E0001', 'Adviser', '2026-11-20T02:00:00.000Z'))
  await later(world, 600)

  const again = await approveRun(world.sync, { runId: run.id, digest: run.digest ?? '', by: 'ops' })
  await world.drain()

  expect(await world.runOf(again.id)).toMatchObject({ state: 'finished', feed: 'revert', counts: { return: 2 } })
  const all = await peopleOn(client)
  expect([all.get('E0001')?.separatedAt, all.get('E0002')?.separatedAt]).toEqual(['2026-11-18T00:00:00.000Z', null])
})

test('with grace, a reverted absence has to be observed as often again', { tags: ['full'] }, async () => {
  await using opened = await open({ feed: { graceRuns: 2 } })
  const { world } = opened
  const absent = without(people, 'E0002')
  await world.night(absent, { asOf: wrong })
  const mistake = await world.night(absent, { asOf: mended })
  await revert(world, mistake)

  const first = await world.night(absent, { asOf: '2026-11-22T01:00:00.000Z' })
  const second = await world.night(absent, { asOf: '2026-11-23T01:00:00.000Z' })

  expect([mistake, first, second].map(({ counts }) => counts?.leave)).toEqual([1, 0, 1])
})

describe('a revert is refused with a sentence for', () => {
  test('an unknown run, a held one, one that changed nothing, and one that was rejected', async () => {
    await using opened = await open({ guards: Guards.parse({ leavers: { count: 0, share: 0 } }) })
    const { world } = opened
    const waits = await world.night(spoiled, { asOf: wrong })

    await expect(ask(world, '00000000-0000-4000-8000-000000000000')).rejects.toThrow(/^there is no run 0000/)
    await expect(ask(world, waits.id)).rejects.toThrow(/it is held, and nothing of it was sent; `rollcall reject/)
    await rejectRun(world.sync, { runId: waits.id, by: 'ops' })
    await expect(ask(world, waits.id)).rejects.toThrow(/it is rejected, and nothing of it was sent/)
    const idle = await world.night(people, { asOf: wrong })
    await expect(ask(world, idle.id)).rejects.toThrow(/it is unchanged, and nothing of it was sent/)
  })

  test('an active run, a run that was already reverted, and a revert', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    world.setExport(spoiled, wrong)
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await expect(ask(world, id)).rejects.toThrow(/it is waiting; wait until it has ended, or cancel it first/)
    await world.drain()

    const run = await revert(world, await world.runOf(id))

    await expect(ask(world, id)).rejects.toThrow(`run ${id} was reverted already, by run ${run.id} (finished)`)
    await expect(ask(world, run.id)).rejects.toThrow(/it is itself a revert; `rollcall sync` sends what HR says now/)
  })

  test('a retraction, and a run with nothing to revert', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const mistake = await world.night(spoiled, { asOf: wrong })
    await world.night([...people, ...spoiled.slice(-1)], { asOf: mended })
    const requested = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'N1',
      reason: 'never hired',
      by: 'ops',
    })
    await approveRun(world.sync, { runId: requested.id, digest: requested.digest ?? '', by: 'ops' })
    await world.drain()

    await expect(ask(world, requested.id)).rejects.toThrow(/it retracted N1; `rollcall retract N1 --undo` undoes that/)
    await expect(ask(world, mistake.id)).rejects.toThrow(
      /nothing of run \S+ is left to revert; 5 are left as they are, such as E0001: run \S+ accepted a change of them since/,
    )
  })
})

test('changes that a cancelled run accepted and never sent are reverted, so that the next run does not send them', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world, client } = opened
  world.setExport(spoiled, wrong)
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  const job = world.jobs.shift()
  if (job) await world.workOn(job)
  await cancelRun(world.sync, { runId: id, by: 'ops' })
  world.jobs.length = 0

  const run = await revert(world, await world.runOf(id))

  expect(run).toMatchObject({ state: 'unchanged', confirmed: 0 })
  expect(await accounted(world, run)).toMatchObject({ people: 4, joiners: { keys: ['N1'] } })
  expect((await peopleOn(client)).get('E0001')?.separatedAt).toBeNull()
  expect(await rosterEntry(world.sync.store.db, { connection: 'acme', identityId: 'E0001' })).toMatchObject({
    desired: { separatedAt: null },
  })
})
