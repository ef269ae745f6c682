import { afterAll, beforeAll, expect, test } from 'vitest'
import { Guards } from '../../src/identity/guards/limits.ts'
import { rosterEntry } from '../../src/store/roster/roster.ts'
import { approveRun, requestRun } from '../../src/sync/sync.ts'
import { cellsOf, dates, type Outcome, present, type StatusName, statuses } from '../helpers/evidence/outcomes.ts'
import { type Host, headers, openWorld, peopleOn, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** The statuses as the export of this company writes them. */
const written: Readonly<Record<StatusName, string>> = { ...statuses, left: 'Inactive', employed: 'Active' }

/** The date on the platform, and the deferred date of the roster, by outcome. */
const arrives: Readonly<Partial<Record<Outcome, (date: string) => readonly [string | null, string | null]>>> = {
  employed: () => [null, null],
  date: (date) => [`${date}T00:00:00.000Z`, null],
  inferred: () => ['2026-11-20T00:00:00.000Z', null],
  waits: (date) => [null, date],
}

test('a snapshot about known people arrives on the platform as in the table of outcomes', async () => {
  const { client } = await host.tenant()
  const guards = Guards.parse({ leavers: { count: 30 }, rejectedRows: { count: 30 } })
  await using world = await openWorld({ client, connection: { guards } })
  const table = present.find((one) => one.feeds.includes('snapshot') && one.pasts.includes('joined before'))
  const cases = (table ? cellsOf(table) : []).flatMap(([date, cells]) =>
    cells.map(([status, outcome]) => ({ date: dates[date], status, outcome })),
  )
  const people = staff(cases.length).map((person) => ({ ...person, status: 'Active' }))
  await world.night(people)

  world.setExport(
    people.map((person, at) => ({
      ...person,
      leavingDate: cases[at]?.date ?? '',
      status: written[cases[at]?.status ?? 'blank'],
    })),
    '2026-11-20T02:00:00.000Z',
  )
  const fault = { column: headers.indexOf('Status'), reason: 'the cell is not in the declared encoding' }
  world.source.rows = world.source.rows.map((row, at) => (cases[at]?.status === 'unreadable' ? { ...row, fault } : row))
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  await world.drain()
  const held = await world.runOf(id)
  await approveRun(world.sync, { runId: id, digest: held.digest ?? '', by: 'ops' })
  await world.drain()

  expect(held).toMatchObject({ state: 'held', reason: expect.stringContaining('status "Sabbatical" in 6 rows') })
  expect((await world.runOf(id)).state).toBe('finished')
  const arrived = await peopleOn(client)
  const entries = await Promise.all(
    people.map((person) => rosterEntry(world.sync.store.db, { connection: 'acme', identityId: person.id })),
  )
  const actual = people.map((person, at) => [arrived.get(person.id)?.separatedAt, entries[at]?.deferredTo])
  expect(cases).toHaveLength(30)
  expect(actual).toEqual(cases.map(({ date, outcome }) => arrives[outcome]?.(date)))
})
