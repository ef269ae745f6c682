import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countBlockedPeople, listBlockedPeople } from '../../../src/store/rejects/blocked-people.ts'
import { endHoldBack, holdBack, listHoldBacks } from '../../../src/sync/requests/hold-backs.ts'
import { approveRun, requestDueRuns, requestRun, retractPerson } from '../../../src/sync/sync.ts'
import { lastRun } from '../../helpers/events.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const request = { connection: 'acme', reason: 'HR mends it', by: 'ana' }
const company = staff(12)

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  await world.night(company, { asOf: '2026-11-19T01:00:00.000Z' })
  const storedDateOf = async (id: string) => (await peopleOn(client)).get(id)?.separatedAt
  return { world, storedDateOf, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

test('a leaver is brought back without an export, is listed meanwhile, and leaves on the day without one', async () => {
  await using opened = await open()
  const { world, storedDateOf } = opened
  const { db } = world.sync.store
  const missing = without(company, 'E0003')
  await world.night(missing, { asOf: '2026-11-20T01:00:00.000Z' })
  const before = await storedDateOf('E0003')

  const { runId } = await holdBack(world.sync, { ...request, identityId: 'E0003', until: '2026-12-01' })
  await world.drain()
  const back = await world.runOf(runId ?? '')
  const between = await storedDateOf('E0003')
  const night = await world.night(missing, { asOf: '2026-11-21T01:00:00.000Z' })
  const named = await listBlockedPeople(db, { now: world.clock.now, limit: 10 })
  const tally = (await countBlockedPeople(db, { now: world.clock.now })).get('acme')
  await requestDueRuns(world.sync)
  const early = await lastRun(world)
  world.clock.now = new Date('2026-12-01T00:01:00.000Z')
  await requestDueRuns(world.sync)
  await world.drain()

  expect([before, between, await storedDateOf('E0003')]).toEqual([
    '2026-11-20T00:00:00.000Z',
    null,
    '2026-11-20T00:00:00.000Z',
  ])
  expect([back.feed, back.counts]).toMatchObject(['roster', { return: 1 }])
  expect([night.state, early.id]).toEqual(['unchanged', night.id])
  expect(named).toMatchObject([
    { identityId: 'E0003', leaver: true, reason: 'left on 2026-11-20, which is held back until 2026-12-01' },
  ])
  expect(tally).toEqual({ people: 1, leavers: 1, rows: 0 })
  expect(await listBlockedPeople(db, { now: world.clock.now, limit: 10 })).toEqual([])
  expect(await listHoldBacks(world.sync, 'acme')).toEqual([])
})

test('a leaver of a held plan stays if held back before the approval, and leaves when the hold-back ends', async () => {
  await using opened = await open()
  const { world, storedDateOf } = opened
  const gone = company.slice(0, 6).map(({ id }) => ({ id, status: 'Inactive' }))
  const held = await world.night(change(company, ...gone), { asOf: '2026-11-20T01:00:00.000Z' })

  const { runId } = await holdBack(world.sync, { ...request, identityId: 'E0003', until: '2026-12-01' })
  const { moved } = await world.runOf(held.id)
  await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' })
  await world.drain()
  const after = [await storedDateOf('E0002'), await storedDateOf('E0003')]
  const ended = await endHoldBack(world.sync, { connection: 'acme', identityId: 'E0003', by: 'ana' })
  await world.drain()

  expect([runId, moved]).toEqual([null, 'the departure of 1 person in it is held back until 2026-12-01, by ana'])
  expect(after).toEqual(['2026-11-20T00:00:00.000Z', null])
  expect(ended.runId).not.toBeNull()
  expect(await storedDateOf('E0003')).toBe('2026-11-20T00:00:00.000Z')
})

describe('is refused', () => {
  let opened: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    opened = await open()
    const { sync } = opened.world
    const { id, digest } = await retractPerson(sync, { ...request, identityId: 'E0012' })
    await approveRun(sync, { runId: id, digest: digest ?? '', by: 'ana' })
    await opened.world.drain()
    await holdBack(sync, { ...request, identityId: 'E0001', until: '2026-12-01' })
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  test.each([
    { name: 'a person whom no one knows', identityId: 'X1', until: '2026-12-01', sentence: 'has no person X1' },
    { name: 'a person who was retracted', identityId: 'E0012', until: '2026-12-01', sentence: 'E0012 was retracted' },
    {
      name: 'a person twice',
      identityId: 'E0001',
      until: '2026-12-02',
      sentence: 'held back until 2026-12-01 already',
    },
    { name: 'today', identityId: 'E0002', until: '2026-11-20', sentence: 'is not in the future: today is 2026-11-20' },
    { name: 'a day that is over', identityId: 'E0002', until: '2026-11-01', sentence: 'is not in the future' },
    { name: 'a day that does not exist', identityId: 'E0002', until: '2026-11-31', sentence: 'is not a day' },
    { name: 'a day written otherwise', identityId: 'E0002', until: '1.12.2026', sentence: 'is not a day' },
    { name: 'for years', identityId: 'E0002', until: '2028-01-01', sentence: 'more than a year ahead' },
  ])('$name', async ({ identityId, until, sentence }) => {
    await expect(holdBack(opened.world.sync, { ...request, identityId, until })).rejects.toThrow(sentence)
  })

  test('the end of an unknown hold-back', async () => {
    const { sync } = opened.world

    await expect(endHoldBack(sync, { connection: 'acme', identityId: 'E0002', by: 'ana' })).rejects.toThrow(
      'no departure of person E0002 is held back',
    )
  })

  test('while a plan is being made, which would not include it; the same for its end', async () => {
    const { sync, jobs } = opened.world
    const { id } = await requestRun(sync, { connection: 'acme', trigger: 'operator' })
    jobs.length = 0
    await sync.store.db.updateTable('runs').set({ state: 'reading' }).where('id', '=', id).execute()

    const refusal = `run ${id} of "acme" is being planned`
    const placing = holdBack(sync, { ...request, identityId: 'E0004', until: '2026-12-01' })
    await expect(placing).rejects.toThrow(refusal)
    const ending = endHoldBack(sync, { connection: 'acme', identityId: 'E0001', by: 'ana' })
    await expect(ending).rejects.toThrow(refusal)
  })
})
