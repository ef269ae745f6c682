import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runFailed } from '../../../src/store/alerts/run-conditions.ts'
import { readEntry } from '../../../src/store/audit/trail.ts'
import type { PartSelection } from '../../../src/store/plans/approved-part.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import type { SyncConnection } from '../../../src/sync/context/context.ts'
import { approveRun, previewPart, rejectRun, requestRevert, requestRun } from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { storeRun } from '../../helpers/stored-runs.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const leavers = ['E0011', 'E0012', 'E0013', 'E0014', 'E0015', 'E0016', 'E0017', 'E0018', 'E0019', 'E0020']

describe.each(databases)('a part of a held plan on $name', ({ createDatabase }) => {
  async function open(connection: Partial<Omit<SyncConnection, 'feeds'>> = {}) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, connection }))
    await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
    const separated = async () =>
      [...(await peopleOn(client))].flatMap(([key, person]) => (person.separatedAt ? [key] : [])).sort()
    return { at, client, world, separated, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  /** Of twenty people ten are gone, which a guard holds; the first has another title, and one joins. */
  async function heldRun(world: World, by?: string, asOf = '2026-11-20T01:00:00.000Z'): Promise<Run> {
    world.clock.now = new Date(world.clock.now.getTime() + 60_000)
    const people = [
      ...change(staff(10), { id: 'E0001', title: 'Lead' }),
      { id: 'N1', email: 'n1@acme.example', first: 'N' },
    ]
    world.setExport(
      people.map((person) => ({ status: 'Active', ...person })),
      asOf,
    )
    const { id } = await requestRun(world.sync, {
      connection: 'acme',
      trigger: 'operator',
      ...(by !== undefined && { by, principal: `token:${by}` }),
    })
    await world.drain()
    const run = await world.runOf(id)
    expect(run).toMatchObject({ state: 'held', counts: { leave: 10, join: 1, update: 1 } })
    return run
  }

  async function approvePart(world: World, { id: runId }: Run, part: PartSelection, by = 'ana') {
    const { digest } = await previewPart(world.sync, { runId, selection: part })
    return await approveRun(world.sync, {
      runId,
      digest,
      part,
      by,
      principal: `token:${by}`,
      reason: 'the office closed',
    })
  }

  const messageOf = async (deciding: Promise<unknown>): Promise<string> =>
    await deciding.then(
      () => 'no failure',
      (error: Error) => error.message,
    )

  test('is delivered by a run of its own, while the rest stays held with a digest of its own', async () => {
    await using opened = await open()
    const { world, client, separated } = opened
    const held = await heldRun(world)
    const preview = await previewPart(world.sync, {
      runId: held.id,
      selection: { kinds: ['leave'], people: leavers.slice(0, 3) },
    })

    const part = await approvePart(world, held, { kinds: ['leave'], people: leavers.slice(0, 3) })
    await world.drain()
    const between = await separated()
    const rest = await world.runOf(held.id)
    await approveRun(world.sync, { runId: rest.id, digest: rest.digest ?? '', by: 'ben', principal: 'token:ben' })
    await world.drain()

    expect(preview).toMatchObject({
      people: 3,
      peopleOfPlan: 12,
      counts: { leave: 3, join: 0 },
      remaining: { leave: 7, join: 1, update: 1 },
    })
    expect(part).toMatchObject({
      partOf: held.id,
      digest: preview.digest,
      decidedBy: 'ana',
      decidedReason: 'the office closed',
    })
    expect(await world.runOf(part.id)).toMatchObject({ state: 'finished', confirmed: 3, source: null })
    expect(between).toEqual(leavers.slice(0, 3))
    expect(rest).toMatchObject({
      state: 'held',
      moved: null,
      parts: [part.id],
      counts: { leave: 7, join: 1, update: 1 },
      expiresAt: held.expiresAt,
      reason: expect.stringMatching(
        /^leavers: 7 of 20 people would be separated; the limit is 5;.*; leftUnapproved: 9 people were left out when a part of a held plan was approved/,
      ),
    })
    expect(rest.guards?.find(({ name }) => name === 'leavers')).toMatchObject({ actual: 7, people: leavers.slice(3) })
    expect(new Set([held.digest, part.digest, rest.digest]).size).toBe(3)
    expect(await world.runOf(held.id)).toMatchObject({ state: 'finished', decidedBy: 'ben', confirmed: 9 })
    expect(await separated()).toEqual(leavers)
    expect((await peopleOn(client)).get('E0001')?.jobTitle).toBe('Lead')
    expect((await peopleOn(client)).has('N1')).toBe(true)
  })

  test('does not take the two keys apart that look like one person', async () => {
    await using opened = await open()
    const { world, separated } = opened
    const company = staff(20)
    const rekeyed = company.map((person) => (person.id === 'E0012' ? { ...person, id: 'N12' } : person))
    const held = await world.night(
      rekeyed.filter(({ id }) => id !== 'E0011'),
      { asOf: '2026-11-20T01:00:00.000Z' },
    )

    expect(held).toMatchObject({ state: 'held', counts: { leave: 2, join: 1 } })
    for (const selection of [{ kinds: ['join'] }, { kinds: ['leave'] }, { people: ['E0011', 'E0012'] }] as const)
      expect(await messageOf(approvePart(world, held, selection))).toMatch(/E0012 and N12 look like one person/)
    await approvePart(world, held, { people: ['E0011'] })
    await world.drain()
    expect(await separated()).toEqual(['E0011'])
    expect(await world.runOf(held.id)).toMatchObject({ state: 'held', counts: { leave: 1, join: 1 } })
  })

  test('is no reading of HR: the alert about a source that fails stays', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const held = await heldRun(world)
    const failed = await storeRun(world.sync.store.db, {
      connection: 'acme',
      state: 'failed',
      at: new Date(world.clock.now.getTime() + 60_000),
    })
    world.clock.now = new Date(world.clock.now.getTime() + 120_000)
    await approvePart(world, held, { people: ['E0011'] })
    await world.drain()

    const alerts = await runFailed(world.sync.store.db, {
      ...{ overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map(), connections: ['acme'] },
      now: world.clock.now,
    })

    expect(alerts).toMatchObject([{ kind: 'run_failed', runId: failed }])
  })

  test('counts towards the limits and the usual as what it is, and so does the rest', async () => {
    await using opened = await open()
    const { world } = opened
    const held = await heldRun(world)

    const part = await approvePart(world, held, { people: ['E0001', ...leavers.slice(0, 4)] })

    const rows = await world.sync.store.db.selectFrom('runs').select(['id', 'people_counts']).execute()
    const of = (id: string) => rows.find((row) => row.id === id)?.people_counts
    expect(of(part.id)).toMatchObject({ leavers: 4, joiners: 0, changed: { jobTitle: 1 } })
    expect(of(held.id)).toMatchObject({ leavers: 6, joiners: 1, changed: {} })
  })

  test('states everybody once: those of the rest as held, those of the part as left', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const held = await heldRun(world)

    await approvePart(world, held, { people: leavers.slice(0, 3) })
    await world.drain()

    const { db } = world.sync.store
    const statement = await db.selectFrom('statements').selectAll().orderBy('made_at', 'desc').executeTakeFirst()
    expect(statement).toMatchObject({ adds_up: true })
    const parts = await db
      .selectFrom('leavers')
      .innerJoin('runs', 'runs.id', 'leavers.run_id')
      .select(['identity_id', 'runs.state'])
      .orderBy('identity_id')
      .execute()
    expect(parts.filter(({ state }) => state === 'finished').map((one) => one.identity_id)).toEqual(leavers.slice(0, 3))
    expect(parts.filter(({ state }) => state === 'held').map((one) => one.identity_id)).toEqual(leavers.slice(3))
  })

  test('is refused if it is nobody, everybody, or names what the plan lacks, and nothing is sent', async () => {
    await using opened = await open()
    const { world, separated } = opened
    const held = await heldRun(world)
    const refusals: string[] = []
    for (const part of [
      { kinds: ['return'] },
      { groups: ['Sales'] },
      { groups: [null, 'Sales', 'Legal'] },
      { people: ['E0001', 'X1', 'X2', 'X3', 'X4', 'X5', 'X6'] },
      { kinds: ['leave'], people: ['E0001'] },
      { kinds: ['leave', 'join', 'update'] },
    ] satisfies PartSelection[])
      refusals.push(await messageOf(approvePart(world, held, part)))

    expect(refusals.map((text) => text.replaceAll(held.id, 'ID'))).toEqual([
      'the plan of run ID has no change of the kind "return"',
      'the plan of run ID has nobody in the group that was chosen; compare the spelling with the groups of the plan',
      'the plan of run ID has nobody in group 2, 3 of the 3 that was chosen; compare the spelling with the groups of the plan',
      'the plan of run ID has no change for X1, X2, X3, X4, X5, and 1 more',
      'nobody in the plan of run ID fits all that was chosen, so there is nothing to approve',
      'this part is the whole plan of run ID: approve the run without choosing a part',
    ])
    expect(await world.runOf(held.id)).toMatchObject({ state: 'held', digest: held.digest, parts: [] })
    expect(await separated()).toEqual([])
  })

  test('is refused with the digest of another part, after its time, and once its plan was replaced or has moved', async () => {
    await using opened = await open({ approvals: { expireHours: 5, twoPeople: false } })
    const { world, separated } = opened
    const held = await heldRun(world)
    const part = { people: leavers.slice(0, 2) }
    const { digest } = await previewPart(world.sync, { runId: held.id, selection: part })
    const decision = { runId: held.id, part, digest, by: 'ana' }

    const other = await messageOf(approveRun(world.sync, { ...decision, part: { people: leavers.slice(0, 3) } }))
    const { now } = world.clock
    world.clock.now = new Date(now.getTime() + 6 * 3_600_000)
    const expired = await messageOf(approveRun(world.sync, decision))
    world.clock.now = now
    const connections = world.sync.connections as Map<string, SyncConnection>
    connections.set('acme', { ...world.connection, configuration: 'another' })
    const moved = await messageOf(approveRun(world.sync, decision))
    connections.set('acme', world.connection)
    await heldRun(world)
    const replaced = await messageOf(approveRun(world.sync, decision))

    expect(other).toMatch(/^this part of run .* is sha256:.* now, not sha256:.*; look at the part again$/)
    expect(expired).toContain('has expired')
    expect(moved).toMatch(/^no part of run .* can be approved: the configuration of the connection/)
    expect(replaced).toContain('is superseded, not held')
    expect(await separated()).toEqual([])
  })

  test('follows the rule of two people, and so does the rest', async () => {
    await using opened = await open()
    const { world, separated } = opened
    Object.assign(world.connection.approvals, { twoPeople: true })
    const held = await heldRun(world, 'ana')

    const own = await messageOf(approvePart(world, held, { kinds: ['leave'] }, 'ana'))
    const part = await approvePart(world, held, { kinds: ['leave'] }, 'ben')
    await world.drain()
    const rest = await world.runOf(held.id)
    const ownRest = await messageOf(
      approveRun(world.sync, { runId: rest.id, digest: rest.digest ?? '', by: 'ana', principal: 'token:ana' }),
    )

    expect(own).toContain('ana requested run')
    expect(ownRest).toContain('ana requested run')
    expect(part).toMatchObject({ requestedBy: ['ana'], decidedBy: 'ben' })
    expect(await separated()).toEqual(leavers)
  })

  test('wants a reason where the configuration does, and so do the whole and a rejection', {
    tags: ['full'],
  }, async () => {
    await using opened = await open({ approvals: { expireHours: 72, twoPeople: false, requireReason: true } })
    const { world } = opened
    const held = await heldRun(world)
    const selection = { people: leavers.slice(0, 2) }
    const { digest } = await previewPart(world.sync, { runId: held.id, selection })
    const decision = { runId: held.id, by: 'ana' }

    const refused = [
      await messageOf(approveRun(world.sync, { ...decision, digest, part: selection })),
      await messageOf(approveRun(world.sync, { ...decision, digest: held.digest ?? '', reason: '  ' })),
      await messageOf(rejectRun(world.sync, decision)),
    ]
    const part = await approveRun(world.sync, { ...decision, digest, part: selection, reason: 'HR has confirmed' })

    expect(new Set(refused)).toEqual(new Set(['"approvals.requireReason" wants a reason for each decision: state one']))
    expect(part.state).toBe('delivering')
  })

  test('that overlaps another one approved at the same time is refused: one of them wins', async () => {
    await using opened = await open()
    const { world, separated } = opened
    const held = await heldRun(world)
    const selections = [{ people: leavers.slice(0, 4) }, { people: leavers.slice(2, 6) }]
    const digests = await Promise.all(
      selections.map(async (selection) => (await previewPart(world.sync, { runId: held.id, selection })).digest),
    )

    const outcomes = await Promise.allSettled(
      selections.map((part, at) =>
        approveRun(world.sync, { runId: held.id, part, digest: digests[at] ?? '', by: 'ana' }),
      ),
    )
    await world.drain()

    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await separated()).toHaveLength(4)
    expect(await world.runOf(held.id)).toMatchObject({ state: 'held', counts: { leave: 6 } })
  })

  test('can be reverted, and the next night replaces the rest', async () => {
    await using opened = await open()
    const { world, separated } = opened
    const held = await heldRun(world)
    const part = await approvePart(world, held, { people: leavers.slice(0, 3) })
    await world.drain()
    const before = await separated()

    const { id } = await requestRevert(world.sync, {
      runId: part.id,
      reason: 'a mistake',
      by: 'ana',
      signal: new AbortController().signal,
    })
    await world.drain()
    const after = await separated()
    const next = await world.night(staff(20), { asOf: '2026-11-21T01:00:00.000Z' })

    expect([before, after]).toEqual([leavers.slice(0, 3), []])
    expect(await world.runOf(id)).toMatchObject({ state: 'finished' })
    expect(await world.runOf(held.id)).toMatchObject({ state: 'superseded' })
    expect(next.state).toBe('unchanged')
  })

  test('of a revert leaves the rest to be reverted later, after it was rejected', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, separated } = opened
    const mistake = await heldRun(world)
    await approveRun(world.sync, { runId: mistake.id, digest: mistake.digest ?? '', by: 'ben' })
    await world.drain()
    const revert = async () => {
      const request = { runId: mistake.id, reason: 'a mistake', by: 'ana', signal: new AbortController().signal }
      const { id } = await requestRevert(world.sync, request)
      await world.drain()
      return await world.runOf(id)
    }
    const reverting = await revert()
    await approvePart(world, reverting, { people: leavers.slice(0, 3) })
    await world.drain()
    const meanwhile = await messageOf(revert())
    await rejectRun(world.sync, { runId: reverting.id, by: 'ben' })

    const second = await revert()

    expect(reverting.state).toBe('held')
    expect(meanwhile).toContain(`run ${reverting.id}, which reverts run ${mistake.id}, is held`)
    expect(await separated()).toEqual(leavers.slice(3))
    expect(second).toMatchObject({ state: 'held', counts: { return: 7 } })
  })

  test('can be cancelled with the rest still held; a rejected rest leaves the part as it was delivered', async () => {
    await using opened = await open()
    const { world, separated } = opened
    const held = await heldRun(world)
    await approvePart(world, held, { people: leavers.slice(0, 3) })
    await world.drain()

    await rejectRun(world.sync, { runId: held.id, by: 'ben' })
    const again = await world.night(staff(20), { asOf: '2026-11-21T01:00:00.000Z' })

    // HR lists the three again: they come back.
    expect(again).toMatchObject({ state: 'finished', counts: { return: 3 } })
    expect(await separated()).toEqual([])
  })

  test('is in the audit trail with its plan, its people and its reason', async () => {
    await using opened = await open()
    const { world } = opened
    const held = await heldRun(world)

    const part = await approvePart(world, held, { kinds: ['leave'], people: leavers.slice(0, 3) })

    const rest = await world.runOf(held.id)
    const entries = (await world.sync.store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute())
      .map(({ entry }) => readEntry(entry))
      .filter((entry) => entry?.act === 'run.approved' || entry?.act === 'run.split')
    expect(entries).toMatchObject([
      {
        act: 'run.approved',
        runId: part.id,
        by: 'ana',
        details: { of: held.id, digest: part.digest, kinds: ['leave'], people: 3, reason: 'the office closed' },
      },
      {
        act: 'run.split',
        runId: held.id,
        by: 'ana',
        details: { part: part.id, before: held.digest, digest: rest.digest },
      },
    ])
  })
})
