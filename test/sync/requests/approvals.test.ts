import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alertViews } from '../../../src/daemon/alerts/message.ts'
import { Failure } from '../../../src/errors.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import type { SyncConnection } from '../../../src/sync/context/context.ts'
import {
  approveRun,
  classifyValue,
  hasMovedBasis,
  rejectRun,
  requestPerson,
  requestRevert,
  requestRun,
  retractPerson,
} from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { firstOf } from '../../helpers/tier.ts'
import {
  change,
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const hourMs = 60 * 60_000

describe.each(databases)('an approval on $name', ({ createDatabase }) => {
  async function open(connection: Partial<Omit<SyncConnection, 'feeds'>> = {}) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, connection }))
    await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
    const separated = async () => [...(await peopleOn(client)).values()].filter((person) => person.separatedAt).length
    return { world, separated, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  /** Ten of twenty people are gone, which a guard holds. */
  async function heldRun(world: World, by?: string): Promise<Run> {
    world.clock.now = new Date(world.clock.now.getTime() + 60_000)
    world.setExport(staff(10), '2026-11-20T01:00:00.000Z')
    const request = { connection: 'acme', trigger: 'operator', ...(by !== undefined && { by }) } as const
    const { id } = await requestRun(world.sync, request)
    await world.drain()
    const run = await world.runOf(id)
    expect(run.state).toBe('held')
    return run
  }

  const decision = ({ id, digest }: Run, by = 'ana', principal = `token:${by}`) => ({
    runId: id,
    digest: digest ?? '',
    by,
    principal,
  })
  const refusal = async (deciding: Promise<unknown>): Promise<string> => {
    const error = await deciding.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ code: 'conflict' })
    return error instanceof Failure ? error.message : ''
  }

  test('is stored with its author and reason; so is a rejection', async () => {
    await using opened = await open()
    const { world } = opened
    const wrong = await heldRun(world, 'ben')
    const rejected = await rejectRun(world.sync, { runId: wrong.id, by: 'ana', reason: 'the export was cut off' })
    const right = await heldRun(world)

    await approveRun(world.sync, { ...decision(right), reason: 'the plant in Ulm was sold' })
    await world.drain()

    expect(rejected).toMatchObject({ requestedBy: ['ben'], decidedBy: 'ana', decidedReason: 'the export was cut off' })
    expect(await world.runOf(right.id)).toMatchObject({
      state: 'finished',
      decidedBy: 'ana',
      decidedReason: 'the plant in Ulm was sold',
    })
  })

  test('is refused once the plan has expired: its people stay unchanged, and listed, until a run plans again', async () => {
    await using opened = await open({ approvals: { expireHours: 5, twoPeople: false } })
    const { world, separated } = opened
    const held = await heldRun(world)
    const due = new Date(world.clock.now.getTime() + 5 * hourMs)
    const conditions = () =>
      alertViews(world.sync.store.db, {
        connections: ['acme'],
        overdueMinutes: 60,
        pausedHours: 24,
        maxLeaverHours: new Map(),
        freshness: [],
        linkOf: () => null,
        now: world.clock.now,
      })
    const before = await conditions()
    world.clock.now = due

    const message = await refusal(approveRun(world.sync, decision(held)))
    const after = await conditions()
    const next = await heldRun(world)
    await approveRun(world.sync, decision(next))
    await world.drain()

    expect(held.expiresAt).toBe(due.toISOString())
    expect(message).toBe(
      `the plan of run ${held.id} has expired at ${due.toISOString()} and cannot be approved. To plan again, run "rollcall sync --connection acme"`,
    )
    expect(before).toMatchObject([
      { kind: 'held', leavers: 10, reason: expect.stringContaining('until 2026-11-20 08:02 UTC') },
    ])
    expect(after).toMatchObject([
      { kind: 'held', leavers: 10, reason: expect.stringContaining('has expired at 2026-11-20 08:02 UTC: run again') },
      { kind: 'expiring', code: 'expired', leavers: 10 },
    ])
    expect(await world.runOf(held.id)).toMatchObject({ state: 'superseded' })
    expect(await separated()).toBe(10)
  })

  test('of a retraction expires too, but it can still be rejected', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const held = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'E0001',
      reason: 'a test',
      by: 'ben',
    })
    world.clock.now = new Date(world.clock.now.getTime() + 72 * hourMs)

    expect(await refusal(approveRun(world.sync, decision(held)))).toContain('ask for the retraction again')
    expect(await rejectRun(world.sync, { runId: held.id, by: 'ana' })).toMatchObject({ state: 'rejected' })
  })

  test('is refused a second time, naming the author of the first one, and so is a later rejection', async () => {
    await using opened = await open()
    const { world } = opened
    const held = await heldRun(world)
    await approveRun(world.sync, decision(held))

    const again = await refusal(approveRun(world.sync, decision(held, 'ben')))
    const dropped = await refusal(rejectRun(world.sync, { runId: held.id, by: 'ben' }))

    const at = (await world.runOf(held.id)).decidedAt
    expect(again).toBe(`run ${held.id} is delivering, not held: ana approved it at ${at}`)
    expect(dropped).toBe(again)
  })

  test('of a run of another connection than expected is refused', { tags: ['full'] }, async () => {
    await using opened = await open()
    const held = await heldRun(opened.world)

    const message = await refusal(approveRun(opened.world.sync, { ...decision(held), connection: 'globex' }))

    expect(message).toBe(`run ${held.id} is of the connection "acme", not of "globex"`)
  })

  describe('has the plan made again', () => {
    test('if the configuration of the connection has changed since', async () => {
      await using opened = await open()
      const { world, separated } = opened
      const held = await heldRun(world)
      const unmoved = await hasMovedBasis(world.sync, held)
      reconfigure(world, { configuration: 'mended', guards: Guards.parse({ leavers: { count: 1, share: 0 } }) })

      const again = await approveRun(world.sync, { ...decision(held), reason: 'as told by HR' })
      const between = await separated()
      await world.drain()

      expect([unmoved, await hasMovedBasis(world.sync, held)]).toEqual([false, false])
      expect(again.id).not.toBe(held.id)
      expect(between).toBe(0)
      expect(await world.runOf(held.id)).toMatchObject({
        state: 'superseded',
        moved: 'the configuration of the connection, or a classified value, has changed since',
      })
      // It says the same, and nothing holds it that the person has not seen.
      expect(await world.runOf(again.id)).toMatchObject({
        state: 'finished',
        decidedBy: 'ana',
        decidedReason: 'as told by HR',
      })
      expect(await separated()).toBe(10)
    })

    test('with all options of the run', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world } = opened
      world.setExport(staff(10), '2026-11-20T01:00:00.000Z')
      const requested = await requestRun(world.sync, {
        connection: 'acme',
        trigger: 'operator',
        options: { sample: true },
      })
      await world.drain()
      reconfigure(world, { configuration: 'mended' })

      const again = await approveRun(world.sync, decision(await world.runOf(requested.id)))

      expect(again.options).toMatchObject({ sample: true, again: { runId: requested.id } })
    })

    test('if a value was classified since, and holds the plan if it differs', async () => {
      await using opened = await open()
      const { world, separated } = opened
      const people = staff(10).map((person, at) => (at < 3 ? { ...person, status: 'Sabbatical' } : person))
      world.setExport(people, '2026-11-20T01:00:00.000Z')
      const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
      await world.drain()
      const held = await world.runOf(id)
      await classifyValue(world.sync, { connection: 'acme', value: 'sabbatical', meaning: 'left', by: 'ben' })

      const moved = await hasMovedBasis(world.sync, held)
      const again = await approveRun(world.sync, decision(held))
      await world.drain()

      expect(moved).toBe(true)
      expect(held.counts).toMatchObject({ leave: 10 })
      expect(await world.runOf(again.id)).toMatchObject({ state: 'held', counts: { leave: 13 } })
      expect(await separated()).toBe(0)
    })
  })

  describe('does not cover additional changes of a newer export', () => {
    type Row = Partial<HrPerson>
    const export_ = (rows: Readonly<Record<string, Row>>) =>
      change(staff(20), { id: 'E0020', title: 'Lead' }, ...Object.entries(rows).map(([id, row]) => ({ ...row, id })))
    const bad = (from: number, to: number): Record<string, Row> =>
      Object.fromEntries(
        staff(20)
          .slice(from, to)
          .map(({ id }) => [id, { start: 'n/a' }]),
      )
    const status = (of: string, ...ids: string[]): Record<string, Row> =>
      Object.fromEntries(ids.map((id) => [id, { status: of }]))

    test.each(
      firstOf(2, [
        ['as many other rows that cannot be read', bad(0, 8), bad(8, 16)],
        ['a value that nobody saw', status('Sabbatical', 'E0001'), status('Gone', 'E0002', 'E0003')],
        ['more rows that cannot be read', bad(0, 8), bad(0, 12)],
        ['a value in more rows', status('Gone', 'E0001'), status('Gone', 'E0001', 'E0002')],
      ]),
    )('%s', async (_, before, after) => {
      await using opened = await open()
      const { world } = opened
      const held = await world.night(export_(before), { asOf: '2026-11-20T01:00:00.000Z' })
      await classifyValue(world.sync, { connection: 'acme', value: 'Sabbatical', meaning: 'employed', by: 'ben' })
      world.setExport(export_(after), '2026-11-20T02:00:00.000Z')

      const { id } = await approveRun(world.sync, decision(held))
      await world.drain()
      const again = await world.runOf(id)
      await approveRun(world.sync, decision(again))
      await world.drain()

      expect(held.state).toBe('held')
      expect(again).toMatchObject({ state: 'held', digest: held.digest, decidedBy: null })
      expect(again.reason).toContain(`made again after ana approved run ${held.id}`)
      expect(await world.runOf(id)).toMatchObject({ state: 'finished', decidedBy: 'ana' })
    })

    test('but covers a newer export with fewer changes', async () => {
      await using opened = await open()
      const { world } = opened
      const held = await world.night(export_({ ...bad(0, 8), ...status('Sabbatical', 'E0011') }), {
        asOf: '2026-11-20T01:00:00.000Z',
      })
      await classifyValue(world.sync, { connection: 'acme', value: 'Sabbatical', meaning: 'employed', by: 'ben' })
      world.setExport(export_({ ...bad(0, 7), ...status('Sabbatical', 'E0011') }), '2026-11-20T02:00:00.000Z')

      const { id } = await approveRun(world.sync, decision(held))
      await world.drain()

      expect(await world.runOf(id)).toMatchObject({ state: 'finished', decidedBy: 'ana', digest: held.digest })
    })
  })

  describe('by two people', () => {
    const twoPeople = { approvals: { expireHours: 72, twoPeople: true } }

    test('takes another one than the person who asked for the run, however the name is written', async () => {
      await using opened = await open()
      const { world, separated } = opened
      reconfigure(world, twoPeople)
      const held = await heldRun(world, 'Ana')

      const message = await refusal(approveRun(world.sync, decision(held, ' ANA ')))
      await approveRun(world.sync, decision(held, 'ben'))
      await world.drain()

      expect(message).toBe(
        ` ANA  requested run ${held.id}: "approvals.twoPeople" requires another person to approve it`,
      )
      expect(await separated()).toBe(10)
    })

    test('treats all names that the account of this machine states as one person', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world, separated } = opened
      reconfigure(world, twoPeople)
      const held = await heldRun(world, 'ana')

      const message = await refusal(approveRun(world.sync, decision(held, 'ben', 'machine')))
      const { runId } = decision(held)
      const unstated = await refusal(approveRun(world.sync, { runId, digest: held.digest ?? '', by: 'ben' }))

      expect(message).toBe(
        `ana requested run ${held.id}, and ben is the same person (the account of this machine states both names): "approvals.twoPeople" requires another person to approve it`,
      )
      expect(unstated).toBe(message)
      expect(await separated()).toBe(0)
    })

    test('includes each person who joined the request, also after the plan is made again', {
      tags: ['full'],
    }, async () => {
      await using opened = await open()
      const { world } = opened
      reconfigure(world, twoPeople)
      world.setExport(staff(10), '2026-11-20T01:00:00.000Z')
      await requestRun(world.sync, { connection: 'acme', trigger: 'operator', by: 'ana' })
      const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator', by: 'ben' })
      await world.drain()
      const held = await world.runOf(id)
      reconfigure(world, { configuration: 'mended' })

      const again = await approveRun(world.sync, decision(held, 'cleo'))

      expect(again.requestedBy).toEqual(['ana', 'ben'])
      expect(await refusal(approveRun(world.sync, decision(held, 'ben')))).toContain('ben requested run')
    })

    test('takes another one than the person who introduced the configuration', async () => {
      await using opened = await open()
      const { world } = opened
      reconfigure(world, { ...twoPeople, configuration: 'looser' })
      Object.assign(world.sync, { startedBy: 'ana' })
      const held = await heldRun(world, 'ben')

      const message = await refusal(approveRun(world.sync, decision(held, 'ana')))
      await approveRun(world.sync, decision(held, 'cleo'))
      await world.drain()
      world.setExport(staff(3), '2026-11-21T01:00:00.000Z')
      const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator', by: 'ben' })
      await world.drain()

      expect(message).toBe(
        `run ${held.id} was planned by a configuration that ana brought in: "approvals.twoPeople" requires another person to approve it`,
      )
      // From then on it is an accepted one.
      await approveRun(world.sync, decision(await world.runOf(id), 'ana'))
    })

    test('takes another one than the person who requested a revert, or a run of one person', {
      tags: ['full'],
    }, async () => {
      await using opened = await open()
      const { world, separated } = opened
      reconfigure(world, twoPeople)
      const leaving = await heldRun(world, 'ana')
      await approveRun(world.sync, decision(leaving, 'ben'))
      await world.drain()
      const signal = new AbortController().signal
      const { id } = await requestRevert(world.sync, { runId: leaving.id, reason: 'a mistake', by: 'ana', signal })
      await world.drain()
      const revert = await world.runOf(id)
      const refused = await refusal(approveRun(world.sync, decision(revert, 'ana')))
      await approveRun(world.sync, decision(revert, 'ben'))
      await world.drain()
      world.setExport(staff(2), '2026-11-21T01:00:00.000Z')
      const requested = await requestPerson(world.sync, { connection: 'acme', person: 'E0009', by: 'ana' })
      await requestPerson(world.sync, { connection: 'acme', person: 'E0009', by: 'cleo' })
      await world.drain()
      const person = await world.runOf(requested.id)

      expect([revert.state, person.state]).toEqual(['held', 'held'])
      expect(refused).toContain('ana requested run')
      for (const by of ['ana', 'cleo'])
        expect(await refusal(approveRun(world.sync, decision(person, by)))).toContain(`${by} requested run`)
      expect(await separated()).toBe(0)
    })

    test('has to know the requester', { tags: ['full'] }, async () => {
      await using opened = await open()
      reconfigure(opened.world, twoPeople)

      const asking = requestRun(opened.world.sync, { connection: 'acme', trigger: 'operator' })

      const askingOne = requestPerson(opened.world.sync, { connection: 'acme', person: 'E0001' })

      for (const request of [asking, askingOne])
        await expect(request).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('who asks') })
    })
  })
})

function reconfigure(world: World, changed: Partial<Omit<SyncConnection, 'feeds'>>): void {
  Object.assign(world.connection, changed)
}
