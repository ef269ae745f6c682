import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChangeKind } from '../../../src/identity/change.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { auditKey, newKeyPem, Signing } from '../../../src/store/audit/key.ts'
import { prepareRestored } from '../../../src/store/backup/restored.ts'
import { listEvents, retryEvents } from '../../../src/store/inbox/review.ts'
import { lateLeavers } from '../../../src/store/leavers/late.ts'
import { listRuns, type Run } from '../../../src/store/runs/runs.ts'
import type { SourceFeed, SyncConnection } from '../../../src/sync/context/context.ts'
import { holdBack } from '../../../src/sync/requests/hold-backs.ts'
import { stateDeparture } from '../../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../../src/sync/requests/withdrawn-departures.ts'
import {
  approveRun,
  previewPart,
  rejectRun,
  requestDueRuns,
  requestPerson,
  requestRun,
} from '../../../src/sync/sync.ts'
import { heldRun, lastRun, later, receive, terminated, updated, webhookFeed } from '../../helpers/events.ts'
import { databases } from '../../helpers/servers/databases.ts'
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
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const keysOf = (people: readonly HrPerson[]) => people.map(({ id }) => id)
const everybody = staff(100)
// The last people stay: an export without them looks as if its end were cut off.
const staying = everybody.slice(12)
const leavers = keysOf(everybody.slice(0, 12))
const approved = leavers.slice(0, 8)
const doubted = leavers.slice(8)

const joiner = { id: 'N1', email: 'n1@acme.example', first: 'N', status: 'Active' }

describe.each(databases)('people left in a plan of which a part was approved, on $name', ({ createDatabase }) => {
  async function openWith(
    connection: Partial<Omit<SyncConnection, 'feeds'>>,
    filtered = false,
    feed: Partial<SourceFeed> = {},
  ) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const signing = new Signing(auditKey(newKeyPem(), 'a test'))
    const index = filtered ? { signing, indexing: { version: 'a', sampleSize: 10 } } : {}
    const world = stack.use(await openWorld({ at, client, connection, feed, webhook: webhookFeed(), ...index }))
    const night = async (day: number, people: readonly HrPerson[] = staying) => {
      world.clock.now = new Date(`2026-11-${day}T03:00:00.000Z`)
      return await world.night(people, { asOf: `2026-11-${day}T01:00:00.000Z` })
    }
    const separated = async () =>
      [...(await peopleOn(client))].flatMap(([key, person]) => (person.separatedAt ? [key] : [])).sort()
    await night(10, everybody)
    return { world, night, separated, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  async function approvePart(world: World, { id: runId }: Run, people: readonly string[] = approved): Promise<void> {
    const { digest } = await previewPart(world.sync, { runId, selection: { people } })
    await approveRun(world.sync, { runId, digest, part: { people }, by: 'ana' })
    await world.drain()
  }

  async function open(send: ChangeKind[] = [], filtered = false) {
    const opened = await openWith({ onHold: { send } }, filtered)
    const held = await opened.night(11)
    await approvePart(opened.world, held)
    expect(held).toMatchObject({ state: 'held', counts: { leave: 12 } })
    expect(await opened.separated()).toEqual(approved)
    return { ...opened, held }
  }

  const failed = ({ guards }: Run) =>
    (guards ?? []).flatMap(({ ok, people, ...verdict }) =>
      ok ? [] : { ...verdict, ...(people && { people: people.toSorted() }) },
    )
  const heldForThem = [{ name: 'leftUnapproved', actual: 4, limit: 0, people: doubted, taints: ['leave'] }]
  async function approve(world: World, { id: runId, digest }: Run): Promise<void> {
    await approveRun(world.sync, { runId, digest: digest ?? '', by: 'ben' })
    await world.drain()
  }

  const heldPartOf = async (world: World, { heldPart }: Run) => await world.runOf(heldPart ?? '')

  test.each([false, true])(
    'wait in a plan of their own every night until somebody approves them, while others go on (filter: %s)',
    async (filtered) => {
      await using opened = await open([], filtered)
      const { world, held, night, separated } = opened

      const second = await night(12, [...staying, joiner])
      const waiting = await heldPartOf(world, second)
      const third = await night(13, [...staying, { ...joiner, first: 'New' }])
      const again = await heldPartOf(world, third)
      const before = await separated()
      await approve(world, again)
      const fourth = await night(14, [...staying, { ...joiner, first: 'New' }])

      expect(await world.runOf(held.id)).toMatchObject({ state: 'superseded' })
      expect(second).toMatchObject({ state: 'finished', counts: { join: 1, leave: 0 } })
      expect(third).toMatchObject({ state: 'finished', counts: { update: 1, leave: 0 } })
      expect(await world.runOf(waiting.id)).toMatchObject({ state: 'superseded' })
      for (const run of [waiting, again]) {
        expect(run).toMatchObject({ state: 'held', counts: { leave: 4 }, source: null, moved: null })
        expect(failed(run)).toMatchObject(heldForThem)
      }
      const clocks = await world.sync.store.db
        .selectFrom('leavers')
        .select('run_id')
        .where('identity_id', 'in', doubted)
        .where('ended_at', 'is', null)
        .execute()
      expect(new Set(clocks.map(({ run_id }) => run_id))).toEqual(new Set([again.id]))
      expect(again.reason).toContain('4 people were left out when a part of a held plan was approved')
      expect(before).toEqual(approved)
      expect(await separated()).toEqual(leavers)
      expect(fourth).toMatchObject({ state: 'unchanged', heldPart: null })
      const statements = await world.sync.store.db.selectFrom('statements').select('adds_up').execute()
      expect(statements.every(({ adds_up }) => adds_up)).toBe(true)
    },
  )

  test('are held after the rest, and what was held for it, were rejected', async () => {
    await using opened = await open()
    const { world, held, night, separated } = opened

    await rejectRun(world.sync, { runId: held.id, by: 'ben' })
    const second = await heldPartOf(world, await night(12))
    await rejectRun(world.sync, { runId: second.id, by: 'ben' })
    const third = await heldPartOf(world, await night(13))

    expect(failed(second)).toMatchObject(heldForThem)
    expect(third.state).toBe('held')
    expect(failed(third)).toMatchObject(heldForThem)
    expect(await separated()).toEqual(approved)
  })

  test.each([
    ['lacks a column', [...headers.slice(0, -1), 'Renamed'], staying],
    ['is unreadable about them', [...headers], [...staying, ...doubted.map((id) => ({ id, status: '?' }))]],
  ])('are held after an export in between that %s', async (_, columns, people) => {
    await using opened = await open()
    const { world, night, separated } = opened

    world.source.headers = columns
    await night(12, people)
    world.source.headers = [...headers]
    const third = await night(13)

    expect(failed(await heldPartOf(world, third))).toMatchObject(heldForThem)
    expect(await separated()).toEqual(approved)
  })

  test('are approved by the run that the approver looked at, although the same is held by a newer one', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const first = await heldPartOf(world, await night(12))
    await night(12)

    await approve(world, first)

    expect(await world.runOf(first.id)).toMatchObject({ state: 'superseded' })
    expect(await separated()).toEqual(leavers)
  })

  test('are not approved by an earlier run once another guard holds them too', async () => {
    const pinned = new Set<string>()
    await using opened = await openWith({ pinned })
    const { world, night, separated } = opened
    await approvePart(world, await night(11))
    const first = await heldPartOf(world, await night(12))
    pinned.add(doubted[0] ?? '')
    await night(12)

    await expect(approve(world, first)).rejects.toThrow('which is held for another reason too')

    expect(await separated()).toEqual(approved)
  })

  test('stay held after a departure that was held back', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const [first = ''] = doubted
    const person = { connection: 'acme', identityId: first }
    world.clock.now = new Date('2026-11-11T06:00:00.000Z')
    await holdBack(world.sync, { ...person, until: '2026-11-14', reason: 'a mistake', by: 'ana' })
    await world.drain()

    await night(12)
    await night(13)
    const after = await heldPartOf(world, await night(15))

    expect(after).toMatchObject({ state: 'held', counts: { leave: 4 } })
    expect(await separated()).toEqual(approved)
  })

  test('are read once more where each export is read, and let the next one follow', async () => {
    await using opened = await open()
    const { world, night } = opened
    const { connector } = world.connection.feeds.source ?? {}
    if (connector === undefined) throw new Error('no source')
    const { open: openExport } = connector
    let further = 3
    Object.assign(connector, {
      open: async (input: Parameters<typeof openExport>[0]) => {
        const reading = await openExport(input)
        return { ...reading, source: { ...reading.source, version: `file ${further}`, more: further-- > 0 } }
      },
    })

    await night(12)

    const decided = await world.sync.store.db.selectFrom('decided_sources').select('version').execute()
    expect(further).toBe(-1)
    expect(decided.map(({ version }) => version)).toEqual(expect.arrayContaining(['file 3', 'file 2', 'file 1']))
  })

  test('are not approved by a change of values that names their leaving date to come', async () => {
    await using opened = await openWith({}, false, { future: 'send' })
    const { world, night, separated } = opened
    const ending = everybody.map((person) =>
      doubted.includes(person.id) ? { ...person, leavingDate: '2027-06-30' } : person,
    )
    await night(11, ending)
    await approvePart(world, await night(12))
    const [first = ''] = doubted
    world.clock.now = new Date('2026-11-12T05:00:00.000Z')
    await receive(world, updated(first, 'Lead', '2026-11-12T04:00:00.000Z'))
    await later(world, 6)

    const next = await night(13)

    expect(await heldPartOf(world, next)).toMatchObject({ state: 'held', counts: { leave: 4 } })
    expect((await separated()).filter((id) => !doubted.includes(id))).toEqual(approved)
  })

  test('with other values wait although an event states them as employed', async () => {
    await using opened = await openWith({ guards: Guards.parse({ fieldChanges: { count: 5, share: 0.05 } }) })
    const { world, night } = opened
    const wrong = everybody.map((person) => (leavers.includes(person.id) ? { ...person, title: 'Wrong' } : person))
    await approvePart(world, await night(11, wrong))
    const [first = ''] = doubted
    world.clock.now = new Date('2026-11-11T05:00:00.000Z')
    await receive(world, { type: 'hired', at: '2026-11-11T04:00:00.000Z', employee: { id: first } })
    await later(world, 6)

    const next = await night(12, wrong)

    expect(await heldPartOf(world, next)).toMatchObject({ state: 'held', counts: { update: 4 } })
  })

  test('who are pinned are named as such', async () => {
    const [first = ''] = doubted
    await using opened = await openWith({ pinned: new Set([first]) })
    const { world, night } = opened
    await approvePart(world, await night(11))

    const second = await night(12, [...staying, joiner])

    expect(second).toMatchObject({ state: 'finished', counts: { join: 1 } })
    expect(failed(await heldPartOf(world, second))).toMatchObject([
      { name: 'pinned', people: [first] },
      { name: 'leftUnapproved', actual: 4 },
    ])
  })

  test('stay held when a run finds nothing new to read', async () => {
    await using opened = await open()
    const { world, night } = opened
    const waiting = await heldPartOf(world, await night(12))
    Object.assign(world.connection.feeds.source?.connector ?? {}, {
      open: async () => ({
        ...{ mode: 'delta', asOf: world.clock.now.toISOString(), source: null, headers: [], sparse: true },
        rows: (async function* () {})(),
      }),
    })

    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await world.drain()

    expect(await world.runOf(id)).toMatchObject({ state: 'unchanged', source: null })
    expect((await world.runOf(waiting.id)).state).toBe('held')
  })

  test('use up no limit: more of them than it allows hold nobody else, nor does anybody who leaves besides', async () => {
    await using opened = await openWith({})
    const { world, night, separated } = opened
    const held = await night(11)
    await approvePart(world, held, leavers.slice(0, 2))

    const second = await night(
      12,
      staying.filter(({ id }) => id !== 'E0020'),
    )

    expect(second).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect(await heldPartOf(world, second)).toMatchObject({ state: 'held', counts: { leave: 10 } })
    expect(await separated()).toEqual([...leavers.slice(0, 2), 'E0020'])
  })

  test('are held no longer once an export lists them, also with another title', async () => {
    await using opened = await open()
    const { night, separated } = opened
    const [first = ''] = doubted
    const back = everybody.filter(({ id }) => doubted.includes(id))

    const second = await night(12, [...change(back, { id: first, title: 'Lead' }), ...staying])
    const third = await night(13, [...back.slice(1), ...staying])

    expect(second).toMatchObject({ state: 'finished', counts: { leave: 0, update: 1 }, heldPart: null })
    expect(third).toMatchObject({ state: 'finished', counts: { leave: 1 }, heldPart: null })
    expect(await separated()).toEqual([...approved, first])
  })

  test('hold nothing once HR states them as employed, and leave as anybody else later', async () => {
    await using opened = await open()
    const { night, separated } = opened
    const back = everybody.filter(({ id }) => !approved.includes(id))

    const second = await night(12, back)
    const third = await night(13)

    expect(failed(second)).toEqual([])
    expect(failed(third)).toEqual([])
    expect(third).toMatchObject({ state: 'finished', heldPart: null, counts: { leave: 4 } })
    expect(await separated()).toEqual(leavers)
  })

  test('that HR takes back are not held any more', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const [first] = doubted

    const second = await night(12, [...everybody.filter(({ id }) => id === first), ...staying])
    const third = await night(13)
    expect(third.counts).toMatchObject({ leave: 1 })
    for (const run of [second, third])
      expect(failed(await heldPartOf(world, run))).toMatchObject([{ actual: 3, people: doubted.slice(1) }])
    expect(await separated()).toEqual([...approved, first])
  })

  test('are approved although others change in the plan that is made again', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const second = await heldPartOf(world, await night(12))
    await world.sync.store.db
      .updateTable('runs')
      .set({ outdated_reason: 'facts changed' })
      .where('id', '=', second.id)
      .execute()
    world.setExport([...staying, joiner], '2026-11-12T01:00:00.000Z')

    await approve(world, second)

    expect(await separated()).toEqual(leavers)
    expect((await peopleOn(world.sync.platform.client)).has('N1')).toBe(true)
  })

  test('leave at once if an approver states it, while the others wait', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const [first = '', second = ''] = doubted
    const state = async (identityId: string, on?: string) => {
      const statement = { connection: 'acme', identityId, by: 'ana', principal: 'ana', reason: 'theft' }
      await stateDeparture(world.sync, { ...statement, ...(on && { on }) })
      await world.drain()
    }

    await state(first)
    const atOnce = await separated()
    // What HR states for today is not approved by a later day.
    await state(second, '2027-06-30')
    const next = await night(12)

    expect(atOnce).toEqual([...approved, first])
    expect(failed(await heldPartOf(world, next))).toMatchObject([{ people: doubted.slice(1) }])
    expect(await separated()).toEqual([...approved, first])
  })

  test('are held in a run that reads the source for one of them', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    await night(12)
    const [first = ''] = doubted

    const { id } = await requestPerson(world.sync, { connection: 'acme', person: first })
    await world.drain()

    expect(await world.runOf(id)).toMatchObject({ state: 'held', counts: { leave: 1 } })
    expect(await separated()).toEqual(approved)
  })

  test('hold an export with only changes as a whole', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const { connector } = world.connection.feeds.source ?? {}
    if (connector === undefined) throw new Error('no source')
    const { open: openExport } = connector
    Object.assign(connector, {
      open: async (input: Parameters<typeof openExport>[0]) => ({ ...(await openExport(input)), mode: 'delta' }),
    })
    const [first = ''] = doubted
    const named = change(
      everybody.filter(({ id }) => [first, 'E0020'].includes(id)),
      { id: first, status: 'Inactive' },
      { id: 'E0020', title: 'Lead' },
    )

    const second = await night(12, named)

    expect(failed(second)).toMatchObject([{ name: 'leftUnapproved', people: [first] }])
    expect(second).toMatchObject({ state: 'held', counts: { leave: 1, update: 1 } })
    expect(await separated()).toEqual(approved)
  })

  test('let others use up their days of grace', async () => {
    const stack = new AsyncDisposableStack()
    await using _ = stack
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, feed: { graceRuns: 2 } }))
    const night = async (day: number, people: readonly HrPerson[]) =>
      await world.night(people, { asOf: `2026-11-${day}T01:00:00.000Z` })
    await night(10, everybody)
    await night(11, staying)
    await approvePart(world, await night(12, staying))

    await night(13, without(staying, 'E0020'))
    const repeated = await night(13, without(staying, 'E0020'))
    const waiting = await heldPartOf(world, repeated)
    const fourth = await night(14, without(staying, 'E0020'))

    expect(repeated.counts).toMatchObject({ leave: 0 })
    // The same export read again states their absence again.
    expect(waiting).toMatchObject({ state: 'held', counts: { leave: 4 } })
    expect(fourth).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect((await peopleOn(client)).get('E0020')?.separatedAt).not.toBeNull()
  })

  test('wait although the platform knows a leaving date to come of them', async () => {
    const stack = new AsyncDisposableStack()
    await using _ = stack
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, feed: { future: 'send' } }))
    const contractors = everybody.map((person) =>
      doubted.includes(person.id) ? { ...person, leavingDate: '2027-06-30' } : person,
    )
    await world.night(contractors, { asOf: '2026-11-10T01:00:00.000Z' })
    const held = await world.night(staying, { asOf: '2026-11-11T01:00:00.000Z' })
    await approvePart(world, held)

    const second = await world.night(staying, { asOf: '2026-11-12T01:00:00.000Z' })

    expect(failed(await heldPartOf(world, second))).toMatchObject([{ name: 'leftUnapproved', actual: 4 }])
  })

  test('by events are held by the next export, and if the events are tried again', async () => {
    await using opened = await openWith({})
    const { world, night, separated } = opened
    world.clock.now = new Date('2026-11-11T03:00:00.000Z')
    for (const id of leavers) await receive(world, terminated(id, '2026-11-10', '2026-11-11T02:10:00.000Z'))
    await later(world, 6)
    const held = await heldRun(world)
    await approvePart(world, held)
    await rejectRun(world.sync, { runId: held.id, by: 'ben' })

    const rejected = (await listEvents(world.sync.store.db, { connection: 'acme' })).filter(
      ({ state }) => state === 'rejected',
    )
    await retryEvents(world.sync.store.db, { connection: 'acme', ids: rejected.map(({ id }) => id) })
    await later(world, 6)
    const retried = await heldRun(world)
    const next = await night(12)

    expect(rejected).toHaveLength(4)
    expect(failed(retried)).toMatchObject([{ name: 'leftUnapproved', people: doubted }])
    expect(next).toMatchObject({ state: 'unchanged', counts: { leave: 0 } })
    expect(failed(await heldPartOf(world, next))).toMatchObject(heldForThem)
    expect(await separated()).toEqual(approved)
  })

  test('wait although an event states them as employed: the export that lacked them may be cut again', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const [first = ''] = doubted

    world.clock.now = new Date('2026-11-11T05:00:00.000Z')
    await receive(world, { ...updated(first, 'Engineer', '2026-11-11T04:00:00.000Z'), type: 'hired' })
    await later(world, 6)
    const second = await heldPartOf(world, await night(12))

    expect(failed(second)).toMatchObject(heldForThem)
    expect(await separated()).toEqual(approved)
  })

  test('with other values leave as anybody else', async () => {
    await using opened = await openWith({ guards: Guards.parse({ fieldChanges: { count: 5, share: 0.05 } }) })
    const { world, night, separated } = opened
    const wrong = everybody.map((person) => (leavers.includes(person.id) ? { ...person, title: 'Wrong' } : person))
    await approvePart(world, await night(11, wrong))
    const [first = '', second = ''] = doubted

    world.clock.now = new Date('2026-11-11T05:00:00.000Z')
    await receive(world, terminated(first, '2026-11-11', '2026-11-11T04:00:00.000Z'))
    await later(world, 6)
    const next = await night(12, without(wrong, first, second))

    expect(next).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect(await heldPartOf(world, next)).toMatchObject({ state: 'held', counts: { update: 2 } })
    expect(await separated()).toEqual([first, second])
  })

  test('who are pinned stay if one of them leaves by a statement', async () => {
    const [first = ''] = doubted
    await using opened = await openWith({ pinned: new Set([first]) })
    const { world, night, separated } = opened
    await approvePart(world, await night(11))
    const { runId } = await stateDeparture(world.sync, {
      connection: 'acme',
      identityId: first,
      by: 'ana',
      principal: 'ana',
      reason: 'theft',
    })
    await world.drain()

    expect(await world.runOf(runId ?? '')).toMatchObject({ state: 'held', counts: { leave: 1 } })
    expect(await separated()).toEqual(approved)
  })

  test('wait again if the statement that they leave is withdrawn', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    const [first = ''] = doubted
    const person = { connection: 'acme', identityId: first, by: 'ana', principal: 'ana', reason: 'theft' }
    await stateDeparture(world.sync, person)
    await world.drain()
    const meanwhile = await separated()

    await withdrawDeparture(world.sync, person)
    await world.drain()
    const second = await heldPartOf(world, await night(12))

    expect(meanwhile).toEqual([...approved, first])
    expect(failed(second)).toMatchObject([{ name: 'leftUnapproved', people: doubted }])
    expect(await separated()).toEqual(approved)
  })

  test('are held after a restore to a time before the part was approved', async () => {
    await using opened = await openWith({})
    const { world, night, separated } = opened
    await night(11)
    const { db } = world.sync.store
    await db.transaction().execute((tx) => prepareRestored(tx, { until: world.clock.now, now: world.clock.now }))

    const few = everybody.filter(({ id }) => !doubted.includes(id))
    const next = await night(12, few)

    expect(next.state).toBe('unchanged')
    expect(failed(await heldPartOf(world, next))).toMatchObject(heldForThem)
    expect(await separated()).toEqual([])
  })

  test('of the roster let everybody else leave on their day, and are planned again once their plan has expired', async () => {
    await using opened = await openWith({})
    const { world, night, separated } = opened
    const dated = (ids: readonly string[], leavingDate: string) =>
      everybody.map((person) => (ids.includes(person.id) ? { ...person, leavingDate } : person))
    const other = 'E0020'
    await night(
      11,
      dated(leavers, '2026-11-12').map((person) =>
        person.id === other ? { ...person, leavingDate: '2026-11-14' } : person,
      ),
    )
    const dayOf = async (time: string) => {
      world.clock.now = new Date(time)
      await requestDueRuns(world.sync)
      await world.drain()
      return await lastRun(world)
    }
    const held = await dayOf('2026-11-13T03:00:00.000Z')
    await approvePart(world, held)
    await dayOf('2026-11-14T03:00:00.000Z')
    const runs = await listRuns(world.sync.store.db, { connection: 'acme', limit: 10 })
    const waiting = runs.find(({ state }) => state === 'held')
    const between = await separated()
    await dayOf('2026-11-18T03:00:00.000Z')
    const now = (await listRuns(world.sync.store.db, { connection: 'acme', limit: 10 })).find(
      ({ state }) => state === 'held',
    )

    expect(held).toMatchObject({ state: 'held', feed: 'roster', counts: { leave: 12 } })
    expect(between).toEqual([...approved, other])
    expect(waiting).toMatchObject({ feed: 'roster', counts: { leave: 4 } })
    expect(waiting?.id).not.toBe(held.id)
    expect(now).toMatchObject({ feed: 'roster', counts: { leave: 4 } })
    expect(now?.id).not.toBe(waiting?.id)
    expect(await separated()).toEqual([...approved, other])
  })

  test('of the roster leave at once if an approver states it, and the others wait', async () => {
    await using opened = await openWith({})
    const { world, night, separated } = opened
    await night(
      11,
      everybody.map((person) => (leavers.includes(person.id) ? { ...person, leavingDate: '2026-11-12' } : person)),
    )
    world.clock.now = new Date('2026-11-13T03:00:00.000Z')
    await requestDueRuns(world.sync)
    await world.drain()
    await approvePart(world, await lastRun(world))
    const [first = ''] = doubted

    const { runId } = await stateDeparture(world.sync, {
      ...{ connection: 'acme', identityId: first, by: 'ana', principal: 'ana', reason: 'theft' },
      on: '2026-11-13',
    })
    await world.drain()

    const run = await world.runOf(runId ?? '')
    expect(run).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect(await heldPartOf(world, run)).toMatchObject({ state: 'held', counts: { leave: 3 } })
    expect(await separated()).toEqual([...approved, first])
  })

  test('of the roster are planned again once the plan of which a part was approved has expired', async () => {
    await using opened = await openWith({})
    const { world, night } = opened
    await night(
      11,
      everybody.map((person) => (leavers.includes(person.id) ? { ...person, leavingDate: '2026-11-12' } : person)),
    )
    world.clock.now = new Date('2026-11-13T03:00:00.000Z')
    await requestDueRuns(world.sync)
    await world.drain()
    const held = await lastRun(world)
    await approvePart(world, held)

    world.clock.now = new Date('2026-11-17T03:00:00.000Z')
    await requestDueRuns(world.sync)
    await world.drain()

    expect((await world.runOf(held.id)).state).toBe('superseded')
  })

  const titles = { guards: Guards.parse({ fieldChanges: { count: 5, share: 0.05 } }) }
  const wrongOf = (people: readonly HrPerson[], ids: readonly string[]) =>
    people.map((person) => (ids.includes(person.id) ? { ...person, title: 'Wrong' } : person))

  test('an export that is cut after people whose title waits is held', async () => {
    await using opened = await openWith(titles)
    const { world, night, separated } = opened
    const wrong = wrongOf(everybody, keysOf(everybody))
    await approvePart(world, await night(12, wrong))
    const cut = await night(13, without(wrong, 'E0098', 'E0099', 'E0100'))
    expect(await separated()).toEqual([])
    expect(cut.reason).toContain('endMissing')
  })

  test('a termination with a deletion does not pass', async () => {
    await using opened = await open()
    const { world, separated } = opened
    const [first = ''] = doubted
    world.clock.now = new Date('2026-11-11T05:00:00.000Z')
    await receive(world, terminated(first, '2026-11-11', '2026-11-11T04:00:00.000Z'), {
      type: 'purged',
      at: '2026-11-11T04:30:00.000Z',
      employee: { id: first },
    })
    await later(world, 6)
    expect(await separated()).toEqual(approved)
  })

  test('a late event separates nobody whom exports state as employed since', async () => {
    await using opened = await openWith(titles)
    const { world, night, separated } = opened
    const wrong = wrongOf(everybody, leavers)
    await approvePart(world, await night(11, wrong))
    for (const day of [12, 13, 14]) await night(day, wrong)
    const [first = ''] = doubted
    world.clock.now = new Date('2026-11-14T05:00:00.000Z')
    await receive(world, terminated(first, '2026-11-12', '2026-11-12T12:00:00.000Z'))
    await later(world, 6)
    expect(await separated()).toEqual([])
  })

  test('a title does not hold a return', async () => {
    await using opened = await openWith(titles)
    const { world, night, separated } = opened
    const wrong = wrongOf(everybody, leavers)
    await approvePart(world, await night(11, wrong))
    await night(12, without(wrong, 'E0009'))
    await night(13, wrong)
    expect(await separated()).toEqual([])
  })

  test('contractors who are listed again wait no longer, and leave on their day', async () => {
    await using opened = await openWith({})
    const { world, night, separated } = opened
    const dated = everybody.map((p) => (doubted.includes(p.id) ? { ...p, leavingDate: '2026-11-20' } : p))
    await night(11, dated)
    await approvePart(world, await night(12))
    for (const day of [13, 14]) await night(day, without(dated, ...approved))
    world.clock.now = new Date('2026-11-21T03:00:00.000Z')
    await requestDueRuns(world.sync)
    await world.drain()
    expect(await separated()).toEqual(leavers)
  })

  test('a title that was corrected waits no longer for a contractor', async () => {
    await using opened = await openWith(titles)
    const { world, night } = opened
    const dated = everybody.map((p) => (doubted.includes(p.id) ? { ...p, leavingDate: '2027-11-20' } : p))
    await night(11, dated)
    await approvePart(world, await night(12, wrongOf(dated, leavers)))
    for (const day of [13, 14]) await night(day, wrongOf(dated, approved))
    const promoted = await night(15, change(wrongOf(dated, approved), { id: 'E0009', title: 'Lead' }))
    expect(promoted).toMatchObject({ counts: { update: 1 }, heldPart: null })
  })

  test('of one person a departure and a title wait', async () => {
    await using opened = await openWith(titles)
    const { world, night } = opened
    await approvePart(world, await night(11))
    const others = keysOf(everybody.slice(80))
    const wrong = wrongOf(without(everybody, ...approved), [...doubted, ...others])
    await approvePart(world, await night(12, wrong), others)
    await night(13, wrong)
    const on = await peopleOn(world.sync.platform.client)
    expect(doubted.map((id) => on.get(id)?.jobTitle)).toEqual(doubted.map(() => 'Engineer'))
  })

  test('joiners of events who were left out wait in the next export', async () => {
    await using opened = await openWith({ guards: Guards.parse({ joiners: { count: 5, share: 0.01 } }) })
    const { world, night } = opened
    world.clock.now = new Date('2026-11-11T03:00:00.000Z')
    const ids = Array.from({ length: 10 }, (_, i) => `N${i}`)
    for (const id of ids)
      await receive(world, {
        type: 'hired',
        at: '2026-11-11T02:00:00.000Z',
        employee: { id, email: `${id}@acme.example`, first: id, title: 'x' },
      })
    await later(world, 6)
    await approvePart(world, await heldRun(world), ids.slice(0, 7))
    await rejectRun(world.sync, { runId: (await heldRun(world)).id, by: 'ben' })
    const joiners = ids.map((id) => ({ id, email: `${id}@acme.example`, first: id, title: 'x', status: 'Active' }))
    expect((await night(12, [...everybody, ...joiners])).counts).toMatchObject({ join: 0 })
  })

  test('a departure that is stated for the day on which a run ends is held by that run, and sent on its day', async () => {
    await using opened = await open()
    const { world, separated } = opened
    const [identityId = ''] = doubted
    world.clock.now = new Date('2026-11-11T06:00:00.000Z')
    const about = { connection: 'acme', identityId, by: 'ana', principal: 'ana', reason: 'x', on: '2026-11-13' }
    await stateDeparture(world.sync, about)
    await world.drain()
    world.clock.now = new Date('2026-11-12T23:58:00.000Z')
    const midnight = async () => {
      world.clock.now = new Date('2026-11-13T00:02:00.000Z')
    }
    Object.assign(world.sync, { yieldToShortWork: midnight })

    const run = await world.night(without(everybody, ...approved, identityId), { asOf: '2026-11-12T22:00:00.000Z' })
    const held = await heldPartOf(world, run)
    await requestDueRuns(world.sync)
    await world.drain()

    expect(held).toMatchObject({ state: 'held', counts: { leave: 1 } })
    expect(await separated()).toEqual([...approved, identityId])
  })

  test('are not sent by a plan of which it is not known whom it holds', async () => {
    await using opened = await open()
    const { world, night, separated } = opened
    Object.assign(world.sync, {
      yieldToShortWork: async () => {
        await world.sync.store.db.updateTable('unapproved_people').set({ held_by: null }).execute()
      },
    })
    await night(12)
    expect(await separated()).toEqual(approved)
  })

  test('with a status that means left wait on the day that HR adds later', async () => {
    await using opened = await openWith({})
    const { world, night, separated } = opened
    const gone = everybody.map((p) => (leavers.includes(p.id) ? { ...p, status: 'Inactive' } : p))
    const feed = world.connection.feeds.source
    Object.assign(feed ?? {}, { mapping: { ...(feed?.mapping ?? {}), statusMeans: 'onDate' } })
    await approvePart(world, await night(11, gone))
    const dated = gone.map((p) => (doubted.includes(p.id) ? { ...p, leavingDate: '2026-11-13' } : p))
    await night(12, dated)
    const rows = await world.sync.store.db.selectFrom('unapproved_people').selectAll().execute()
    world.clock.now = new Date('2026-11-14T00:30:00.000Z')
    await requestDueRuns(world.sync)
    await world.drain()
    expect({ separated: await separated(), rows: rows.length }).toEqual({ separated: approved, rows: 4 })
  })

  test('whose return was left out do not come back with another leaving date', async () => {
    await using opened = await openWith(
      { guards: Guards.parse({ returns: { count: 5, share: 0.01 }, leavers: { count: 50, share: 0.9 } }) },
      false,
      { future: 'send' },
    )
    const { world, night, separated } = opened
    await night(11)
    const before = await separated()
    const held = await night(12, everybody)
    await approvePart(world, held)
    const between = await separated()
    await night(13, [
      ...everybody.filter((p) => !doubted.includes(p.id)),
      ...everybody.filter((p) => doubted.includes(p.id)).map((p) => ({ ...p, leavingDate: '2027-06-30' })),
    ])
    const on = await peopleOn(world.sync.platform.client)
    expect({
      before,
      held: held.state,
      between,
      dates: doubted.map((id) => on.get(id)?.separatedAt?.slice(0, 10)),
    }).toEqual({
      before: leavers,
      held: 'held',
      between: doubted,
      dates: doubted.map(() => '2026-11-11'),
    })
  })

  test.each(['before', 'after'])(
    'with a title that waits leave on the day that the same events state, also if the title is approved %s it',
    async (when) => {
      await using opened = await openWith(titles)
      const { world, night, separated } = opened
      await approvePart(world, await night(11, wrongOf(everybody, leavers)))
      const [first = '', second = ''] = doubted
      world.clock.now = new Date('2026-11-11T05:00:00.000Z')
      await receive(
        world,
        updated(first, 'Wrong', '2026-11-11T04:00:00.000Z'),
        terminated(first, '2026-11-12', '2026-11-11T04:10:00.000Z'),
        {
          ...terminated(second, '2026-11-12', '2026-11-11T04:10:00.000Z'),
          employee: { id: second, left: '2026-11-12', title: 'Wrong' },
        },
      )
      await later(world, 6)
      const titlesOf = async () => {
        const on = await peopleOn(world.sync.platform.client)
        return [first, second].map((id) => on.get(id)?.jobTitle)
      }
      const approveTitles = async () => {
        const held = async () =>
          (await listRuns(world.sync.store.db, { limit: 9 })).find(({ state }) => state === 'held')
        // An approval of a plan that is outdated has it made again.
        for (let run = await held(), times = 0; run && times < 3; run = await held(), times++) await approve(world, run)
      }

      const unapproved = await titlesOf()
      if (when === 'before') await approveTitles()
      world.clock.now = new Date('2026-11-13T00:10:00.000Z')
      await requestDueRuns(world.sync)
      await world.drain()
      if (when === 'after') await approveTitles()

      expect(unapproved).toEqual(['Engineer', 'Engineer'])
      expect(await separated()).toEqual([first, second])
      expect(await titlesOf()).toEqual(['Wrong', 'Wrong'])
    },
  )

  test('with a title that waits stay out of sync in what the platform has not acknowledged', async () => {
    await using opened = await openWith(titles)
    const { world, night } = opened
    const { db } = world.sync.store
    const [first = ''] = doubted
    const wrong = wrongOf(everybody, leavers)
    await approvePart(world, await night(11, wrong))
    const [known] = await db.selectFrom('roster').select('desired').where('identity_id', '=', first).execute()
    const confirmed = JSON.stringify({ ...known?.desired, email: 'old@acme.example' })
    await db.insertInto('acknowledged').values({ connection: 'acme', identity_id: first, confirmed }).execute()

    const next = await night(12, wrong)

    const unacknowledged = await db.selectFrom('out_of_sync').select('identity_id').execute()
    expect(next.heldPart).not.toBeNull()
    expect(unacknowledged).toEqual([{ identity_id: first }])
  })

  test('with a title that waits are not late once HR has moved or withdrawn their day', async () => {
    await using opened = await openWith(titles)
    const { world, night, separated } = opened
    const [first = '', second = ''] = doubted
    const dated = (day: string, other: string) =>
      everybody.map((p) =>
        p.id === first ? { ...p, leavingDate: day } : p.id === second ? { ...p, leavingDate: other } : p,
      )
    await night(11, dated('2026-11-20', '2026-11-20'))
    await approvePart(world, await night(12, wrongOf(dated('2026-11-20', '2026-11-20'), leavers)))
    for (const day of [13, 19, 21]) await night(day, wrongOf(dated('2026-11-30', ''), leavers))
    world.clock.now = new Date('2026-11-22T03:00:00.000Z')
    const late = await lateLeavers(world.sync.store.db, { bounds: new Map([['acme', 4]]), now: world.clock.now })
    expect({ separated: await separated(), late }).toEqual({ separated: [], late: [] })
  })

  test('are not counted in a part of events, and its rest is counted right', async () => {
    await using opened = await open()
    const { world } = opened
    await rejectRun(world.sync, { runId: opened.held.id, by: 'ben' })
    const others = keysOf(everybody.slice(20, 32))
    world.clock.now = new Date('2026-11-11T05:00:00.000Z')
    for (const id of [...doubted, ...others])
      await receive(world, terminated(id, '2026-11-11', '2026-11-11T04:00:00.000Z'))
    await later(world, 6)
    const h = await heldRun(world)
    await approvePart(world, h, [...doubted, ...others.slice(0, 4)])
    const rest = await world.runOf(h.id)
    const verdict = (run: Run) =>
      (run.guards ?? []).filter(({ name }) => name === 'leavers').map(({ ok, actual }) => ({ ok, actual }))
    expect({ before: verdict(h), after: verdict(rest) }).toEqual({
      before: [{ ok: false, actual: 12 }],
      after: [{ ok: false, actual: 8 }],
    })
  })

  test('and were only missing wait no longer once HR states a day to come', async () => {
    await using opened = await openWith({}, false, { future: 'send' })
    const { world, night } = opened
    await approvePart(world, await night(11))
    const dated = everybody
      .filter(({ id }) => !approved.includes(id))
      .map((p) => (doubted.includes(p.id) ? { ...p, leavingDate: '2027-06-30' } : p))
    const next = await night(12, dated)
    expect(next.heldPart).toBe(null)
  })

  test('wait for nothing once their deletion is approved', async () => {
    await using opened = await open()
    const { world } = opened
    const [first = ''] = doubted
    world.clock.now = new Date('2026-11-11T05:00:00.000Z')
    await receive(world, { type: 'purged', at: '2026-11-11T04:30:00.000Z', employee: { id: first } })
    await later(world, 6)
    await approve(world, await heldRun(world))
    const rows = await world.sync.store.db
      .selectFrom('unapproved_people')
      .selectAll()
      .where('identity_id', '=', first)
      .execute()
    expect(rows).toEqual([])
  })

  test('with a title that waits stay if HR states an older departure with a later start', async () => {
    await using opened = await openWith(titles)
    const { world, night, separated } = opened
    await approvePart(world, await night(11, wrongOf(everybody, leavers)))
    const [first = ''] = doubted
    world.clock.now = new Date('2026-11-11T05:00:00.000Z')
    await receive(
      world,
      terminated(first, '2026-01-31', '2026-11-11T04:00:00.000Z'),
      updated(first, 'Wrong', '2026-11-11T04:10:00.000Z', { left: '2026-01-31', start: '2026-03-01' }),
    )

    await later(world, 6)

    expect(await separated()).toEqual([])
  })
})
