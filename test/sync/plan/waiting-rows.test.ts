import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenOptions } from '../../../src/connectors/connector.ts'
import { personView } from '../../../src/daemon/control/views.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { auditKey, newKeyPem, Signing } from '../../../src/store/audit/key.ts'
import { personOf } from '../../../src/store/history/history.ts'
import { listBlockedPeople } from '../../../src/store/rejects/blocked-people.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import { waitingKeys, waitingOf } from '../../../src/store/roster/waiting.ts'
import { addWaitingRun, listRuns } from '../../../src/store/runs/runs.ts'
import type { SourceFeed } from '../../../src/sync/context/context.ts'
import { planPersonDryRun } from '../../../src/sync/plan/dry-run-person.ts'
import { answerKeys } from '../../../src/sync/requests/key-answers.ts'
import { approveRun, rejectRun, requestDueRuns, requestRun, sweep } from '../../../src/sync/sync.ts'
import { lastRun } from '../../helpers/events.ts'
import { firstOf } from '../../helpers/tier.ts'
import {
  type Host,
  type HrPerson,
  headers,
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

type HrRow = HrPerson & { readonly from?: string }

const rules = {
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
}
const mapping = Mapping.parse(rules)
const inScope = Mapping.parse({ ...rules, scope: "`Job Title` != 'Board'" })

const promoted: HrRow = { ...person(4), title: 'Head of Payments', from: '2026-12-01' }
const leavingDay = '2026-11-30T00:00:00.000Z'
const leaving: HrRow = { ...person(3), leavingDate: '2026-11-30', status: 'Inactive', from: '2026-11-30' }

async function open(feed: Partial<SourceFeed> = {}) {
  const stack = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const signing = new Signing(auditKey(newKeyPem(), 'a test'))
  const world = stack.use(await openWorld({ client, feed: { mapping, ...feed }, signing }))
  world.source.headers = [...headers, 'Effective Date']
  const on = async (id: string) => (await peopleOn(client)).get(id)
  return { world, on, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

function person(number: number): HrPerson {
  return staff(number).at(-1) ?? { id: '' }
}

/** One night: HR states these rows on that day at 01:00, or at another time, and they are read at 03:00. */
async function night(world: World, day: string, rows: readonly HrRow[], asOf = `${day}T01:00:00.000Z`) {
  world.setExport(rows, asOf)
  world.source.rows = world.source.rows.map((row, i) => ({
    ...row,
    values: [...row.values, rows[i]?.from ?? '2024-01-01'],
  }))
  world.clock.now = new Date(`${day}T03:00:00.000Z`)
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  await world.drain()
  return await world.runOf(id)
}

/** From now on the source holds changes alone. */
function readDeltas({ connection }: World): void {
  const connector = connection.feeds.source?.connector
  if (!connector) throw new Error('a world without a source')
  const { open: openAll } = connector
  Object.assign(connector, { open: async (options: OpenOptions) => ({ ...(await openAll(options)), mode: 'delta' }) })
}

/** Moves the clock to an instant, and does what the daemon does every few seconds. */
async function tick(world: World, instant: string): Promise<void> {
  world.clock.now = new Date(instant)
  await requestDueRuns(world.sync)
  await world.drain()
}

describe('a row that takes effect on a later day', () => {
  test('waits for it, and takes effect when that day begins, without a file', async () => {
    await using opened = await open({ timeZone: 'Europe/Berlin' })
    const { world, on } = opened
    const run = await night(world, '2026-11-20', [...staff(20), leaving, promoted])
    const known = await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0003' })

    await tick(world, '2026-11-29T22:59:59.000Z')
    const before = [await on('E0003'), await on('E0004')]
    await tick(world, '2026-11-29T23:00:00.000Z')
    const after = [await on('E0003'), await on('E0004')]
    await tick(world, '2026-11-30T23:00:00.000Z')

    expect(run).toMatchObject({ state: 'finished', counts: { join: 20 } })
    expect(run.warnings).toContain('2 rows take effect on a later day, and wait for it')
    const shown = known && personView({ connection: 'acme', identityId: 'E0003' }, known, { values: false })
    expect(shown?.waiting).toEqual([
      {
        effectiveOn: '2026-11-30',
        leaves: true,
        leavingDate: '2026-11-30',
        fields: ['email', 'jobTitle', 'firstName', 'startedAt'],
      },
    ])
    expect(before).toMatchObject([{ separatedAt: null }, { jobTitle: 'Engineer' }])
    expect(after).toMatchObject([{ separatedAt: '2026-11-30T00:00:00.000Z' }, { jobTitle: 'Engineer' }])
    expect(await on('E0004')).toMatchObject({ jobTitle: 'Head of Payments', separatedAt: null })
    expect(await waitingKeys(world.sync.store.db, 'acme')).toEqual([])
  })

  test('takes effect with the export of its day, and with none that is older', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-29', [...staff(20), leaving])
    const before = await on('E0003')
    await night(world, '2026-11-30', [...staff(20), leaving])

    expect(before?.separatedAt).toBeNull()
    expect((await on('E0003'))?.separatedAt).toBe('2026-11-30T00:00:00.000Z')
    expect(await waitingKeys(world.sync.store.db, 'acme')).toEqual([])
  })

  test('gets a roster run at once if its day has begun when the export is read', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-20', staff(20))
    const run = await night(
      world,
      '2026-11-30',
      [...staff(20), { ...leaving, leavingDate: '' }],
      '2026-11-29T01:00:00.000Z',
    )

    const runs = await listRuns(world.sync.store.db, { connection: 'acme', limit: 5 })
    expect(run.state).toBe('unchanged')
    expect(runs.filter(({ feed }) => feed === 'roster')).toMatchObject([{ state: 'finished', counts: { leave: 1 } }])
    expect((await on('E0003'))?.separatedAt).toBe('2026-11-30T00:00:00.000Z')
    expect(await waitingKeys(world.sync.store.db, 'acme')).toEqual([])
  })

  test('is a departure on its own day if it has no leaving date', async () => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-20', [...staff(20), { ...leaving, leavingDate: '' }])
    await tick(world, '2026-12-03T05:00:00.000Z')

    expect((await on('E0003'))?.separatedAt).toBe('2026-11-30T00:00:00.000Z')
  })

  test('no longer waits once a newer export states the person without it, or lacks the person', async () => {
    await using opened = await open({ graceRuns: 2 })
    const { world, on } = opened
    const others = staff(20).filter(({ id }) => id !== 'E0004')
    await night(world, '2026-11-20', [...staff(20), leaving, promoted])
    await night(world, '2026-11-21', others)
    await tick(world, '2026-12-02T00:00:00.000Z')

    expect(await on('E0003')).toMatchObject({ separatedAt: null })
    expect(await on('E0004')).toMatchObject({ jobTitle: 'Engineer' })
  })

  test('continues to wait if the newer row of the person is unusable', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-20', [...staff(20), leaving])
    await night(world, '2026-11-21', [...staff(20), { ...person(3), from: 'soon' }])
    await tick(world, '2026-11-30T00:00:00.000Z')

    expect((await on('E0003'))?.separatedAt).toBe('2026-11-30T00:00:00.000Z')
  })

  test.each(
    firstOf(1, [
      ['keep', '2026-11-30T00:00:00.000Z'],
      ['separate', '2026-11-21T00:00:00.000Z'],
    ]),
  )('of a person who is now out of scope (%s)', async (outOfScope, separatedAt) => {
    await using opened = await open({ mapping: inScope, outOfScope })
    const { world, on } = opened
    const moved = { ...person(3), title: 'Board' }
    await night(world, '2026-11-20', [...staff(20), leaving])
    await night(world, '2026-11-21', [...staff(20).filter(({ id }) => id !== 'E0003'), moved])
    await tick(world, '2026-11-30T00:00:00.000Z')

    expect((await on('E0003'))?.separatedAt).toBe(separatedAt)
    expect(await waitingKeys(world.sync.store.db, 'acme')).toEqual([])
  })

  test('is not lost if its day begins while a roster run is planned', async () => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-20', [...staff(20), leaving])
    const midnight = Date.parse('2026-11-30T00:00:00.000Z')
    const minuteMs = 60_000
    const plannedFrom = async (firstMoment: number) => {
      // The statements that are owed by then take moments of their own.
      Object.assign(world.sync, { now: () => new Date(firstMoment) })
      await sweep(world.sync)
      let at = firstMoment
      const now = () => {
        at += minuteMs
        return new Date(at)
      }
      Object.assign(world.sync, { now })
      const request = { connection: 'acme', feed: 'roster', trigger: 'schedule', options: {} } as const
      const id = await addWaitingRun(world.sync.store.db, { ...request, now: new Date(firstMoment) })
      await sweep(world.sync)
      await world.drain()
      return Date.parse((await world.runOf(id)).asOf ?? '')
    }

    const start = midnight - 600 * minuteMs
    const untilPlanned = (await plannedFrom(start)) - start
    const lastMoment = await plannedFrom(midnight - untilPlanned - 1)
    Object.assign(world.sync, { now: () => world.clock.now })
    await tick(world, '2026-11-30T05:00:00.000Z')

    expect(lastMoment).toBe(midnight - 1)
    expect((await on('E0003'))?.separatedAt).toBe('2026-11-30T00:00:00.000Z')
  })

  test('is judged when it takes effect, and waits while a person decides', async () => {
    await using opened = await open()
    const { world, on } = opened
    const leavers = staff(8).map((one) => ({
      ...one,
      status: 'Inactive',
      leavingDate: '2026-11-30',
      from: '2026-11-30',
    }))
    await night(world, '2026-11-20', [...staff(20), ...leavers])
    await tick(world, '2026-11-30T00:00:00.000Z')
    const held = await lastRun(world)
    await tick(world, '2026-11-30T00:01:00.000Z')
    const same = await lastRun(world)
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
    await world.drain()

    expect(held).toMatchObject({ feed: 'roster', state: 'held', counts: { leave: 8 } })
    expect(same.id).toBe(held.id)
    expect((await on('E0003'))?.separatedAt).toBe('2026-11-30T00:00:00.000Z')
    expect(await waitingKeys(world.sync.store.db, 'acme')).toEqual([])
  })

  test('waits with its plan until that is accepted, and is dropped if it is rejected', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const { db } = world.sync.store
    await night(world, '2026-11-20', staff(20))
    const gone = staff(8).map((one) => ({ ...one, status: 'Inactive', leavingDate: '2026-11-19' }))
    const later = { ...leaving, ...person(15), status: 'Inactive' }
    const held = await night(world, '2026-11-21', [...gone, ...staff(20).slice(8), later, promoted])
    const whileHeld = await waitingKeys(db, 'acme')
    const now = new Date('2026-12-01T00:00:00.000Z')
    const blockedPeople = await listBlockedPeople(db, { now, connection: 'acme' })
    await rejectRun(world.sync, { runId: held.id, by: 'ops' })

    expect(held.state).toBe('held')
    expect(whileHeld).toEqual([])
    expect(blockedPeople).toMatchObject([
      {
        identityId: 'E0015',
        leaver: true,
        accepted: false,
        reason: 'a row about leaving takes effect on 2026-11-30, and the plan that states it is held',
      },
    ])
    expect(await db.selectFrom('waiting_rows').selectAll().execute()).toEqual([])
  })
})

describe('a delta', () => {
  test.each<
    readonly [string, HrRow, asOf: string | undefined, separatedAt: string | null, warnings: readonly string[]]
  >(
    firstOf(2, [
      [
        'with a row of another day to come alone leaves it waiting',
        { ...person(3), title: 'Lead', from: '2026-12-15' },
        undefined,
        leavingDay,
        [],
      ],
      [
        'with a row of today ends it, and says so',
        { ...person(3), title: 'Lead', from: '2026-11-21' },
        undefined,
        null,
        [
          'departures of 1 person that waited for their day wait no more, as newer rows state the person without them (the first is E0003)',
        ],
      ],
      [
        'with a row of today that states the leaving date ends it, and the date waits',
        { ...leaving, status: 'Active', from: '2026-11-21' },
        undefined,
        leavingDay,
        [],
      ],
      [
        'with another row of its day takes its place',
        { ...person(3), title: 'Lead', from: '2026-11-30' },
        undefined,
        null,
        [],
      ],
      [
        'that is older and comes late leaves it waiting',
        { ...person(3), title: 'Lead', from: '2026-11-19' },
        '2026-11-19T01:00:00.000Z',
        leavingDay,
        [],
      ],
    ]),
  )('%s', async (_what, row, asOf, separatedAt, warnings) => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-20', [...staff(20), leaving])
    readDeltas(world)

    const run = await night(world, '2026-11-22', [row], asOf)
    await tick(world, '2026-11-30T00:00:00.000Z')

    expect((await on('E0003'))?.separatedAt).toBe(separatedAt)
    expect(run.warnings?.filter((warning) => warning.includes('wait no more'))).toEqual(warnings)
  })
})

describe('a person', () => {
  test('has left between the end of one contract and the start of the next', async () => {
    await using opened = await open()
    const { world, on } = opened
    const first = { ...person(3), leavingDate: '2026-11-25', from: '2024-01-01' }
    const next = { ...person(3), title: 'Lead', start: '2026-12-01', from: '2026-12-01' }
    const others = staff(20).filter(({ id }) => id !== 'E0003')
    await night(world, '2026-11-20', [...others, first, next])
    const states = []
    for (const day of ['2026-11-24', '2026-11-25', '2026-11-30', '2026-12-01']) {
      await tick(world, `${day}T00:00:00.000Z`)
      states.push((await on('E0003'))?.separatedAt ?? null)
    }

    expect(states).toEqual([null, '2026-11-25T00:00:00.000Z', '2026-11-25T00:00:00.000Z', null])
    expect((await on('E0003'))?.jobTitle).toBe('Lead')
  })

  test('is not created again if the new key is known when the row takes effect', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-20', [...staff(20), { ...promoted, id: 'N4' }])
    const answer = { connection: 'acme', former: 'E0004', identityId: 'N4', same: true, by: 'ops' }
    await answerKeys(world.sync, answer)

    await tick(world, '2026-12-01T00:00:00.000Z')

    expect(await on('N4')).toBeUndefined()
    expect(await on('E0004')).toMatchObject({ jobTitle: 'Head of Payments' })
    expect(await waitingKeys(world.sync.store.db, 'acme')).toEqual([])
  })

  test('with only later rows stays as known, or joins on that day if unknown', async () => {
    await using opened = await open()
    const { world, on } = opened
    await night(world, '2026-11-20', staff(20))
    const others = staff(20).filter(({ id }) => id !== 'E0004')
    const run = await night(world, '2026-11-21', [...others, promoted, { ...person(21), from: '2026-12-01' }])
    const before = [await on('E0004'), await on('E0021')]
    const known = await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0021' })
    await tick(world, '2026-12-01T00:00:00.000Z')

    expect(run.state).toBe('unchanged')
    expect(before).toMatchObject([{ jobTitle: 'Engineer', separatedAt: null }, undefined])
    expect(known).toMatchObject({ entry: null, waiting: [{ effectiveOn: '2026-12-01' }] })
    expect(await on('E0004')).toMatchObject({ jobTitle: 'Head of Payments' })
    expect(await on('E0021')).toMatchObject({ jobTitle: 'Engineer', separatedAt: null })
  })
})

test('a person whose rows all wait is shown with them, whether known or not', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world } = opened
  await night(world, '2026-11-20', staff(20))
  const others = staff(20).filter(({ id }) => id !== 'E0004')
  await night(world, '2026-11-21', [...others, promoted, { ...person(21), from: '2026-12-01' }])
  const signal = new AbortController().signal
  const shown = async (id: string) =>
    (await planPersonDryRun(world.sync, { connection: 'acme', person: id, signal })).person

  for (const account of [await shown('E0004'), await shown('E0021')])
    expect(account).toMatchObject({
      decision: 'none',
      rows: [{ reason: 'it takes effect on 2026-12-01, and waits for that day' }],
      evidence: [expect.stringContaining('each row of the person takes effect on a later day')],
    })
})

test('a waiting row is about the person whom its key names on its day', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, on } = opened
  const rekeyed = { ...person(21), title: 'Head of Payments', from: '2026-12-01' }
  await night(world, '2026-11-20', [...staff(20), rekeyed])
  const keys = { connection: 'acme', former: 'E0004', identityId: 'E0021' }
  await answerKeys(world.sync, { ...keys, same: true, by: 'ops' })

  await tick(world, '2026-12-01T00:00:00.000Z')

  expect(await on('E0021')).toBeUndefined()
  expect(await on('E0004')).toMatchObject({ jobTitle: 'Head of Payments' })
  expect(await waitingKeys(world.sync.store.db, 'acme')).toEqual([])
})

describe('values that wait', () => {
  test('are forgotten with the person, and no later export brings them back', async () => {
    await using opened = await open()
    const { world } = opened
    const { db } = world.sync.store
    const gone = { ...person(3), leavingDate: '2026-11-10', status: 'Inactive' }
    const back = { ...person(3), start: '2027-02-01', from: '2027-02-01' }
    const rows = [...staff(20).filter(({ id }) => id !== 'E0003'), gone, back]
    await night(world, '2026-11-20', rows)
    const key = { connection: 'acme', identityId: 'E0003' }
    const before = await waitingOf(db, key)
    await forgetPerson(db, { ...key, reason: 'asked for', by: 'ops', today: '2026-11-20', now: world.clock.now })
    await night(world, '2026-11-21', rows)

    expect(before).toHaveLength(1)
    expect(await waitingOf(db, key)).toEqual([])
  })

  test('are forgotten with the person under later keys too', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const { db } = world.sync.store
    const gone = { ...person(3), leavingDate: '2026-11-10', status: 'Inactive' }
    const back = { ...person(3), id: 'N0003', start: '2027-02-01', from: '2027-02-01' }
    const rows = [...staff(20).filter(({ id }) => id !== 'E0003'), gone, back]
    await night(world, '2026-11-20', rows)
    const pair = { former: 'E0003', identityId: 'N0003', same: true }
    await answerKeys(world.sync, { connection: 'acme', ...pair, by: 'ops' })
    const later = { connection: 'acme', identityId: 'N0003' }
    const before = await waitingOf(db, later)

    const request = { connection: 'acme', identityId: 'E0003', reason: 'asked for', by: 'ops', today: '2026-11-20' }
    await forgetPerson(db, { ...request, now: world.clock.now })

    expect(before).toHaveLength(1)
    expect(await waitingOf(db, later)).toEqual([])
  })
})
