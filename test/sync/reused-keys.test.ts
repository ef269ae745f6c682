import { afterAll, beforeAll, expect, test } from 'vitest'
import { approveRun } from '../../src/sync/sync.ts'
import { heldRun, later, receive, terminated, webhookFeed } from '../helpers/events.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const withLeaver = change(staff(12), { id: 'E0003', leavingDate: '2026-11-18', status: 'Inactive' })
const back = { id: 'E0003', leavingDate: '', status: 'Active', start: '2026-11-20' }
const somebodyElse = { ...back, first: 'Zoe', email: 'zoe@acme.example', title: 'Nurse' }

test("a leaver's key that comes back with another name and address is held, and an approval states that it is the same person", async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(withLeaver)

  const rows = change(withLeaver, somebodyElse)
  const held = await world.night(rows, { asOf: '2026-11-20T02:00:00.000Z' })
  const before = (await peopleOn(client)).get('E0003')
  await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
  await world.drain()
  const next = await world.night(rows, { asOf: '2026-11-20T03:00:00.000Z' })

  expect(held.guards?.filter(({ ok }) => !ok)).toMatchObject([{ name: 'reusedKeys', actual: 1, people: ['E0003'] }])
  expect([before?.firstName, before?.separatedAt?.slice(0, 10)]).toEqual(['Person 3', '2026-11-18'])
  expect((await peopleOn(client)).get('E0003')).toMatchObject({ firstName: 'Zoe', separatedAt: null })
  expect(next.state).toBe('unchanged')
})

test.each([
  ['name', { ...somebodyElse, email: 'E3@acme.example' }],
  ['address', { ...somebodyElse, first: 'PERSON 3' }],
])('a leaver who comes back with the same %s is not held', async (_, row) => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(withLeaver)

  const run = await world.night(change(withLeaver, row), { asOf: '2026-11-20T02:00:00.000Z' })

  expect([run.state, (await peopleOn(client)).get('E0003')?.separatedAt]).toEqual(['finished', null])
})

test('in events, only the person whose key was given to somebody else waits', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, webhook: webhookFeed() })
  await world.night(withLeaver)

  const at = '2026-11-20T02:30:00.000Z'
  await receive(world, {
    type: 'hired',
    at,
    employee: { id: 'E0003', first: 'Zoe', email: 'zoe@acme.example', start: '2026-11-20' },
  })
  await receive(world, terminated('E0004', '2026-11-18', at))
  await later(world, 6)

  const people = await peopleOn(client)
  expect((await heldRun(world)).guards?.filter(({ ok }) => !ok)).toMatchObject([{ name: 'reusedKeys' }])
  expect(['E0003', 'E0004'].map((id) => people.get(id)?.separatedAt?.slice(0, 10))).toEqual([
    '2026-11-18',
    '2026-11-18',
  ])
})
