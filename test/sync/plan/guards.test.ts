import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Guards } from '../../../src/identity/guards/limits.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { approveRun, rejectRun } from '../../../src/sync/sync.ts'
import { later, receive, updated, webhookFeed } from '../../helpers/events.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type Host, type HrPerson, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Of a company in which all start on one day. */
const limits = (own: object = {}) => Guards.parse({ sameStart: { count: 130 }, ...own })

const failed = ({ guards }: Run) => guards?.filter(({ ok }) => !ok) ?? []
/** From now on the source holds changes alone. */
function readDeltas({ connection }: World): void {
  const { connector } = connection.feeds.source ?? {}
  const open = connector?.open
  if (connector && open)
    Object.assign(connector, {
      open: async (...options: Parameters<typeof open>) => ({ ...(await open(...options)), mode: 'delta' }),
    })
}
const decision = ({ id, digest }: Run) => ({ runId: id, digest: digest ?? '', by: 'ops' })

describe.each(databases)('the guards of a run on $name', ({ createDatabase }) => {
  async function open(guards = limits()) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, webhook: webhookFeed(), connection: { guards } }))
    return { world, client, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  const many = staff(30).map((person) => ({ ...person, start: '2020-03-01', title: 'Engineer' }))

  test.each([
    {
      what: 'everyone starts a day earlier',
      people: many.map((person) => ({ ...person, start: '2020-02-29' })),
      name: 'fieldChanges',
      hints: ['startedAt: 30 of 30 move 1 day back. A time zone may have been applied to dates'],
    },
    {
      what: 'the titles are those of other people',
      people: many.map((person, at) => ({ ...person, title: many[(at + 1) % many.length]?.title ?? '' })),
      before: many.map((person, at) => ({ ...person, title: `Title ${at % 3}` })),
      name: 'fieldChanges',
      hints: [expect.stringContaining('jobTitle: ')],
    },
    {
      what: 'a hundred people appear',
      people: [...many, ...staff(130).slice(30)],
      name: 'joiners',
    },
  ])('hold it if $what', async ({ people, before = many, name, hints }) => {
    await using opened = await open()
    const { world } = opened
    await world.night(before, { asOf: '2026-11-19T01:00:00.000Z' })

    const run = await world.night(people, { asOf: '2026-11-20T01:00:00.000Z' })

    expect(run.state).toBe('held')
    expect(failed(run)).toMatchObject([{ name, ...(hints && { hints }), people: { length: 10 } }])
  })

  test('hold people who come back until an operator approves', async () => {
    await using opened = await open()
    const { world, client } = opened
    const gone = many.map((person, at) =>
      at < 6 ? { ...person, leavingDate: '2026-10-31', status: 'Inactive' } : person,
    )
    await world.night(gone, { asOf: '2026-11-19T01:00:00.000Z' })

    const run = await world.night(many, { asOf: '2026-11-20T01:00:00.000Z' })
    const before = await peopleOn(client)
    await approveRun(world.sync, decision(run))
    await world.drain()

    expect(failed(run)).toMatchObject([
      { name: 'returns', reason: '6 of 24 people who left would come back; the limit is 5', people: { length: 6 } },
    ])
    expect(before.get('E0001')?.separatedAt).toBe('2026-10-31T00:00:00.000Z')
    expect((await peopleOn(client)).get('E0001')?.separatedAt).toBeNull()
  })

  describe('know what is usual', () => {
    const wide = { count: 100, share: 1 }
    const usualAfter = (runs: number) => limits({ fieldChanges: wide, unusual: { runs, times: 2, count: 3 } })
    const promoted = (count: number, night: number) =>
      many.map((person, at) => (at < count ? { ...person, title: `Title ${night}` } : person))
    const nights = (world: World) => {
      let night = 0
      return (count: number) =>
        world.night(promoted(count, ++night), { asOf: `2026-11-${String(night).padStart(2, '0')}T01:00:00.000Z` })
    }

    test('from accepted runs, including approved and excluding rejected ones', async () => {
      await using opened = await open(usualAfter(3))
      const { world } = opened
      const night = nights(world)
      await night(0)
      for (const count of [1, 2, 2]) expect((await night(count)).state).toBe('finished')

      const first = await night(9)
      await rejectRun(world.sync, decision(first))
      const second = await night(9)
      await approveRun(world.sync, decision(second))
      await world.drain()
      const third = await night(9)

      const sentence = '9 people would get another jobTitle (in 3 runs there were never more than 2)'
      expect([first, second].map(failed)).toMatchObject([
        [{ name: 'fieldChanges', reason: sentence }],
        [{ name: 'fieldChanges', reason: sentence }],
      ])
      expect(third.state).toBe('finished')
    })

    test('from all runs but the first, in which everybody joins', async () => {
      await using opened = await open(limits({ joiners: wide, unusual: { runs: 2, times: 2, count: 3 } }))
      const night = (people: readonly HrPerson[], day: number) =>
        opened.world.night(people, { asOf: `2026-11-1${day}T01:00:00.000Z` })
      await night(many, 1)
      await night(promoted(1, 2), 2)
      await night(promoted(1, 3), 3)

      const run = await night([...promoted(1, 3), ...staff(39).slice(30)], 4)

      expect(failed(run)).toMatchObject([
        { name: 'joiners', reason: '9 people would join; in 2 runs there were never more than 0' },
      ])
    })

    test('only after enough runs', { tags: ['full'] }, async () => {
      await using opened = await open(usualAfter(4))
      const night = nights(opened.world)
      for (const count of [0, 2, 2]) await night(count)

      expect((await night(9)).state).toBe('finished')
    })

    test('separately for exports and events', { tags: ['full'] }, async () => {
      await using opened = await open(usualAfter(3))
      const { world } = opened
      const night = nights(world)
      for (const count of [0, 2, 2]) await night(count)

      const events = many.slice(0, 9).map(({ id }) => updated(id, 'Lead', '2026-11-20T02:00:00.000Z'))
      await receive(world, ...events)
      await later(world, 6)

      expect((await peopleOn(opened.client)).get('E0009')?.jobTitle).toBe('Lead')
    })
  })

  describe('add what passed by exports of about the same time', () => {
    const gone = (world: World, people: readonly HrPerson[], asOf: string) => {
      const rows = people.map((person) => ({ ...person, leavingDate: '2026-11-18', status: 'Inactive' }))
      return world.night(rows, { asOf })
    }
    const separated = async (client: Parameters<typeof peopleOn>[0]) =>
      [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt).length

    test('so that small delta files do not evade the limit of a large one', async () => {
      await using opened = await open(limits())
      const { world, client } = opened
      await world.night(many, { asOf: '2026-11-19T01:00:00.000Z' })
      readDeltas(world)

      const states = []
      for (const file of [0, 1, 2]) {
        const run = await gone(world, many.slice(file * 3, file * 3 + 3), `2026-11-20T01:1${file}:00.000Z`)
        states.push([run.state, run.reason])
      }
      const nextDay = await gone(world, many.slice(12, 15), '2026-11-21T01:00:00.000Z')

      const reason = /^leavers: \d+ of \d+ people would be separated within a day by exports; the limit is 5$/
      expect(states).toEqual([
        ['finished', null],
        ['held', expect.stringMatching(reason)],
        ['held', expect.stringMatching(reason)],
      ])
      expect(nextDay.state).toBe('finished')
      expect(await separated(client)).toBe(6)
    })

    test('also of snapshots, but not of an approved one', { tags: ['full'] }, async () => {
      await using opened = await open(limits())
      const { world, client } = opened
      await world.night(many, { asOf: '2026-11-19T01:00:00.000Z' })

      const first = await world.night(many.slice(6), { asOf: '2026-11-20T01:00:00.000Z' })
      await approveRun(world.sync, decision(first))
      await world.drain()
      const second = await world.night(many.slice(10), { asOf: '2026-11-20T09:00:00.000Z' })
      const third = await world.night(many.slice(14), { asOf: '2026-11-20T17:00:00.000Z' })

      expect([first, second, third].map(({ state }) => state)).toEqual(['held', 'finished', 'held'])
      expect(await separated(client)).toBe(10)
    })
  })

  test('add events that passed within a day, in every limit', async () => {
    await using opened = await open(limits({ fieldChanges: { count: 3, share: 0 } }))
    const { world, client } = opened
    await world.night(many, { asOf: '2026-11-19T01:00:00.000Z' })
    for (const at of [1, 2, 3]) {
      await receive(world, updated(`E000${at}`, 'Lead', `2026-11-20T02:0${at}:00.000Z`))
      await later(world, 6)
    }

    await receive(world, updated('E0004', 'Lead', '2026-11-20T02:10:00.000Z'))
    await later(world, 6)

    const people = await peopleOn(client)
    expect([people.get('E0003')?.jobTitle, people.get('E0004')?.jobTitle]).toEqual(['Lead', 'Engineer'])
  })
})
