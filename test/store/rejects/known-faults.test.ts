import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { rejectsKept } from '../../../src/store/plans/plans.ts'
import { countBlockedPeople, listBlockedPeople, noBlockedPeople } from '../../../src/store/rejects/blocked-people.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { approveRun, rejectRun } from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { change, type Host, type HrPerson, openWorld, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** People from there on whose e-mail addresses cannot be read. */
function disabled(from: number, count: number): HrPerson[] {
  return staff(from + count - 1)
    .slice(from - 1)
    .map((person) => ({ ...person, email: 'DISABLED' }))
}

function refused({ guards }: Run): string[] {
  return (guards ?? []).flatMap(({ name, ok }) => (ok ? [] : [name]))
}

describe.each(databases)('known faults on $name', ({ createDatabase }) => {
  async function open(feed: Parameters<typeof openWorld>[0]['feed'] = {}) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, feed }))
    const { db } = world.sync.store
    let nights = 0
    return {
      world,
      /** The next night's export. */
      night: (people: readonly HrPerson[]) =>
        world.night(people, { asOf: new Date(Date.UTC(2026, 10, 20 + nights++, 1)).toISOString() }),
      async approve(run: Run) {
        await approveRun(world.sync, { runId: run.id, digest: run.digest ?? '', by: 'ana' })
        await world.drain()
        return await world.runOf(run.id)
      },
      blockedPeople: () => listBlockedPeople(db, { now: world.clock.now }),
      keys: async () => (await listBlockedPeople(db, { now: world.clock.now })).map(({ identityId }) => identityId),
      tally: async () => (await countBlockedPeople(db, { now: world.clock.now })).get('acme') ?? noBlockedPeople,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }

  test('hold once for the same rows, and again for new ones, with both numbers', async () => {
    await using opened = await open()
    const { night, approve } = opened
    const people = staff(40)

    const first = await night(change(people, ...disabled(1, 6)))
    await approve(first)
    const second = await night(change(people, ...disabled(1, 11)))
    const third = await night(change(people, ...disabled(1, 17)))

    expect(refused(first)).toEqual(['rejectedRows'])
    expect(refused(second)).toEqual([])
    expect(refused(third)).toEqual(['rejectedRows'])
    expect(third.reason).toBe(
      'rejectedRows: 17 of 40 rows are rejected or hold a cell that cannot be read, of which 6 are new; the limit is 5',
    )
  })

  test('are identified by person and fault, in any line', async () => {
    await using opened = await open()
    const { night, approve, blockedPeople } = opened
    const broken = disabled(1, 6)

    await approve(await night(change(staff(40), ...broken)))
    const again = await night(change(staff(40), ...broken).toReversed())
    const others = await night(change(staff(40), ...broken.map(({ id }) => ({ id, email: 'LEFT' }))))

    expect(again.state).toBe('unchanged')
    expect(refused(others)).toEqual(['rejectedRows'])
    expect((await blockedPeople()).filter(({ accepted }) => accepted)[0]).toMatchObject({
      identityId: 'E0001',
      line: 41,
    })
  })

  test('are known even if more rows are rejected than are stored one by one', async () => {
    await using opened = await open()
    const { night, approve, tally } = opened
    const count = rejectsKept + 20
    const nameless = staff(count).map((person) => ({ ...person, id: '' }))

    const first = await night([...staff(3), ...nameless])
    await approve(first)
    const second = await night([...staff(3), ...nameless])

    expect([first, second].map(refused)).toEqual([['rejectedRows'], []])
    expect(await tally()).toEqual({ people: 0, leavers: 0, rows: count })
  })

  test('are not known after their plan was rejected', async () => {
    await using opened = await open()
    const { world, night, keys } = opened
    const people = change(staff(40), ...disabled(1, 6))

    await night(staff(40))
    const held = await night(people)
    const whileHeld = await keys()
    await rejectRun(world.sync, { runId: held.id, by: 'ana' })
    const afterwards = await keys()
    const again = await night(people)

    expect(whileHeld).toHaveLength(6)
    expect(afterwards).toEqual([])
    expect(refused(again)).toEqual(['rejectedRows'])
  })

  test('are deleted once an accepted export no longer has them', async () => {
    await using opened = await open()
    const { night, approve, keys } = opened
    const broken = change(staff(40), ...disabled(1, 6))

    await approve(await night(broken))
    await night(staff(40))
    const mended = await keys()
    const again = await night(broken)

    expect(mended).toEqual([])
    expect(refused(again)).toEqual(['rejectedRows'])
  })

  test('are the same for a key that is repeated, and repeated once more', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { night, approve } = opened
    const twice = (count: number) => [...staff(40), ...staff(count)]

    const first = await night(twice(6))
    await approve(first)
    const second = await night(twice(6))
    const third = await night([...twice(6), ...staff(6)])

    expect([first, second, third].map(refused)).toEqual([['rejectedRows'], [], ['rejectedRows']])
  })

  test('hold once for a row without a key, even if somebody else is absent afterwards', async () => {
    await using opened = await open()
    const { night, approve, tally } = opened
    const nameless = { ...staff(1)[0], id: '' }

    await night(staff(40))
    const first = await night([nameless, ...without(staff(40), 'E0003')])
    await approve(first)
    const second = await night([nameless, ...without(staff(40), 'E0003', 'E0004')])
    const another = await night([nameless, nameless, ...without(staff(40), 'E0003', 'E0004', 'E0005')])

    expect([first, second, another].map(refused)).toEqual([['unreadableKeys'], [], ['unreadableKeys']])
    expect(second.counts).toMatchObject({ leave: 1 })
    expect(another.reason).toContain('of which 1 is new')
    expect(await tally()).toEqual({ people: 0, leavers: 0, rows: 2 })
  })

  test('hold once for a missing column', { tags: ['full'] }, async () => {
    const titleIsOptional = Mapping.parse({
      fields: { identityId: 'Worker ID', jobTitle: { column: 'Job Title', optional: true } },
    })
    await using opened = await open({ mapping: titleIsOptional })
    const { world, night, approve } = opened

    await night(staff(5))
    world.source.headers = world.source.headers.map((header) => (header === 'Job Title' ? 'Position' : header))
    const first = await night(staff(5))
    await approve(first)
    const second = await night(staff(5))

    expect([first, second].map(refused)).toEqual([['missingColumn'], []])
  })

  test('hold once for an unlisted value, whoever has it later', async () => {
    await using opened = await open()
    const { night, approve, keys } = opened
    const away = (...ids: string[]) => change(staff(40), ...ids.map((id) => ({ id, status: 'Sabbatical' })))

    await night(staff(40))
    const first = await night(away('E0001'))
    const accepted = await approve(first)
    const none = await night(staff(40))
    const more = await night(away('E0002', 'E0003', 'E0004', 'E0005', 'E0006', 'E0007', 'E0008'))
    const another = await night(change(away('E0002'), { id: 'E0009', status: 'Garden Leave' }))

    expect(accepted).toMatchObject({ state: 'finished', decidedBy: 'ana' })
    expect([first, none, more, another].map(refused)).toEqual([['unlistedValues'], [], [], ['unlistedValues']])
    expect(another.reason).toContain('status "Garden Leave" in 1 row')
    expect(another.reason).not.toContain('Sabbatical')
    expect(await keys()).toContain('E0008')
  })
})
