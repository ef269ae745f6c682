import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChangeKind } from '../../../src/identity/change.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { approveRun, rejectRun } from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import {
  change,
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const decision = ({ id, digest }: Run) => ({ runId: id, digest: digest ?? '', by: 'ana' })
const failed = ({ guards }: Run) => (guards ?? []).flatMap(({ ok, name }) => (ok ? [] : [name]))

/** Everybody has another address, the titles of the first two are others, and of them one leaves by date and one is missing. */
const moved = (people: readonly HrPerson[]) =>
  people.map((person) => ({ ...person, email: person.email?.replace('acme', 'globex') ?? '' }))
const doubtful = [
  ...without(
    moved(
      change(staff(30), { id: 'E0001', leavingDate: '2026-11-19', title: 'Former' }, { id: 'E0002', title: 'Lead' }),
    ),
    'E0003',
  ),
  { id: 'N1', email: 'n1@globex.example', first: 'New', title: 'Engineer', status: 'Active' },
]

const leaver: HrPerson = { id: '', first: 'Former', leavingDate: '2026-11-01', status: 'Inactive' }

describe.each(databases)('a held plan on $name', ({ createDatabase }) => {
  async function open(...send: ChangeKind[]) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, connection: { onHold: { send } } }))
    await world.night(staff(30), { asOf: '2026-11-19T01:00:00.000Z' })
    const night = async (people: readonly HrPerson[], day: number) =>
      await world.night(people, { asOf: `2026-11-${day}T01:00:00.000Z` })
    const wentOn = async (run: Run) => (run.wentOn === null ? null : await world.runOf(run.wentOn))
    return { world, night, wentOn, people: () => peopleOn(client), [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('sends departures at once if only values are in doubt, without those values', async () => {
    await using opened = await open('leave', 'join')
    const { world, night, wentOn, people } = opened

    const held = await night(doubtful, 20)
    const part = await wentOn(held)
    const between = await people()
    await approveRun(world.sync, decision(held))
    await world.drain()
    const after = await people()

    expect(held).toMatchObject({ state: 'held', moved: null, counts: { leave: 0, join: 1, update: 29 } })
    expect(failed(held)).toEqual(['emailChanges'])
    expect(part).toMatchObject({
      state: 'finished',
      heldPart: held.id,
      source: null,
      counts: { leave: 2, join: 0, update: 0 },
      confirmed: 2,
    })
    expect(part?.digest).not.toBe(held.digest)
    expect(between.get('E0001')).toMatchObject({
      separatedAt: '2026-11-19T00:00:00.000Z',
      email: 'e1@acme.example',
      jobTitle: 'Engineer',
    })
    expect(between.get('E0003')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
    expect(between.get('E0004')?.email).toBe('e4@acme.example')
    // A joiner has an address out of the same column.
    expect(between.has('N1')).toBe(false)
    expect(await world.runOf(held.id)).toMatchObject({ state: 'finished', confirmed: 30 })
    expect(after.get('E0001')).toMatchObject({
      separatedAt: '2026-11-19T00:00:00.000Z',
      email: 'e1@globex.example',
      jobTitle: 'Former',
    })
    expect(after.get('N1')?.email).toBe('n1@globex.example')
  })

  test('counts joiners who have already left with the joiners, and sends no departures for them', {
    tags: ['full'],
  }, async () => {
    await using opened = await open('leave')
    const { world, night, wentOn } = opened

    const held = await night([...doubtful, { ...leaver, id: 'N2' }, { ...leaver, id: 'N3' }], 20)

    const counts = await world.sync.store.db.selectFrom('runs').select(['id', 'people_counts']).execute()
    const of = (id = '') => counts.find((run) => run.id === id)?.people_counts
    expect(of((await wentOn(held))?.id)).toMatchObject({ leavers: 2, leftJoiners: 0, joiners: 0 })
    expect(of(held.id)).toMatchObject({ leavers: 2, leftJoiners: 2, joiners: 3 })
  })

  test('sends the part once, and holds the rest with the source until a decision', async () => {
    await using opened = await open('leave')
    const { world, night, wentOn, people } = opened
    const held = await night(doubtful, 20)
    const { db } = world.sync.store
    const accepted = () =>
      db.selectFrom('connections').select(['accepted_as_of', 'exports_accepted']).executeTakeFirst()
    const before = await accepted()

    await world.workOn({ id: 'again', name: 'run', payload: { runId: held.id } })
    const again = await night(doubtful, 21)
    const rejected = await rejectRun(world.sync, decision(again))
    const same = await night(moved(staff(30)), 22)

    expect(before).toEqual({ accepted_as_of: new Date('2026-11-19T01:00:00.000Z'), exports_accepted: 1 })
    expect(again).toMatchObject({ state: 'held', wentOn: null, counts: { leave: 0 } })
    expect(rejected.state).toBe('rejected')
    expect(await accepted()).toEqual(before)
    expect((await wentOn(held))?.state).toBe('finished')
    expect(await db.selectFrom('runs').select('id').where('held_part_run_id', 'is not', null).execute()).toHaveLength(1)
    // HR lists both again: that they come back is in the held plan.
    expect(same).toMatchObject({ state: 'held', counts: { return: 2 } })
    expect((await people()).get('E0003')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
  })

  test.each([
    {
      name: 'holds departures that are in doubt, with the joiners, who may be the same people with other keys',
      people: [...staff(20), ...staff(33).slice(30)],
      guards: ['leavers'],
    },
    {
      name: 'sends nothing if the export is truncated',
      people: staff(24).slice(0, 23).concat({ id: 'N1', status: 'Active' }),
      guards: ['leavers', 'shrinkRows', 'shrinkBytes', 'endMissing'],
    },
  ])('$name', async ({ people, guards }) => {
    await using opened = await open('leave', 'join', 'update', 'return', 'correct')

    const held = await opened.night(people, 20)

    expect(failed(held)).toEqual(expect.arrayContaining([guards[0]]))
    expect(held).toMatchObject({ state: 'held', wentOn: null })
    expect([...(await opened.people()).values()].filter(({ separatedAt }) => separatedAt)).toEqual([])
    expect((await opened.people()).size).toBe(30)
  })

  test('holds corrections, and future dates that move into the past, if departures are in doubt', async () => {
    const stack = new AsyncDisposableStack()
    await using _ = stack
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const rules = { feed: { future: 'send' }, connection: { onHold: { send: ['correct'] } } } as const
    const world = stack.use(await openWorld({ at, client, ...rules }))
    const exportOf = (leavingDate: string, who: readonly HrPerson[]) => [
      ...change(staff(30), ...who.map(({ id }) => ({ id, leavingDate: leavingDate }))),
      { id: 'E0099', leavingDate: leavingDate === ahead ? '2026-10-31' : '2026-10-30', status: 'Inactive' },
    ]
    const ahead = '2027-03-31'
    await world.night(exportOf(ahead, staff(5)), { asOf: '2026-11-18T01:00:00.000Z' })
    await world.night(exportOf(ahead, staff(10)), { asOf: '2026-11-19T01:00:00.000Z' })
    const sentAhead = [...(await peopleOn(client)).values()].filter(({ separatedAt }) =>
      separatedAt?.startsWith('2027'),
    )

    const held = await world.night(exportOf('2026-11-18', staff(10)), { asOf: '2026-11-20T01:00:00.000Z' })
    const between = [...(await peopleOn(client)).values()].filter(({ separatedAt }) =>
      separatedAt?.startsWith('2026-11'),
    )
    await approveRun(world.sync, decision(held))
    await world.drain()
    const after = [...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt?.startsWith('2026-11'))

    expect(sentAhead).toHaveLength(10)
    expect(held).toMatchObject({ state: 'held', counts: { leave: 10, correct: 1 }, wentOn: null })
    expect(failed(held)).toEqual(['leavers'])
    expect([between, after].map(({ length }) => length)).toEqual([0, 10])
  })

  test('sends movers if returns are in doubt, holds joiners, who may have left too, and sends nothing if not configured', async () => {
    const rows = staff(30).map((person, at) =>
      at < 6 ? { ...person, leavingDate: '2026-10-31', status: 'Inactive' } : person,
    )
    const back = [...change(staff(30), { id: 'E0020', title: 'Lead' }), { id: 'N1', first: 'New', status: 'Active' }]
    for (const send of [['join', 'update', 'return'], []] as const) {
      await using opened = await open(...send)
      const { world, night, people } = opened
      const separated = await night(rows, 20)
      await approveRun(world.sync, decision(separated))
      await world.drain()

      const held = await night(back, 21)

      const now = await people()
      expect(failed(held)).toEqual(['returns'])
      expect(now.get('E0001')?.separatedAt).toBe('2026-10-31T00:00:00.000Z')
      expect([now.has('N1'), now.get('E0020')?.jobTitle]).toEqual([false, send.length > 0 ? 'Lead' : 'Engineer'])
    }
  })
})
