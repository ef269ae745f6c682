import { afterAll, beforeAll, expect, test } from 'vitest'
import { listBlockedPeople } from '../../src/store/rejects/blocked-people.ts'
import { requestRun } from '../../src/sync/sync.ts'
import { firstOf } from '../helpers/tier.ts'
import { openFileWorld } from '../helpers/twin-worlds.ts'
import {
  change,
  type Host,
  type HrPerson,
  headers,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
} from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const people = staff(20)
const contradicted: HrPerson = { id: 'E0007', leavingDate: '2026-06-30', status: 'Active' }

async function listed({ sync }: World) {
  const entries = await listBlockedPeople(sync.store.db, { now: sync.now() })
  return entries.map(({ identityId, leaver, line, reason, accepted }) => ({
    identityId,
    leaver,
    line,
    reason,
    accepted,
  }))
}

function csvOf(rows: readonly HrPerson[]): string {
  const lines = rows.map(({ id, email, first, title, start, leavingDate: left, status }) => [
    id,
    email,
    first,
    title,
    start,
    left,
    status,
  ])
  return [headers, ...lines].map((cells) => `${cells.join(',')}\n`).join('')
}

const warning = expect.stringMatching(/^the status of \d+ (person|people) says employed, /)

const theirs = {
  identityId: 'E0007',
  leaver: false,
  reason:
    'the status says employed, and the last day of employment, 2026-06-30, is over: ' +
    'the person stays separated; ask HR which is right',
  accepted: true,
}

test('a person whose status contradicts the leaving date is listed from the first night until HR corrects it', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const night = (rows: readonly HrPerson[], day: number) => world.night(rows, { asOf: `2026-11-${day}T01:00:00.000Z` })

  const first = await night(change(people, contradicted), 18)
  const onFirst = await listed(world)
  await night(change(people, contradicted), 19)
  const again = await listed(world)
  const corrected = await night(change(people, { id: 'E0007', leavingDate: '2026-06-30', status: 'Inactive' }), 20)

  expect(first.state).toBe('finished')
  expect(first.warnings).toContainEqual(warning)
  expect(onFirst).toEqual([{ ...theirs, line: expect.any(Number) }])
  expect(again).toEqual(onFirst)
  expect((await peopleOn(client)).get('E0007')?.separatedAt).toBe('2026-06-30T00:00:00.000Z')
  expect(corrected.warnings).not.toContainEqual(warning)
  expect(await listed(world)).toEqual([])
})

test.each<readonly [string, HrPerson]>(
  firstOf(1, [
    ['the status', { id: 'E0007', leavingDate: '2026-06-30', status: 'Inactive' }],
    ['the date, which is blank now', { id: 'E0007', status: 'Active' }],
    ['the date, which lies ahead now', { id: 'E0007', leavingDate: '2027-06-30', status: 'Active' }],
  ]),
)('the contradiction ends once HR has corrected %s', async (_, corrected) => {
  await using opened = await openFileWorld(host, { isSparing: true })
  const { world, shown, skipped: counted } = opened
  const company = staff(60)
  const night = async (rows: readonly HrPerson[], day: number) => {
    world.clock.now = new Date(`2026-11-${day}T03:00:00.000Z`)
    Object.assign(shown, { text: csvOf(rows), asOf: `2026-11-${day}T01:00:00.000Z` })
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await world.drain()
    return await world.runOf(id)
  }

  await night(company, 21)
  await night(change(company, contradicted), 22)
  await night(change(company, contradicted), 23)
  const onThird = await listed(world)
  const run = await night(change(company, corrected), 24)

  expect(counted.total).toBeGreaterThan(0)
  expect(onThird).toEqual([{ ...theirs, line: 8 }])
  expect(run.warnings).not.toContainEqual(warning)
  expect(await listed(world)).toEqual([])
})

test('a person who comes back with a later start, or left in the last days, is no contradiction', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const rows = change(
    people,
    { id: 'E0001', start: '2026-07-01', leavingDate: '2026-06-30', status: 'Active' },
    { id: 'E0002', leavingDate: '2026-11-15', status: 'Active' },
    { id: 'E0005', start: '2026-12-01', leavingDate: '2026-06-30', status: 'Active' },
    { id: 'E0003', leavingDate: '2026-12-31', status: 'Active' },
    { id: 'E0004', leavingDate: '2026-06-30', status: 'Inactive' },
  )

  const run = await world.night(rows, { asOf: '2026-11-18T12:00:00.000Z' })

  expect(run.warnings).not.toContainEqual(warning)
  expect(await listed(world)).toEqual([])
})

test('HR has three days to change the status of a leaver', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const rows = change(people, { id: 'E0002', leavingDate: '2026-11-14', status: 'Active' })

  await world.night(rows, { asOf: '2026-11-17T23:00:00.000Z' })
  const onThirdDay = await listed(world)
  await world.night(rows, { asOf: '2026-11-18T01:00:00.000Z' })

  expect(onThirdDay).toEqual([])
  expect(await listed(world)).toMatchObject([{ identityId: 'E0002' }])
})

test('a row that is not the current row of a person causes no contradiction', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const rows = [...change(people, contradicted), { ...people[6], id: 'E0007' }]

  const run = await world.night(rows, { asOf: '2026-11-18T01:00:00.000Z' })

  expect(run.warnings).not.toContainEqual(warning)
  expect((await listed(world)).map(({ reason }) => reason)).toEqual([expect.stringContaining('more than once')])
})

test('two contradictory rows are rejected, and only the rejection is listed', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  world.source.slice = 20
  const rows = [...change(people, contradicted), { ...people[6], ...contradicted }]

  await world.night(people, { asOf: '2026-11-17T01:00:00.000Z' })
  await world.night(rows, { asOf: '2026-11-18T01:00:00.000Z' })

  expect((await listed(world)).map(({ reason }) => reason)).toEqual([expect.stringContaining('more than once')])
})

test('contradictions do not count as rejected rows and hold no plan', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const many = people.map((person, at) => (at < 9 ? { ...person, leavingDate: `2026-06-${10 + at}` } : person))

  const run = await world.night(many, { asOf: '2026-11-18T01:00:00.000Z' })

  expect(run.guards?.filter(({ ok }) => !ok)).toEqual([])
  expect(await listed(world)).toHaveLength(9)
})
