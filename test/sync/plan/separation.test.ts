import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { localControl } from '../../../src/cli/session/command-context.ts'
import { machineCaller } from '../../../src/contract/control/access.ts'
import { byIdentityId } from '../../../src/contract/platform/hris-user-identities.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { connectionStates } from '../../../src/store/connections/connections.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import type { SyncConnection } from '../../../src/sync/context/context.ts'
import {
  approveRun,
  rejectRun,
  requestRevert,
  requestRun,
  requestSeparation,
  retractPerson,
} from '../../../src/sync/sync.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { noLimits } from '../../helpers/guards/no-limits.ts'
import {
  between,
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

const all = staff(6)
const night = (day: number) => `2026-11-${day}T01:00:00.000Z`

/** A new store for a platform that already has six people from an earlier one; the last of them has left. */
async function open(connection: Partial<SyncConnection> = { guards: noLimits }) {
  const { client } = await host.tenant()
  {
    await using former = await openWorld({ client, connection: { guards: noLimits } })
    await former.night(change(all, { id: 'E0006', leavingDate: '2026-11-02' }), { asOf: night(18) })
  }
  const world = await openWorld({ client, connection })
  const about = { version: '1.2.3', daemon: null, configuration: '', database: '', queue: '', platform: '' }
  const monitored = { connections: ['acme'], sources: [], maxLeaverHours: new Map<string, number>() }
  const audit = {
    trouble: () => null,
    seal: () => Promise.reject(new Error('no key here')),
    verify: () => Promise.reject(new Error('no key here')),
    replaceKey: () => Promise.reject(new Error('no key here')),
  }
  const around = { schedules: [], alerts: quietAlerts, monitored, about, signal: new AbortController().signal }
  const control = localControl({ sync: world.sync, caller: machineCaller('ana'), audit, ...around })
  const opened = {
    world,
    client,
    control,
    tally: async () => (await control.status({})).connections[0]?.foreign,
    keys: async () => (await control.listForeign({ query: {} })).data.map(({ identityId }) => identityId),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
  return opened
}

const employed = without(all, 'E0002', 'E0004', 'E0006')

function passDay({ clock }: World): void {
  clock.now = new Date(clock.now.getTime() + 24 * 60 * 60_000)
}

async function ask(world: World, identityIds: readonly string[], on?: string): Promise<Run> {
  world.clock.now = new Date(world.clock.now.getTime() + 60_000)
  const reason = 'left before the move'
  const requested = await requestSeparation(world.sync, { connection: 'acme', identityIds, on, reason, by: 'ana' })
  await world.drain()
  return await world.runOf(requested.id)
}

async function approve(world: World, { id, digest }: Run): Promise<Run> {
  const run = await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ben' })
  await world.drain()
  return await world.runOf(run.id)
}

const look = ({ sync, clock }: World) =>
  conditions(sync.store.db, {
    connections: ['acme'],
    overdueMinutes: 60,
    pausedHours: 24,
    maxLeaverHours: new Map(),
    freshness: [],
    now: clock.now,
  })

describe('people whom only the platform knows', () => {
  test('are counted by the first verification of a new store, listed and alerted; those who have left there are counted apart', async () => {
    await using opened = await open()
    const { world, client } = opened

    const run = await world.night(employed, { asOf: night(19), verify: true })

    expect(run).toMatchObject({
      state: 'finished',
      verification: { listed: 6, foreign: 2, separated: 1, people: { foreign: ['E0002', 'E0004'] } },
    })
    expect(await opened.tally()).toEqual({ people: 2, separated: 1 })
    expect(await opened.keys()).toEqual(['E0002', 'E0004'])
    expect(await look(world)).toEqual([
      {
        connection: 'acme',
        kind: 'foreign',
        code: world.clock.now.toISOString(),
        reason: 'no accepted export states 2 people whom the platform takes for employed: they may have left',
        since: world.clock.now,
        people: 2,
        leavers: null,
        runId: null,
      },
    ])
    expect((await peopleOn(client)).get('E0002')?.separatedAt).toBe(null)
  })

  test('are unknown before the first accepted export, and afterwards those whom it does not state', {
    tags: ['full'],
  }, async () => {
    await using opened = await open({ guards: Guards.parse({ rejectedRows: { count: 0, share: 0 } }) })
    const { world } = opened
    const rows: readonly HrPerson[] = [...employed, { id: '', first: 'Nobody', status: 'Active' }]

    const held = await world.night(rows, { asOf: night(19), verify: true })
    const before = [await opened.tally(), await opened.keys(), await look(world)]
    await approve(world, held)

    expect(held).toMatchObject({ state: 'held', verification: { foreign: 2, separated: 1 } })
    expect(before).toMatchObject([{ people: 0, separated: 0 }, [], [{ kind: 'held' }]])
    expect(await opened.tally()).toEqual({ people: 2, separated: 1 })
  })

  test('end as soon as an export states them, and only new ones change the cause of the alert', async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const [first] = await look(world)
    passDay(world)
    await world.night(without(all, 'E0004', 'E0006'), { asOf: night(20) })
    const stated = await opened.keys()
    passDay(world)
    await world.night(without(all, 'E0004', 'E0006'), { asOf: night(21), verify: true })
    const [again] = await look(world)
    const { id } = await onPlatform(world)
    await opened.client.upsertHrisUserIdentities({
      params: { connectionId: id },
      body: [{ identityId: 'X1', email: 'x1@acme.example', firstName: 'X', lastName: 'One' }],
    })
    passDay(world)
    await world.night(without(all, 'E0004', 'E0006'), { asOf: night(22), verify: true })
    const [later] = await look(world)

    expect(stated).toEqual(['E0004'])
    expect(again).toMatchObject({ people: 1, code: first?.code, since: first?.since })
    expect(later).toMatchObject({ people: 2, since: first?.since })
    expect(later?.code).not.toBe(first?.code)
  })

  test('count as new if they are employed there again', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const { id } = await onPlatform(world)
    const [before] = await look(world)
    await client.updateHrisUserIdentity({ params: at(id, 'E0006'), body: { separatedAt: null } })
    passDay(world)

    await world.night(employed, { asOf: night(20), verify: true })

    const [after] = await look(world)
    expect(after).toMatchObject({ kind: 'foreign', people: 3, since: before?.since })
    expect(after?.code).not.toBe(before?.code)
  })

  test('are found on pages of two, and listed page by page', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, control } = opened
    between(world, (real) => ({
      listHrisUserIdentities: (input, options) =>
        real.listHrisUserIdentities({ ...input, query: { ...input.query, size: 2 } }, options),
    }))

    const run = await world.night(all.slice(0, 1), { asOf: night(19), verify: true })
    const pages: string[][] = []
    for (let after: string | null | undefined = undefined; after !== null; ) {
      const page: Awaited<ReturnType<typeof control.listForeign>> = await control.listForeign({
        query: { connection: 'acme', limit: 2, ...(after && { after }) },
      })
      pages.push(page.data.map(({ identityId }) => identityId))
      after = page.next
    }

    expect(run.verification).toMatchObject({ listed: 6, foreign: 4, separated: 1 })
    expect(pages).toEqual([['E0002', 'E0003'], ['E0004', 'E0005'], []])
  })

  test('stay as known if the list breaks off', async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const { id } = await onPlatform(world)
    await opened.client.deleteHrisUserIdentity({ params: at(id, 'E0002') })
    let pages = 0
    between(world, (real) => ({
      listHrisUserIdentities: async (input, options) =>
        ++pages === 2
          ? { status: 500, error: { message: 'no', code: null, name: null }, headers: {} }
          : await real.listHrisUserIdentities({ ...input, query: { ...input.query, size: 2 } }, options),
    }))

    world.setExport(employed, night(20))
    const { id: runId } = await requestRun(world.sync, {
      connection: 'acme',
      trigger: 'operator',
      options: { verify: true },
    })
    await world.drain()

    expect((await world.runOf(runId)).verification).toBe(null)
    expect(pages).toBe(2)
    expect(await opened.keys()).toEqual(['E0002', 'E0004'])
  })

  test('leave the list once the platform no longer has them', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const { id } = await onPlatform(world)
    for (const gone of ['E0002', 'E0006']) await client.deleteHrisUserIdentity({ params: at(id, gone) })
    passDay(world)

    await world.night(employed, { asOf: night(20), verify: true })

    expect(await opened.keys()).toEqual(['E0004'])
    expect(await opened.tally()).toEqual({ people: 1, separated: 0 })
  })

  test('are found by the daily sample of a small company', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(employed, { asOf: night(19) })
    const before = await opened.tally()

    const { id } = await requestRun(world.sync, {
      connection: 'acme',
      feed: 'roster',
      trigger: 'schedule',
      options: { sample: true },
    })
    await world.drain()

    expect(before).toEqual({ people: 0, separated: 0 })
    expect((await world.runOf(id)).verification).toMatchObject({ asked: 3, foreign: 2, separated: 1 })
    expect(await opened.keys()).toEqual(['E0002', 'E0004'])
  })

  test('are forgotten if the connection gets another target', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, connection } = { world: opened.world, connection: opened.world.connection }
    await world.night(employed, { asOf: night(19), verify: true })
    Object.assign(connection, { target: { name: 'Another HRIS' } })

    await world.night(employed, { asOf: night(20) })

    expect(await opened.keys()).toEqual([])
  })

  test('exclude people who are held back, pinned or retracted, if HR has stated them', async () => {
    await using opened = await open({ guards: noLimits, pinned: new Set(['E0004']) })
    const { world } = opened
    await world.night(without(all, 'E0002'), { asOf: night(19), verify: true })
    const retraction = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'E0003',
      reason: 'no employee',
      by: 'ana',
    })
    await approveRun(world.sync, { runId: retraction.id, digest: retraction.digest ?? '', by: 'ben' })

    // Not deleted yet, since no job was worked off.
    const run = await world.night(without(all, 'E0002'), { asOf: night(20), verify: true })

    expect(run.verification).toMatchObject({ foreign: 1, people: { foreign: ['E0002'] } })
    expect(await opened.keys()).toEqual(['E0002'])
  })

  test('exclude people with a row in the export, even if it is unreadable or waits for its day', async () => {
    await using opened = await open()
    const { world } = opened
    Object.assign(world.connection.feeds.source ?? {}, { mapping: withDays })
    world.source.headers = [...headers, 'Effective Date']
    const rows: readonly HrPerson[] = [...without(all, 'E0004', 'E0006'), { ...all[1], id: 'E0002', first: 'Another' }]
    world.setExport([...rows, ...all.filter((person) => person.id === 'E0004')], night(19))
    world.source.rows = world.source.rows.map((row) => ({
      ...row,
      values: [...row.values, row.values[0] === 'E0004' ? '2026-12-01' : '2024-01-01'],
    }))

    const { id } = await requestRun(world.sync, {
      connection: 'acme',
      trigger: 'operator',
      options: { verify: true },
    })
    await world.drain()

    expect(await world.runOf(id)).toMatchObject({ verification: { foreign: 0, separated: 1 } })
    expect(await opened.tally()).toEqual({ people: 0, separated: 1 })
    expect(await opened.keys()).toEqual([])
    expect((await look(world)).filter(({ kind }) => kind === 'foreign')).toEqual([])
    await expect(ask(world, ['E0002'])).rejects.toThrow('an export holds a row of person E0002')
    await expect(ask(world, ['E0004'])).rejects.toThrow('an export holds a row of person E0004')
  })
})

const withDays = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Email',
    firstName: 'First Name',
    jobTitle: 'Job Title',
    startedAt: { column: 'Start Date' },
    separatedAt: { column: 'Leaving Date' },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  severalRows: { latest: { column: 'Effective Date', format: 'yyyy-MM-dd' } },
})

describe('a separation that an operator requests', () => {
  test('is refused for people whom a held plan states as employed, even if that plan is newer', async () => {
    await using opened = await open({ guards: Guards.parse({ rejectedRows: { count: 0, share: 0 } }) })
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const before = await ask(world, ['E0002'])
    const unreadable: HrPerson = { id: '', first: 'Nobody', status: 'Active' }
    const held = await world.night([...without(all, 'E0006'), unreadable], { asOf: night(20) })

    await expect(approve(world, before)).rejects.toThrow(`run ${held.id} is held, and states E0002 as employed`)
    await expect(ask(world, ['E0004'])).rejects.toThrow(`run ${held.id} is held, and states E0004 as employed`)
    await rejectRun(world.sync, { runId: held.id, by: 'ben', reason: 'the export is wrong' })
    const run = await approve(world, before)

    expect(held.state).toBe('held')
    expect(run).toMatchObject({ state: 'finished', confirmed: 1 })
    expect((await peopleOn(client)).get('E0002')?.separatedAt).not.toBe(null)
  })

  test('waits for an approval, shows who requested it and why, and is delivered like any departure', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })

    const held = await ask(world, ['E0004', 'E0002'], '2026-11-10')
    const sentBefore = (await peopleOn(client)).get('E0002')?.separatedAt
    const run = await approve(world, held)

    expect(held).toMatchObject({
      feed: 'separation',
      state: 'held',
      counts: { leave: 2 },
      requestedBy: ['ana'],
      options: {
        separate: { identityIds: ['E0002', 'E0004'], on: '2026-11-10', reason: 'left before the move', by: 'ana' },
      },
      reason: expect.stringContaining('foreign: 2 whom only the platform knows would be separated'),
    })
    expect(sentBefore).toBe(null)
    expect(run).toMatchObject({ state: 'finished', confirmed: 2, decidedBy: 'ben', sent: { delete: { requests: 0 } } })
    const people = await peopleOn(client)
    expect(people.size).toBe(6)
    expect(people.get('E0002')).toMatchObject({ email: 'e2@acme.example', separatedAt: '2026-11-10T00:00:00.000Z' })
    expect(people.get('E0004')?.separatedAt).toBe('2026-11-10T00:00:00.000Z')
    expect(await opened.tally()).toEqual({ people: 0, separated: 1 })
    const { leavers } = await opened.control.getPerson({
      params: { connection: 'acme', identityId: 'E0002' },
      query: { values: false },
    })
    expect(leavers).toMatchObject([{ effectiveOn: '2026-11-10' }])

    const next = await world.night(employed, { asOf: night(20), verify: true })

    expect(next).toMatchObject({ state: 'unchanged', verification: { lost: 0, changed: 0, foreign: 0, separated: 1 } })
  })

  test('uses today without a day, and refuses a future or invalid day', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(employed, { asOf: night(19), verify: true })

    await expect(ask(world, ['E0002'], '2026-11-21')).rejects.toThrow('2026-11-21 lies ahead: today is 2026-11-20')
    await expect(ask(world, ['E0002'], '31.10.2026')).rejects.toThrow('"31.10.2026" is not a day')
    const run = await ask(world, ['E0002'])

    expect(run.options.separate?.on).toBe('2026-11-20')
  })

  test('is refused for people whom HR knows, who have left there, who are unknown, and a second time', async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(employed, { asOf: night(19), verify: true })

    await expect(ask(world, ['E0002', 'E0001'])).rejects.toThrow('person E0001 is known from HR')
    await expect(ask(world, ['E0006'])).rejects.toThrow('person E0006 is separated on the platform already')
    await expect(ask(world, ['nobody'])).rejects.toThrow('nobody with the key nobody is known only to the platform')
    const held = await ask(world, ['E0002'])
    await expect(ask(world, ['E0002', 'E0004'])).rejects.toThrow(
      `run ${held.id} separates some of these people already`,
    )
    await rejectRun(world.sync, { runId: held.id, by: 'ben', reason: 'HR looks again' })
    const again = await ask(world, ['E0002'])
    await approve(world, again)
    await expect(ask(world, ['E0002'])).rejects.toThrow('person E0002 is known, and has left on 2026-11-20')
  })

  test('is planned again on approval after a newer export, and sent at once if it is the same', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const held = await ask(world, ['E0002'])
    await world.night(change(employed, { id: 'E0001', title: 'Lead' }), { asOf: night(20) })

    const run = await approve(world, held)

    expect(run.id).not.toBe(held.id)
    expect(run).toMatchObject({ state: 'finished', confirmed: 1 })
    expect(await world.runOf(held.id)).toMatchObject({ state: 'superseded' })
    expect((await peopleOn(client)).get('E0002')?.separatedAt).not.toBe(null)
  })

  test('never separates a person whom HR states meanwhile', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const held = await ask(world, ['E0002', 'E0004'])
    await world.night([...employed, ...all.filter(({ id }) => id === 'E0002')], { asOf: night(20) })

    const again = await approve(world, held)
    const run = await approve(world, again)

    expect(again).toMatchObject({ state: 'held', counts: { leave: 1 } })
    expect(again.warnings).toEqual(['not separated, because HR names them now, or they were retracted: E0002'])
    expect(run).toMatchObject({ state: 'finished', confirmed: 1 })
    const people = await peopleOn(client)
    expect([people.get('E0002')?.separatedAt, people.get('E0004')?.separatedAt]).toEqual([
      null,
      '2026-11-20T00:00:00.000Z',
    ])
  })

  test('ends for a person whom a later export states as employed', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    await approve(world, await ask(world, ['E0002']))
    passDay(world)

    const run = await world.night(without(all, 'E0004', 'E0006'), { asOf: night(21) })

    expect(run).toMatchObject({ state: 'finished', counts: { return: 1 } })
    expect((await peopleOn(client)).get('E0002')?.separatedAt).toBe(null)
  })

  test('cannot be reverted, because the next export would separate its people without an approval', {
    tags: ['full'],
  }, async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const { id: runId } = await approve(world, await ask(world, ['E0002']))

    const { signal } = new AbortController()
    await expect(requestRevert(world.sync, { runId, reason: 'a mistake', by: 'ana', signal })).rejects.toThrow(
      '`rollcall hold-back KEY` brings one back',
    )
  })

  test('changes nothing for people who have left the platform by then, and is judged by limits and pins', {
    tags: ['full'],
  }, async () => {
    await using opened = await open({
      guards: Guards.parse({ leavers: { count: 1, share: 0 } }),
      pinned: new Set(['E0004']),
    })
    const { world, client } = opened
    await world.night(employed, { asOf: night(19), verify: true })
    const { id } = await onPlatform(world)
    await client.updateHrisUserIdentity({ params: at(id, 'E0002'), body: { separatedAt: '2026-11-01T00:00:00.000Z' } })

    const [one, two] = [await ask(world, ['E0002']), await ask(world, ['E0004'])]

    expect(one).toMatchObject({ state: 'unchanged', sent: { update: { requests: 0 } } })
    expect(one.warnings).toEqual(['not separated, because they are separated on the platform already: E0002'])
    expect(two.guards?.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['pinned', 'foreign'])
  })
})

async function onPlatform(world: World) {
  const [state] = await connectionStates(world.sync.store.db)
  return { id: state?.targetId ?? 0 }
}

function at(connectionId: number, identityId: string) {
  return { connectionId, userIdentityId: byIdentityId(identityId) }
}
