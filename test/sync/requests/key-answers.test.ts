import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { laterKeys, listKeyAnswers, openCandidates, resolveKey } from '../../../src/store/key-answers.ts'
import { listBlockedPeople } from '../../../src/store/rejects/blocked-people.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { answerKeys, answerPairs, withdrawAnswer } from '../../../src/sync/requests/key-answers.ts'
import { approveRun, requestRun, retractPerson } from '../../../src/sync/sync.ts'
import { heldRun, later, receive, terminated, webhookFeed } from '../../helpers/events.ts'
import { type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const acme = { connection: 'acme', by: 'ana' }
const company = staff(12)
/** The company after HR has issued the keys of its first people again. */
const reissued = (count: number) => company.map((person, at) => (at < count ? { ...person, id: `N${at + 1}` } : person))

async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client, webhook: webhookFeed() })
  await world.night(company, { asOf: '2026-11-19T01:00:00.000Z' })
  return { world, client, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function approve(world: World, { id, digest }: Run): Promise<Run> {
  const run = await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ana' })
  await world.drain()
  return await world.runOf(run.id)
}

const failed = ({ guards }: Run) => guards?.filter(({ ok }) => !ok) ?? []

describe('a person with a new key', () => {
  test('keeps the record on the platform, without a separation in between', async () => {
    await using opened = await open()
    const { world, client } = opened
    const before = (await peopleOn(client)).get('E0001')

    const held = await world.night(reissued(3), { asOf: '2026-11-20T01:00:00.000Z' })
    const waiting = await peopleOn(client)
    const answered = await answerPairs(world.sync, { runId: held.id, same: true, by: 'ana' })
    const moved = await world.runOf(held.id)
    const again = await approve(world, held)
    const next = await world.night(
      reissued(3).map((person) => (person.id === 'N1' ? { ...person, title: 'Lead' } : person)),
      { asOf: '2026-11-21T01:00:00.000Z' },
    )

    expect(failed(held)).toMatchObject([
      { name: 'rekeyed', actual: 3, people: ['E0001', 'N1', 'E0002', 'N2', 'E0003', 'N3'] },
    ])
    expect([...waiting.keys()]).not.toContain('N1')
    expect(answered).toEqual({ answered: 3, unclear: 0, moved: 1 })
    expect(moved.moved).toBe('3 answers about its keys were given since, by ana')
    expect([again.state, again.counts]).toMatchObject(['unchanged', { join: 0, leave: 0 }])
    expect(failed(next)).toEqual([])
    const people = await peopleOn(client)
    expect([...people.keys()].toSorted()).toEqual(company.map(({ id }) => id))
    expect(people.get('E0001')).toMatchObject({ id: before?.id, jobTitle: 'Lead', separatedAt: null })
  })

  test('leaves when the new key does, and not when the old one is listed as left', async () => {
    await using opened = await open()
    const { world, client } = opened
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: true })
    const old = { ...company[0], id: 'E0001', leavingDate: '2026-11-18', status: 'Inactive' }

    const both = await world.night([old, ...reissued(1)], { asOf: '2026-11-20T01:00:00.000Z' })
    const between = (await peopleOn(client)).get('E0001')?.separatedAt
    const gone = reissued(1).map((person) => (person.id === 'N1' ? { ...person, leavingDate: '2026-11-20' } : person))
    await world.night([old, ...gone], { asOf: '2026-11-21T01:00:00.000Z' })

    expect([both.state, between]).toEqual(['unchanged', null])
    expect((await peopleOn(client)).get('E0001')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
  })

  test('who is listed as employed under both keys stays as known, and is listed', async () => {
    await using opened = await open()
    const { world, client } = opened
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: true })

    await world.night([...company, { ...company[0], id: 'N1', title: 'Lead' }], { asOf: '2026-11-20T01:00:00.000Z' })

    expect((await peopleOn(client)).get('E0001')).toMatchObject({ jobTitle: 'Engineer', separatedAt: null })
    const listed = await listBlockedPeople(world.sync.store.db, { now: world.clock.now, limit: 10 })
    expect(listed.map(({ identityId, reason }) => [identityId, reason.split(',')[0]])).toEqual([
      ['E0001', 'the person stands in this file under two keys'],
    ])
  })

  test('is found by a second new key', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, client } = opened
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: true })
    await world.night(reissued(1), { asOf: '2026-11-20T01:00:00.000Z' })
    await answerKeys(world.sync, { ...acme, former: 'N1', identityId: 'M1', same: true })

    const run = await world.night([{ ...company[0], id: 'M1', title: 'Lead' }, ...company.slice(1)], {
      asOf: '2026-11-21T01:00:00.000Z',
    })

    expect(run.counts).toMatchObject({ update: 1, join: 0, leave: 0 })
    expect((await peopleOn(client)).get('E0001')?.jobTitle).toBe('Lead')
    expect((await listKeyAnswers(world.sync.store.db, 'acme')).map(({ former }) => former)).toEqual(['E0001', 'E0001'])
  })

  test('is a candidate again once the answer is withdrawn', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: true })
    await withdrawAnswer(world.sync, { ...acme, former: 'E0001', identityId: 'N1' })

    const run = await world.night(reissued(1), { asOf: '2026-11-20T01:00:00.000Z' })

    expect(failed(run)).toMatchObject([{ name: 'rekeyed', actual: 1 }])
  })
})

describe('a withdrawn answer', () => {
  const listed = async (world: World) =>
    (await listKeyAnswers(world.sync.store.db, 'acme')).map(({ former, identityId }) => `${former} ${identityId}`)

  test('keeps later answers, each of which names the previous key again', async () => {
    await using opened = await open()
    const { world } = opened
    const named = (identityId: string) => resolveKey(world.sync.store.db, { connection: 'acme', identityId })
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: true })
    world.clock.now = new Date(world.clock.now.getTime() + 1000)
    await answerKeys(world.sync, { ...acme, former: 'N1', identityId: 'M1', same: true })
    const before = [await listed(world), await named('M1')]
    const keys = await laterKeys(world.sync.store.db, { connection: 'acme', identityId: 'E0001' })

    await withdrawAnswer(world.sync, { ...acme, former: 'E0001', identityId: 'N1' })

    expect([...before, keys]).toEqual([['E0001 N1', 'E0001 M1'], 'E0001', ['N1', 'M1']])
    expect([await listed(world), await named('M1')]).toEqual([['N1 M1'], 'N1'])
    const run = await world.night([{ ...company[0], id: 'M1' }, ...company.slice(1)], {
      asOf: '2026-11-20T01:00:00.000Z',
    })
    expect(failed(run)).toMatchObject([{ name: 'rekeyed', people: ['E0001', 'N1'] }])
    expect(await openCandidates(world.sync.store.db, { connection: 'acme' })).toMatchObject([{ identityId: 'N1' }])
  })

  test('is found by the first key of its person, and earlier keys stay', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: true })
    await answerKeys(world.sync, { ...acme, former: 'N1', identityId: 'M1', same: true })
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'M1', same: true })

    await withdrawAnswer(world.sync, { ...acme, former: 'E0001', identityId: 'M1' })

    expect(await listed(world)).toEqual(['E0001 N1'])
    await answerKeys(world.sync, { ...acme, former: 'N1', identityId: 'M1', same: false })
    await expect(withdrawAnswer(world.sync, { ...acme, former: 'E0002', identityId: 'M1' })).rejects.toThrow(
      'there is no answer',
    )
    await answerKeys(world.sync, { ...acme, former: 'N1', identityId: 'M1', same: true })
    expect(await listed(world)).toEqual(['E0001 N1', 'E0001 M1'])
  })
})

test('two people with one mailbox are sent as they are once an operator says so and approves', async () => {
  await using opened = await open()
  const { world, client } = opened
  const heir = { ...company[0], id: 'N1', first: 'Somebody Else' }
  const held = await world.night([heir, ...company.slice(1)], { asOf: '2026-11-20T01:00:00.000Z' })

  await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: false })
  const run = await approve(world, held)

  expect(run).toMatchObject({ state: 'finished', digest: held.digest, decidedBy: 'ana' })
  const people = await peopleOn(client)
  expect([people.get('N1')?.firstName, people.get('E0001')?.separatedAt]).toEqual([
    'Somebody Else',
    '2026-11-20T00:00:00.000Z',
  ])
})

test('a mailbox that remaining people use too makes no pair', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world } = opened
  const shared = company.map((person, at) => (at < 4 ? { ...person, email: 'floor@acme.example' } : person))
  await world.night(shared, { asOf: '2026-11-20T01:00:00.000Z' })

  const run = await world.night([{ ...shared[0], id: 'N1', first: 'Somebody Else' }, ...shared.slice(1)], {
    asOf: '2026-11-21T01:00:00.000Z',
  })

  expect(failed(run)).toEqual([])
})

test('a pair in events is held with both of its people, and the others proceed', async () => {
  await using opened = await open()
  const { world, client } = opened
  const at = '2026-11-20T02:10:00.000Z'
  const hired = {
    type: 'hired',
    at: '2026-11-20T02:00:00.000Z',
    employee: { id: 'N1', email: 'e1@acme.example', first: 'Person 1', start: '2020-01-06' },
  } as const
  await receive(world, hired, terminated('E0001', '2026-11-19', at), terminated('E0002', '2026-11-19', at))

  await later(world, 6)
  const held = await heldRun(world)
  const between = await peopleOn(client)
  await answerPairs(world.sync, { runId: held.id, same: true, by: 'ana' })
  await approve(world, held)

  expect(held.counts).toMatchObject({ join: 1, leave: 1 })
  expect([between.get('E0001')?.separatedAt, between.get('E0002')?.separatedAt, between.has('N1')]).toEqual([
    null,
    '2026-11-19T00:00:00.000Z',
    false,
  ])
  const people = await peopleOn(client)
  expect([people.get('E0001')?.separatedAt, people.has('N1')]).toEqual([null, false])
})

describe('an answer is refused', () => {
  test.each([
    { name: 'about one key', keys: ['E0001', 'E0001'], sentence: 'both keys are E0001' },
    { name: 'that makes a loop', keys: ['N1', 'E0001'], sentence: 'an alias in the other direction would be a loop' },
    { name: 'about a person whom no one knows', keys: ['X1', 'N9'], sentence: 'has no person X1' },
    { name: 'onto a living person', keys: ['E0001', 'E0002'], sentence: 'E0002 is a separate person by now' },
    { name: 'onto a key that names another person', keys: ['E0002', 'N1'], sentence: 'N1 names the person E0001' },
    { name: 'about a person who was retracted', keys: ['E0012', 'N9'], sentence: 'person E0012 was retracted' },
    { name: 'about a key that a held export lists beside the person', keys: ['E0003', 'N3'], sentence: 'lists both' },
  ])('$name', async ({ keys: [former = '', identityId = ''], sentence }) => {
    const { world } = shared

    await expect(answerKeys(world.sync, { ...acme, former, identityId, same: true })).rejects.toThrow(sentence)
  })

  test('while a plan is being made, which would not include it', async () => {
    const { world } = shared
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    world.jobs.length = 0
    await world.sync.store.db.updateTable('runs').set({ state: 'reading' }).where('id', '=', id).execute()

    await expect(answerKeys(world.sync, { ...acme, former: 'E0004', identityId: 'N4', same: true })).rejects.toThrow(
      `run ${id} of "acme" is being planned`,
    )
  })

  let shared: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    shared = await open()
    const { world } = shared
    await answerKeys(world.sync, { ...acme, former: 'E0001', identityId: 'N1', same: true })
    await approve(world, await retractPerson(world.sync, { ...acme, identityId: 'E0012', reason: 'a test account' }))
    await world.night([...company, { id: 'N3', email: 'n3@acme.example' }, ...staff(50).slice(12)], {
      asOf: '2026-11-20T01:00:00.000Z',
    })
  })
  afterAll(() => shared[Symbol.asyncDispose]())
})

test('an answer to all pairs of a run covers the clear ones, and leaves the others', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world } = opened
  const { db } = world.sync.store
  const twice = [...reissued(2), { ...company[0], id: 'N1b' }]
  const held = await world.night(twice, { asOf: '2026-11-20T01:00:00.000Z' })

  const answered = await answerPairs(world.sync, { runId: held.id, same: true, by: 'ana' })

  expect(answered).toEqual({ answered: 1, unclear: 2, moved: 1 })
  expect(
    (await openCandidates(db, { connection: 'acme' })).map(({ identityId, clear }) => [identityId, clear]),
  ).toEqual([
    ['N1', false],
    ['N1b', false],
  ])
  await expect(answerPairs(world.sync, { runId: held.id, same: true, by: 'ana' })).rejects.toThrow(
    `each of the 2 pairs of run ${held.id} is ambiguous`,
  )
})
