import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Connector, Reading, SourceIdentity } from '../../../src/connectors/connector.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import type { WebhookFeed } from '../../../src/sync/context/context.ts'
import { archiveSources } from '../../../src/sync/plan/feeds.ts'
import { approveRun, planDryRun, rejectRun, requestEventRuns, requestRun } from '../../../src/sync/sync.ts'
import { receive, webhookFeed } from '../../helpers/events.ts'
import { noLimits } from '../../helpers/guards/no-limits.ts'
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
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const headers = ['Worker ID', 'Email', 'First Name', 'Job Title', 'Leaving Date', 'Action', 'Changed']
const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: { column: 'Email', onBlank: 'keep' },
    firstName: { column: 'First Name', onBlank: 'keep' },
    jobTitle: { column: 'Job Title', onBlank: 'keep' },
    separatedAt: 'Leaving Date',
  },
  action: { column: 'Action', join: ['J'], change: ['C'], leave: ['L'], retract: ['X'] },
})

type DeltaRow = HrPerson & { readonly action?: 'J' | 'C' | 'L' | 'X'; readonly changed?: string }

/** A folder of deltas that takes each of them once, as the connector of real folders does. */
function deltas() {
  const files: { name: string; asOf: string; rows: readonly DeltaRow[] }[] = []
  const archived: [string, string][] = []
  const connector: Connector = {
    async open({ findDecided: taken, now }) {
      const known = await taken(files.map(({ name }) => name))
      const [next, ...others] = files.filter(({ name }) => !known.has(name))
      if (!next) return reading({ source: null, asOf: now().toISOString(), rows: [] })
      return reading({
        asOf: next.asOf,
        source: { name: next.name, bytes: 100, version: next.name, more: others.length > 0 },
        rows: next.rows,
        file: next.name,
      })
    },
    async archive({ name }, outcome) {
      archived.push([name, outcome])
    },
  }
  return { files, settled: archived, connector }
}

function reading(content: {
  asOf: string
  source: SourceIdentity | null
  rows: readonly DeltaRow[]
  file?: string
}): Reading {
  const { file = '' } = content
  return {
    mode: 'delta',
    asOf: content.asOf,
    source: content.source,
    headers,
    rows: (async function* () {
      yield content.rows.map(
        (
          { id, email = '', first = '', title = '', leavingDate: left = '', action = 'C', changed = '2026-01-01' },
          i,
        ) => ({
          values: [id, email, first, title, left, action, changed],
          origin: { file, line: i + 2 },
        }),
      )
    })(),
  }
}

describe.each(databases)('on $name', ({ createDatabase }) => {
  async function open(
    feed: NonNullable<Parameters<typeof openWorld>[0]['feed']> = {},
    webhook?: WebhookFeed,
    guards = Guards.parse({}),
  ) {
    const stack = new AsyncDisposableStack()
    const { at } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(await openWorld({ at, client, feed, connection: { guards }, ...(webhook && { webhook }) }))
    return { world, client, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  /** A world whose source is a folder of deltas, the first of which hires twenty people. */
  async function openDeltas(rules: Partial<{ mapping: Mapping }> = {}, webhook?: WebhookFeed, guards?: Guards) {
    const folder = deltas()
    folder.files.push({
      name: '01.csv',
      asOf: '2026-11-19T01:00:00.000Z',
      rows: staff(20).map((person) => ({ ...person, action: 'J' })),
    })
    const opened = await open({ connector: folder.connector, mapping, ...rules }, webhook, guards)
    const { world } = opened
    async function ask() {
      const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
      await world.drain()
      return await world.runOf(id)
    }
    await ask()
    return { ...opened, folder, ask }
  }

  describe('deltas', () => {
    test('state joiners, changes and departures; absence means nothing', async () => {
      await using opened = await openDeltas()
      const { client, folder, ask } = opened
      folder.files.push({
        name: '02.csv',
        asOf: '2026-11-20T01:00:00.000Z',
        rows: [
          { id: 'E0003', title: 'Lead', action: 'C' },
          { id: 'E0004', action: 'L' },
          { id: 'E0005', leavingDate: '2026-11-18', action: 'L' },
          { id: 'E0021', first: 'New', action: 'J' },
        ],
      })

      const run = await ask()

      const people = await peopleOn(client)
      expect(run).toMatchObject({ mode: 'delta', state: 'finished', counts: { join: 1, update: 1, leave: 2 } })
      expect(people.size).toBe(21)
      expect(people.get('E0003')).toMatchObject({ jobTitle: 'Lead', firstName: 'Person 3', separatedAt: null })
      expect(people.get('E0004')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
      expect(people.get('E0005')?.separatedAt).toBe('2026-11-18T00:00:00.000Z')
    })

    test('are read in order, one run after the other, and archived', async () => {
      await using opened = await openDeltas()
      const { world, client, folder, ask } = opened
      for (const [name, title] of [
        ['02.csv', 'Second'],
        ['03.csv', 'Third'],
        ['04.csv', 'Fourth'],
      ] as const) {
        folder.files.push({ name, asOf: `2026-11-20T0${name[1]}:00:00.000Z`, rows: [{ id: 'E0003', title }] })
      }

      await ask()

      const runs = await listRuns(world.sync.store.db, { limit: 10 })
      const triggers = new Map(runs.map(({ source, trigger }) => [source?.name, trigger]))
      expect([triggers.get('02.csv'), triggers.get('03.csv'), triggers.get('04.csv')]).toEqual([
        'operator',
        'file',
        'file',
      ])
      expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('Fourth')
      expect(folder.settled).toEqual(['01', '02', '03', '04'].map((name) => [`${name}.csv`, 'accepted']))
    })

    test('change nothing if there is no new one, and due departures are still delivered', {
      tags: ['full'],
    }, async () => {
      await using opened = await openDeltas()
      const { world, client, folder, ask } = opened
      folder.files.push({
        name: '02.csv',
        asOf: '2026-11-20T01:00:00.000Z',
        rows: [{ id: 'E0003', leavingDate: '2026-11-22', action: 'L' }],
      })
      await ask()
      const before = await ask()
      world.clock.now = new Date('2026-11-22T03:00:00.000Z')

      const after = await ask()

      expect(before).toMatchObject({ state: 'unchanged', source: null, rows: 0 })
      expect(after).toMatchObject({ state: 'unchanged', source: null })
      expect(await listRuns(world.sync.store.db, { limit: 10 })).toContainEqual(
        expect.objectContaining({ feed: 'roster', state: 'finished', counts: expect.objectContaining({ leave: 1 }) }),
      )
      expect((await peopleOn(client)).get('E0003')?.separatedAt).toBe('2026-11-22T00:00:00.000Z')
    })

    test('with retractions are held, whatever else they state, and delete after an approval', async () => {
      await using opened = await openDeltas()
      const { world, client, folder, ask } = opened
      folder.files.push({
        name: '02.csv',
        asOf: '2026-11-20T01:00:00.000Z',
        rows: [
          { id: 'E0003', action: 'X' },
          { id: 'E0004', title: 'Lead' },
        ],
      })

      const held = await ask()
      const untouched = (await peopleOn(client)).has('E0003')
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()

      const people = await peopleOn(client)
      expect({ state: held.state, untouched }).toEqual({ state: 'held', untouched: true })
      expect(people.has('E0003')).toBe(false)
      expect(people.get('E0004')?.jobTitle).toBe('Lead')
    })

    test('are archived as refused after a rejection, and not read again', { tags: ['full'] }, async () => {
      await using opened = await openDeltas()
      const { world, folder, ask } = opened
      folder.files.push({ name: '02.csv', asOf: '2026-11-20T01:00:00.000Z', rows: [{ id: 'E0003', action: 'X' }] })
      const held = await ask()

      await rejectRun(world.sync, { runId: held.id, by: 'ops' })

      expect((await ask()).source).toBeNull()
      expect(folder.settled.at(-1)).toEqual(['02.csv', 'refused'])
    })

    test('that wait behind a rejected one are read, even if the process ends right after the decision', {
      tags: ['full'],
    }, async () => {
      await using opened = await openDeltas()
      const { world, client, folder, ask } = opened
      folder.files.push({ name: '02.csv', asOf: '2026-11-20T01:00:00.000Z', rows: [{ id: 'E0003', action: 'X' }] })
      folder.files.push({ name: '03.csv', asOf: '2026-11-20T02:00:00.000Z', rows: [{ id: 'E0004', action: 'X' }] })
      folder.files.push({ name: '04.csv', asOf: '2026-11-20T03:00:00.000Z', rows: [{ id: 'E0009', title: 'Lead' }] })
      const { id, digest } = await ask()
      const waiting = async () =>
        (await listRuns(world.sync.store.db, { connection: 'acme', states: ['waiting'], limit: 5 })).length

      await rejectRun(world.sync, { runId: id, by: 'ops' })
      await world.drain()
      const [second] = await listRuns(world.sync.store.db, { connection: 'acme', states: ['held'], limit: 1 })
      const dies = {
        ...world.sync.events,
        runApproved: () => {
          throw new Error('the process ends')
        },
      }
      const decision = { runId: second?.id ?? '', digest: second?.digest ?? '', by: 'ops' }
      await expect(approveRun({ ...world.sync, events: dies }, decision)).rejects.toThrow('the process ends')
      const waitingCount = await waiting()
      await world.minute()

      expect([id, digest]).not.toEqual([second?.id, second?.digest])
      expect(second?.source?.name).toBe('03.csv')
      expect(waitingCount).toBe(1)
      expect((await peopleOn(client)).get('E0009')?.jobTitle).toBe('Lead')
    })

    test('that are held, and those behind them, are read again once an event about their people is accepted', {
      tags: ['full'],
    }, async () => {
      await using opened = await openDeltas({}, webhookFeed())
      const { world, client, folder, ask } = opened
      const leaving = staff(6).map(({ id }) => ({ id, leavingDate: '2026-11-18', action: 'L' as const }))
      folder.files.push({ name: '02.csv', asOf: '2026-11-20T01:00:00.000Z', rows: leaving })
      folder.files.push({ name: '03.csv', asOf: '2026-11-20T02:00:00.000Z', rows: [{ id: 'E0009', title: 'Lead' }] })
      const held = await ask()
      await receive(world, {
        type: 'updated',
        at: '2026-11-20T00:30:00.000Z',
        employee: { id: 'E0001', title: 'Once' },
      })

      world.clock.now = new Date(world.clock.now.getTime() + 6000)
      await requestEventRuns(world.sync)
      await world.drain()
      const runs = await listRuns(world.sync.store.db, { limit: 10 })
      const moved = runs.find(({ state }) => state === 'held')
      const again = await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
      await world.drain()
      const anew = await world.runOf(again.id)
      await approveRun(world.sync, { runId: anew.id, digest: anew.digest ?? '', by: 'ops' })
      await world.drain()

      const people = await peopleOn(client)
      expect(moved).toMatchObject({ id: held.id, moved: expect.stringContaining('facts about 1 person of it') })
      expect((await world.runOf(held.id)).state).toBe('superseded')
      expect(anew).toMatchObject({ feed: 'source', source: { name: '02.csv' } })
      expect(people.get('E0001')).toMatchObject({ jobTitle: 'Once', separatedAt: '2026-11-18T00:00:00.000Z' })
      expect(people.get('E0009')?.jobTitle).toBe('Lead')
      expect(folder.settled).toEqual(['01', '02', '03'].map((name) => [`${name}.csv`, 'accepted']))
    })

    test('with an older fact do not undo a newer one', async () => {
      await using opened = await openDeltas()
      const { client, folder, ask } = opened
      folder.files.push({ name: '02.csv', asOf: '2026-11-20T02:00:00.000Z', rows: [{ id: 'E0003', title: 'New' }] })
      folder.files.push({ name: '03.csv', asOf: '2026-11-20T01:00:00.000Z', rows: [{ id: 'E0003', title: 'Old' }] })

      await ask()

      expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('New')
    })
  })

  test('an export that could not be archived is archived with the next run', async () => {
    const folder = deltas()
    folder.files.push({ name: '01.csv', asOf: '2026-11-19T01:00:00.000Z', rows: [{ id: 'E0001', action: 'J' }] })
    let broken = true
    const archive: Connector['archive'] = async (source, outcome) => {
      if (broken) throw new Error('the archive is full')
      await folder.connector.archive?.(source, outcome)
    }
    await using opened = await open({ connector: { ...folder.connector, archive: archive }, mapping })
    const { world } = opened
    await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await world.drain()
    const before = [...folder.settled]
    broken = false

    await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    await world.drain()

    expect(before).toEqual([])
    expect(folder.settled).toEqual([['01.csv', 'accepted']])
    expect(world.events).toContainEqual(
      expect.objectContaining({ event: 'source.not_archived', source: '01.csv', reason: 'the archive is full' }),
    )
  })

  test('an export that two runs archive at the same time is archived once', { tags: ['full'] }, async () => {
    const folder = deltas()
    folder.files.push({ name: '01.csv', asOf: '2026-11-19T01:00:00.000Z', rows: [{ id: 'E0001', action: 'J' }] })
    let broken = true
    const archive: Connector['archive'] = async (source, outcome) => {
      if (broken) throw new Error('the archive is full')
      await folder.connector.archive?.(source, outcome)
    }
    await using opened = await open({ connector: { ...folder.connector, archive: archive }, mapping })
    const { sync, connection, drain } = opened.world
    await requestRun(sync, { connection: 'acme', trigger: 'operator' })
    await drain()
    broken = false

    await Promise.all([1, 2].map(() => archiveSources(sync, connection)))

    expect(folder.settled).toEqual([['01.csv', 'accepted']])
  })

  describe('several rows of a person', () => {
    const latest = Mapping.parse({ ...mapping, severalRows: { latest: { column: 'Changed', format: 'yyyy-MM-dd' } } })

    test.each(
      firstOf(1, [
        ['far apart', 2500],
        ['near each other', 0],
      ]),
    )('the latest row applies, %s', async (_where, between) => {
      await using opened = await openDeltas({ mapping: latest }, undefined, noLimits)
      const { client, folder, ask } = opened
      const others = staff(between).map(({ id }) => ({ id: `F${id}`, action: 'J', changed: '2026-01-01' }) as const)
      folder.files.push({
        name: '02.csv',
        asOf: '2026-11-20T01:00:00.000Z',
        rows: [
          { id: 'E0003', title: 'Old', changed: '2026-01-01' },
          { id: 'E0004', title: 'New', changed: '2026-06-01' },
          ...others,
          { id: 'E0003', title: 'New', changed: '2026-06-01' },
          { id: 'E0004', title: 'Old', changed: '2026-01-01' },
        ],
      })

      const run = await ask()

      const people = await peopleOn(client)
      expect(run).toMatchObject({ state: 'finished', counts: { update: 2, rejected: 0 } })
      expect(run.warnings).toContain('2 rows gave way to a newer row of the same person')
      expect(people.get('E0003')?.jobTitle).toBe('New')
      expect(people.get('E0004')?.jobTitle).toBe('New')
    })

    test('with equal rank are all rejected', async () => {
      await using opened = await openDeltas({ mapping: latest })
      const { client, folder, ask } = opened
      folder.files.push({
        name: '02.csv',
        asOf: '2026-11-20T01:00:00.000Z',
        rows: [
          { id: 'E0003', title: 'One', changed: '2026-06-01' },
          { id: 'E0003', title: 'Two', changed: '2026-06-01' },
        ],
      })

      const run = await ask()

      expect(run.counts?.rejected).toBe(2)
      expect((await peopleOn(client)).get('E0003')?.jobTitle).toBe('Engineer')
    })
  })

  describe('a snapshot that may have been cut off', () => {
    test('is held if the last person of the previous one is missing', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))

      const run = await world.night(without(staff(20), 'E0020'), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run).toMatchObject({ state: 'held', reason: expect.stringContaining('endMissing') })
      expect((await peopleOn(client)).get('E0020')?.separatedAt).toBeNull()
    })

    test('is not held if that person left long ago', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world } = opened
      const people = change(staff(20), { id: 'E0020', leavingDate: '2026-10-31' })
      await world.night(people)

      const run = await world.night(without(people, 'E0020'), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run.state).toBe('unchanged')
    })

    test('is held if a fifth of its rows is missing, even if few of them were people', { tags: ['full'] }, async () => {
      await using opened = await open()
      const { world } = opened
      const gone = staff(40)
        .slice(0, 10)
        .map((person) => ({ ...person, leavingDate: '2026-10-31' }))
      await world.night([...gone, ...staff(40).slice(10)])

      const run = await world.night(staff(40).slice(10), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run).toMatchObject({ state: 'held', reason: expect.stringContaining('shrinkRows') })
    })
  })

  test('a dry run takes no events and shows what waits', async () => {
    await using opened = await openDeltas()
    const { world, folder } = opened
    folder.files.push({ name: '02.csv', asOf: '2026-11-20T01:00:00.000Z', rows: [{ id: 'E0003', title: 'Lead' }] })

    const plan = await planDryRun(world.sync, 'acme', new AbortController().signal)

    expect(plan).toMatchObject({ mode: 'delta', source: { name: '02.csv' }, counts: { update: 1 } })
    expect(await listRuns(world.sync.store.db, { limit: 10 })).toHaveLength(1)
  })
})
