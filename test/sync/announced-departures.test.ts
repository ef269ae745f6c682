import { afterAll, beforeAll, expect, test } from 'vitest'
import { rosterEntry } from '../../src/store/roster/roster.ts'
import { requestDueRuns } from '../../src/sync/sync.ts'
import { type HrEvent, later, receive, terminated, webhookFeed } from '../helpers/events.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

function hired(id: string, at: string, others: HrEvent['employee'] = {}): HrEvent {
  return { type: 'hired', at, employee: { id, ...others } }
}

/** The first minute of a day, in which dates that have waited for it are sent. */
async function dayBegins(world: World, date: string): Promise<void> {
  world.clock.now = new Date(`${date}T00:00:30.000Z`)
  await requestDueRuns(world.sync)
  await world.drain()
}

test('a hire ends a departure that was announced before it; an older hire does not', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, webhook: webhookFeed() })
  const { db } = world.sync.store
  const at = (minute: number) => `2026-11-20T02:${String(minute).padStart(2, '0')}:00.000Z`
  for (const id of ['E0001', 'E0002']) await receive(world, hired(id, at(0), { start: '2020-01-06' }))
  await later(world, 6)

  await receive(world, terminated('E0001', '2026-11-30', at(10)), terminated('E0002', '2026-11-30', at(10)))
  await later(world, 6)
  await receive(world, hired('E0001', at(11)), hired('E0002', at(9)))
  await later(world, 6)

  const waits = async (identityId: string) => (await rosterEntry(db, { connection: 'acme', identityId }))?.deferredTo
  expect([await waits('E0001'), await waits('E0002')]).toEqual([null, '2026-11-30'])
  await dayBegins(world, '2026-11-30')
  const people = await peopleOn(client)
  expect([people.get('E0001')?.separatedAt, people.get('E0002')?.separatedAt]).toEqual([
    null,
    '2026-11-30T00:00:00.000Z',
  ])
})

test('a future leaving date that was sent stays on the platform after it becomes unreadable', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client, feed: { future: 'send' } })
  const separatedAt = async () => (await peopleOn(client)).get('E0003')?.separatedAt
  await world.night(change(staff(12), { id: 'E0003', leavingDate: '2027-03-31' }))

  await world.night(change(staff(12), { id: 'E0003', leavingDate: 'soon' }), { asOf: '2026-11-21T01:00:00.000Z' })
  const unreadable = await separatedAt()
  await world.night(staff(12), { asOf: '2026-11-22T01:00:00.000Z' })

  expect([unreadable, await separatedAt()]).toEqual(['2027-03-31T00:00:00.000Z', null])
})

test.each([
  ['lastDayWorked', '2026-11-20'],
  ['firstDayGone', '2026-11-19'],
] as const)(
  'a person who never came, whose start is the leaving date, is separated and stays so: %s',
  async (means, lastDay) => {
    const { client } = await host.tenant()
    await using world = await openWorld({ client })
    const { mapping } = world.connection.feeds.source ?? {}
    Object.assign(mapping?.fields.separatedAt ?? {}, { means })
    const people = change(staff(12), { id: 'E0003', start: '2026-11-20', leavingDate: '2026-11-20' })

    const storedDates: (string | null | undefined)[] = []
    for (const date of ['2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21', '2026-11-22']) {
      await dayBegins(world, date)
      await world.night(people, { asOf: `${date}T01:00:00.000Z` })
      const separatedAt = (await peopleOn(client)).get('E0003')?.separatedAt
      storedDates.push(separatedAt?.slice(0, 10))
    }

    const before = ['2026-11-18', '2026-11-19'].filter((date) => date < lastDay).map(() => undefined)
    expect(storedDates).toEqual([...before, ...Array.from({ length: 5 - before.length }, () => lastDay)])
  },
)
