import { afterAll, beforeAll, expect, test } from 'vitest'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { personOf } from '../../src/store/history/history.ts'
import { listEvents } from '../../src/store/inbox/review.ts'
import { type HrEvent, later, receive, terminated, updated, webhookFeed } from '../helpers/events.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Email',
    firstName: 'First Name',
    jobTitle: 'Job Title',
    startedAt: { column: 'Start Date' },
    separatedAt: { column: 'Leaving Date' },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  scope: '(`Job Title` != "Board")',
})

/** A company whose second export says nothing of E0002, E0003, E0004 and E0005, though all of them were known. */
async function silentNight() {
  const opened = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const feed = { mapping, graceRuns: 2, outOfScope: 'keep' } as const
  const world = opened.use(await openWorld({ client, feed, webhook: webhookFeed() }))
  const people = staff(12)
  await world.night(people, { asOf: '2026-11-19T01:00:00.000Z' })
  const [, , twice] = people
  const silent = [
    ...change(
      without(people, 'E0002'),
      { id: 'E0004', leavingDate: 'soon' },
      { id: 'E0005', title: 'Board' },
      { id: 'E0006', title: 'Lead' },
    ),
    ...(twice ? [{ ...twice, title: 'Lead' }] : []),
  ]
  await night(world, silent, '2026-11-20T01:00:00.000Z')
  return { world, client, silent, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function night(world: World, rows: ReturnType<typeof staff>, asOf: string): Promise<void> {
  const { state, reason } = await world.night(rows, { asOf })
  expect({ state, reason }).toEqual({ state: expect.stringMatching(/finished|unchanged/), reason: null })
}

const reasons = {
  E0002: 'is missing for the first of two times',
  E0003: 'stands there twice',
  E0004: 'has a leaving date that cannot be read',
  E0005: 'is out of scope and kept',
}

test('a departure that is older than an export takes effect if the export is silent about the person', async () => {
  await using opened = await silentNight()
  const { world, client } = opened

  for (const id of Object.keys(reasons)) {
    await receive(world, terminated(id, '2026-11-18', '2026-11-20T00:30:00.000Z'))
    await receive(world, updated(id, 'Chief', '2026-11-20T00:20:00.000Z'))
  }
  await later(world, 6)

  const people = await peopleOn(client)
  const actual = Object.keys(reasons).map((id) => [id, people.get(id)?.separatedAt, people.get(id)?.jobTitle])
  const gone = '2026-11-18T00:00:00.000Z'
  expect(actual).toEqual([
    ['E0002', gone, 'Chief'],
    ['E0003', gone, 'Chief'],
    // The export states the title.
    ['E0004', gone, 'Engineer'],
    ['E0005', gone, 'Chief'],
  ])
})

test('a departure that is older than an export has no effect if the export states that the person is employed', async () => {
  await using opened = await silentNight()
  const { world, client, silent } = opened
  await night(world, silent, '2026-11-20T01:00:00.000Z')
  await night(world, [...silent.filter(({ id }) => id !== 'E0003'), ...staff(3).slice(1)], '2026-11-20T02:00:00.000Z')

  for (const id of ['E0002', 'E0003', 'E0006'])
    await receive(world, terminated(id, '2026-11-18', '2026-11-20T01:30:00.000Z'))
  await later(world, 6)

  const people = await peopleOn(client)
  expect(['E0002', 'E0003', 'E0006'].map((id) => people.get(id)?.separatedAt)).toEqual([null, null, null])
})

test('an event without effect because of newer facts shows so, also with its person', { tags: ['full'] }, async () => {
  await using opened = await silentNight()
  const { world } = opened
  const { db } = world.sync.store
  const known = '2026-11-20T01:00:00.000Z'
  const reason = `older than what is known of E0006, which is of ${known}: nothing follows from it`

  await receive(world, terminated('E0006', '2026-11-18', '2026-11-20T00:30:00.000Z'))
  await receive(world, updated('E0006', 'Chief', '2026-11-20T00:20:00.000Z'))
  await receive(world, updated('E0006', 'Chief', '2026-11-20T01:20:00.000Z'))
  await later(world, 6)

  expect((await listEvents(db)).map((event) => [event.state, event.reason])).toEqual([
    ['settled', reason],
    ['settled', reason],
    ['settled', null],
  ])
  const overtaken = (await personOf(db, { connection: 'acme', identityId: 'E0006' }))?.overtaken
  expect(overtaken?.map((event) => event.reason)).toEqual([reason, reason])
})

test('an event whose employment alone is outdated shows that only this has no effect', { tags: ['full'] }, async () => {
  await using opened = await silentNight()
  const { world, client } = opened
  const { db } = world.sync.store
  const hired: HrEvent = { type: 'hired', at: '2026-11-20T02:00:00.000Z', employee: { id: 'E0006' } }
  const departure = terminated('E0006', '2026-11-18', '2026-11-20T01:30:00.000Z')
  await receive(world, hired)
  await later(world, 6)
  await receive(world, { ...departure, employee: { ...departure.employee, title: 'Chief' } })
  await later(world, 6)

  const person = (await peopleOn(client)).get('E0006')
  expect([person?.separatedAt, person?.jobTitle]).toEqual([null, 'Chief'])
  expect((await listEvents(db)).map((event) => event.reason)).toEqual([
    null,
    `older than what is known of E0006, which is of ${hired.at}: nothing follows from what it says of employment`,
  ])
})

test('the same export again is the same absence, and the next one without the person is another', async () => {
  await using opened = await silentNight()
  const { world, client, silent } = opened
  const separatedAt = async () => (await peopleOn(client)).get('E0002')?.separatedAt

  await night(world, silent, '2026-11-20T01:00:00.000Z')
  const before = await separatedAt()
  await night(world, silent, '2026-11-21T01:00:00.000Z')

  expect([before, await separatedAt()]).toEqual([null, '2026-11-21T00:00:00.000Z'])
})

test('a hire that is older than an export does not bring back a person whom the export states as a leaver', async () => {
  const { client } = await host.tenant()
  const feed = { mapping, outOfScope: 'separate' } as const
  await using world = await openWorld({ client, feed, webhook: webhookFeed() })
  const gone = { leavingDate: '2026-11-10', status: 'Inactive' }
  const leavers = ['E0002', 'E0003', 'E0004']
  const people = change(staff(12), ...leavers.map((id) => ({ id, ...gone })))
  await night(world, staff(12), '2026-11-18T01:00:00.000Z')
  await night(world, people, '2026-11-19T01:00:00.000Z')
  const [, , twice] = people
  const outside = { id: 'E0004', title: 'Board', leavingDate: '', status: 'Active' }
  await night(world, [...change(people, outside), ...(twice ? [twice] : [])], '2026-11-20T01:00:00.000Z')

  for (const id of leavers) await receive(world, { type: 'hired', at: '2026-11-19T12:00:00.000Z', employee: { id } })
  await later(world, 6)

  const arrived = await peopleOn(client)
  expect(leavers.map((id) => arrived.get(id)?.separatedAt)).toEqual(leavers.map(() => '2026-11-10T00:00:00.000Z'))
})
