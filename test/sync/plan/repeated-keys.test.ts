import { afterAll, beforeAll, expect, test } from 'vitest'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { listBlockedPeople } from '../../../src/store/rejects/blocked-people.ts'
import type { SyncConnection } from '../../../src/sync/context/context.ts'
import { change, type Host, type HrPerson, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const everybody = staff(12)
const june = { id: 'E0003', title: 'Trainee', leavingDate: '2026-06-30' }
const july = { id: 'E0003', title: 'Director', leavingDate: '2026-07-31', status: 'Inactive' }

/** Everybody, with the second row of a person at the end of the export. */
function withSecond(first: HrPerson, second: HrPerson): HrPerson[] {
  return [...change(everybody, first), ...change(everybody, second).filter(({ id }) => id === second.id)]
}

/** A world in which everybody of the export is on the platform, and whose rows come one by one. */
async function open(connection: Partial<Omit<SyncConnection, 'feeds'>> = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, connection })
  world.source.slice = 1
  await world.night(everybody)
  return {
    world,
    people: () => peopleOn(client),
    blockedPeople: () => listBlockedPeople(world.sync.store.db, { now: world.clock.now }),
  }
}

test('a person whose rows all say "left" is separated on the earliest day, and the rows stay listed until HR fixes them', async () => {
  const { world, people, blockedPeople } = await open()
  await using _world = world

  const night = await world.night(withSecond(june, july), { asOf: '2026-11-21T01:00:00.000Z' })
  const again = await world.night(withSecond(june, july), { asOf: '2026-11-22T01:00:00.000Z' })
  const listed = await blockedPeople()
  const mended = await world.night(change(everybody, july), { asOf: '2026-11-23T01:00:00.000Z' })

  expect(night).toMatchObject({
    state: 'finished',
    counts: { leave: 1, rejected: 2, unchanged: 11 },
    blockedPeople: { people: 1, leavers: 0 },
  })
  expect(again).toMatchObject({ state: 'unchanged', counts: { leave: 0, rejected: 2, unchanged: 11 } })
  expect(listed).toMatchObject([{ identityId: 'E0003', rows: 2, leaver: false, cellOnly: false }])
  expect(listed[0]?.reason).toMatch(/also in line \d+; all of its rows say that the person has left, and nothing else/)
  expect(mended).toMatchObject({ counts: { correct: 1, rejected: 0 } })
  expect((await people()).get('E0003')).toMatchObject({ jobTitle: 'Director', separatedAt: '2026-07-31T00:00:00.000Z' })
  expect(await blockedPeople()).toEqual([])
})

test('a row that says something else makes it a contradiction, until that row says "left" too', async () => {
  const { world, people, blockedPeople } = await open()
  await using _world = world

  await world.night(withSecond(june, { id: 'E0003' }), { asOf: '2026-11-21T01:00:00.000Z' })
  const [contradiction] = await blockedPeople()
  const before = (await people()).get('E0003')
  const night = await world.night(withSecond(june, july), { asOf: '2026-11-22T01:00:00.000Z' })
  const [departure] = await blockedPeople()

  expect(contradiction).toMatchObject({ leaver: true, reason: expect.stringMatching(/also in line \d+$/) })
  expect(before).toMatchObject({ jobTitle: 'Engineer', separatedAt: null })
  expect(night.state).toBe('finished')
  expect(departure).toMatchObject({ leaver: false, reason: expect.stringContaining('nothing else of them is used') })
  expect((await people()).get('E0003')).toMatchObject({ jobTitle: 'Engineer', separatedAt: '2026-06-30T00:00:00.000Z' })
})

test('the guards count such a departure as a leaver, and its rows as rejected', async () => {
  const guards = Guards.parse({ leavers: { count: 0, share: 0 }, rejectedRows: { count: 1, share: 0 } })
  const { world, people } = await open({ guards })
  await using _world = world

  const run = await world.night(withSecond(june, july), { asOf: '2026-11-21T01:00:00.000Z' })

  expect(run.state).toBe('held')
  expect(run.guards?.filter(({ ok }) => !ok)).toMatchObject([
    { name: 'rejectedRows', actual: 2 },
    { name: 'leavers', actual: 1 },
  ])
  expect((await people()).get('E0003')).toMatchObject({ separatedAt: null })
})
