import { afterAll, beforeAll, expect, test } from 'vitest'
import { leaverReport } from '../../../src/daemon/control/leavers.ts'
import { rejectRun } from '../../../src/sync/sync.ts'
import { change, type Host, openWorld, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('the report lists the departures of accepted plans, and counts who left, who was taken back and who is held', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const people = staff(20)
  const cut = without(people, ...people.slice(0, 8).map(({ id }) => id))
  const ahead = change(people, { id: 'E0009', leavingDate: '2026-11-25' })
  const departed = change(people, { id: 'E0003', leavingDate: '2026-11-19' })
  await world.night(people)
  const worse = await world.night(cut, { asOf: '2026-11-20T01:10:00.000Z' })
  await rejectRun(world.sync, { runId: worse.id, by: 'Ada' })
  await world.night(ahead, { asOf: '2026-11-20T01:20:00.000Z' })
  await world.night(departed, { asOf: '2026-11-20T01:30:00.000Z' })
  const held = await world.night(without(departed, ...people.slice(3, 10).map(({ id }) => id)), {
    asOf: '2026-11-20T02:30:00.000Z',
  })

  const period = { from: '2026-11-01', to: '2026-11-30', values: false }
  const report = await leaverReport({ sync: world.sync, monitored: { maxLeaverHours: new Map() } }, period)

  expect([worse.state, held.state]).toEqual(['held', 'held'])
  expect(report.leavers.map(({ identityId, state }) => [identityId, state])).toEqual([
    ['E0003', 'acknowledged'],
    ['E0009', 'withdrawn'],
  ])
  expect(report.connections).toMatchObject([{ people: 1, acknowledged: 1, takenBack: 1, held: 7 }])
})

test('the report ends today where the source is, if that is later than in UTC', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, feed: { timeZone: 'Australia/Sydney' } })
  world.clock.now = new Date('2026-11-20T20:00:00.000Z')
  const wanted = { from: '2026-11-01', values: false }
  const report = await leaverReport({ sync: world.sync, monitored: { maxLeaverHours: new Map() } }, wanted)

  expect(report.to).toBe('2026-11-21')
})
