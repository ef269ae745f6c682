import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptedSource } from '../../../src/store/connections/sources.ts'
import { readRunAccount } from '../../../src/store/runs/accounts.ts'
import { listRuns, type Run } from '../../../src/store/runs/runs.ts'
import type { PersonAccount } from '../../../src/store/schema.ts'
import type { SourceFeed } from '../../../src/sync/context/context.ts'
import { approveRun, planPersonDryRun, requestPerson } from '../../../src/sync/sync.ts'
import { later, receive, updated, webhookFeed } from '../../helpers/events.ts'
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
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const night = '2026-11-20T01:00:00.000Z'
const morning = '2026-11-20T07:00:00.000Z'

/** A company whose first export was accepted, with what HR says in the morning. */
async function open(people: readonly HrPerson[] = staff(20), feed: Partial<SourceFeed> = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, feed, webhook: webhookFeed() })
  await world.night(people, { asOf: night })
  world.clock.now = new Date('2026-11-20T08:00:00.000Z')
  return { world, client, people, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function one(world: World, person: string): Promise<Run> {
  const { id } = await requestPerson(world.sync, { connection: 'acme', person })
  await world.drain()
  return await world.runOf(id)
}

async function accounted(world: World, { id }: Run): Promise<PersonAccount | undefined> {
  return (await readRunAccount(world.sync.store.db, id))?.person
}

/** Everything that the next run of the source goes by, but what is known of these people. */
async function stateWithout(world: World, ...keys: string[]) {
  const { db } = world.sync.store
  const roster = await db
    .selectFrom('roster')
    .selectAll()
    .where('identity_id', 'not in', keys)
    .orderBy('identity_id')
    .execute()
  const row = await db.selectFrom('connections').selectAll().executeTakeFirstOrThrow()
  // The version of the roster counts what happens to the others as well.
  const { roster_version: _version, ...connection } = row
  const taken = await db.selectFrom('decided_sources').selectAll().execute()
  return { roster, connection, taken, accepted: await acceptedSource(db, 'acme') }
}

test('one person is read and delivered, and nobody else changes', async () => {
  await using opened = await open()
  const { world, client, people } = opened
  const before = await stateWithout(world, 'E0003')
  world.setExport(
    change(
      people,
      { id: 'E0003', email: ' E3@Acme.example', leavingDate: '2026-11-19' },
      { id: 'E0005', title: 'Director' },
    ),
    morning,
  )

  const run = await one(world, 'E0003')

  expect(run).toMatchObject({
    feed: 'person',
    trigger: 'operator',
    state: 'finished',
    options: { person: { identityId: 'E0003' } },
    rows: 20,
    records: 1,
    counts: { leave: 1, update: 0, unchanged: 0 },
    confirmed: 1,
  })
  const held = await peopleOn(client)
  expect(held.get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
  expect(held.get('E0005')?.jobTitle).toBe('Engineer')
  expect(await stateWithout(world, 'E0003')).toEqual(before)
  expect(await accounted(world, run)).toMatchObject({
    source: 'people.csv',
    asOf: morning,
    decision: 'leave',
    rows: [
      {
        origin: { file: 'people.csv', line: 4 },
        reason: null,
        cells: expect.arrayContaining([
          {
            column: 'Email',
            field: 'email',
            text: ' E3@Acme.example',
            value: 'e3@acme.example',
            keeps: false,
            reason: null,
          },
          {
            column: 'Leaving Date',
            field: 'separatedAt',
            text: '2026-11-19',
            value: '2026-11-19',
            keeps: false,
            reason: null,
          },
          { column: 'Status', field: 'status', text: 'Active', value: 'employed', keeps: false, reason: null },
        ]),
      },
    ],
    evidence: expect.arrayContaining(['the row states the leaving date 2026-11-19, which has come']),
  })
})

test('the next run of the source makes the same plan as otherwise, and sends nothing again for the person', async () => {
  await using opened = await open()
  const { world, people } = opened
  const rows = change(people, { id: 'E0003', leavingDate: '2026-11-19' }, { id: 'E0005', title: 'Director' })
  world.setExport(rows, morning)
  await one(world, 'E0003')

  const run = await world.night(rows, { asOf: morning })

  expect(run).toMatchObject({ state: 'finished', counts: { leave: 0, update: 1, unchanged: 19 }, confirmed: 1 })
  expect(run.sent.update.people).toBe(0)
})

test('a person is found by e-mail, which is not stored, and by the known address', async () => {
  await using opened = await open()
  const { world, people } = opened
  world.setExport(change(people, { id: 'E0004', email: 'new@acme.example' }), morning)

  const byNew = await one(world, 'New@acme.example')
  const byKnown = await planPersonDryRun(world.sync, {
    connection: 'acme',
    person: 'e5@acme.example',
    signal: new AbortController().signal,
  })

  expect(byNew).toMatchObject({
    state: 'finished',
    options: { person: { identityId: 'E0004' } },
    counts: { update: 1 },
  })
  expect(JSON.stringify([byNew, await listRuns(world.sync.store.db, { limit: 10 })])).not.toMatch(/new@acme/i)
  expect(byKnown).toMatchObject({
    changes: [],
    person: {
      identityId: 'E0005',
      decision: 'none',
      evidence: expect.arrayContaining([expect.stringContaining('nothing to send')]),
    },
  })
})

describe('a run of one person fails with a sentence for', () => {
  const cases: {
    name: string
    rows: (people: HrPerson[]) => HrPerson[]
    person: string
    failure: string
    reason: RegExp
  }[] = [
    {
      name: 'a key that stands nowhere',
      rows: (people) => people,
      person: 'X9999',
      failure: 'not_found',
      reason: /person "X9999" is neither in people\.csv \(20 rows\) nor in the roster of "acme"$/,
    },
    {
      name: 'a key that is spelled otherwise',
      rows: (people) => people,
      person: 'e-0007',
      failure: 'not_found',
      reason: /the key "E0007" in people\.csv:8 is spelled alike/,
    },
    {
      name: 'an e-mail address that several rows have',
      rows: (people) => change(people, { id: 'E0007', email: 'e8@acme.example' }),
      person: 'e8@acme.example',
      failure: 'usage',
      reason: /is that of 2 people: E0008 \(people\.csv:9\), E0007 \(people\.csv:8\)\. Name the key of one of them/,
    },
    {
      name: 'an e-mail address that no one has',
      rows: (people) => people,
      person: 'nobody@acme.example',
      failure: 'not_found',
      reason: /no row of people\.csv holds the e-mail address that was asked for/,
    },
  ]

  test.each(firstOf(3, cases))('$name', async ({ rows, person, failure, reason }) => {
    await using opened = await open()
    const { world, people } = opened
    world.setExport(rows([...people]), morning)

    const run = await one(world, person)

    expect(run).toMatchObject({ state: 'failed', failure })
    expect(run.reason).toMatch(reason)
    expect(run.reason).not.toContain('@')
  })

  test('a duplicate key: both rows are shown, and the person stays unchanged', async () => {
    await using opened = await open()
    const { world, people } = opened
    world.setExport([...change(people, { id: 'E0007', title: 'Lead' }), { id: 'E0007', title: 'Head' }], morning)

    const run = await one(world, 'E0007')

    expect(run).toMatchObject({ state: 'unchanged', counts: { rejected: 2, update: 0 } })
    expect(await accounted(world, run)).toMatchObject({
      decision: 'none',
      rows: [
        { origin: { line: 8 }, reason: 'the key stands in this file more than once, also in line 22' },
        { origin: { line: 22 }, reason: 'the key stands in this file more than once, also in line 8' },
      ],
      evidence: ['the row cannot be used: the person counts as present and unchanged', expect.any(String)],
    })
  })
})

test('an unknown person with two rows, far apart, does not join', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, people } = opened
  world.source.slice = 5
  world.setExport([{ id: 'N1', title: 'Lead' }, ...people, { id: 'N1', title: 'Head' }], morning)

  const run = await one(world, 'N1')

  expect(run).toMatchObject({ state: 'unchanged', counts: { join: 0, rejected: 2 } })
  expect(await accounted(world, run)).toMatchObject({
    decision: 'none',
    evidence: ['no row of the person can be used, and they are not known: there is nothing to send'],
  })
})

test('an absence from a truncated file separates one person only after an approval', async () => {
  await using opened = await open(staff(40))
  const { world, client, people } = opened
  world.setExport(people.slice(0, 20), morning)

  const run = await one(world, 'E0030')

  expect(run).toMatchObject({ state: 'held', counts: { leave: 1 } })
  expect(run.guards?.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([
    'shrinkRows',
    'shrinkBytes',
    'endMissing',
  ])
  expect((await peopleOn(client)).get('E0030')?.separatedAt).toBeNull()

  const present = await one(world, 'E0010')

  expect(present).toMatchObject({ state: 'unchanged' })
  expect((await accounted(world, present))?.evidence).toContainEqual(
    expect.stringMatching(/^the export as a whole would be held: shrinkRows: /),
  )
  // The plan of another person takes no one's place.
  expect(await world.runOf(run.id)).toMatchObject({ state: 'held', moved: null })

  await approveRun(world.sync, { runId: run.id, digest: run.digest ?? '', by: 'ops' })
  await world.drain()

  expect((await peopleOn(client)).get('E0030')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
})

test('a person with a key change candidate waits for an answer, under the old key and the new one', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world, people } = opened
  const rekeyed = { ...people[5], id: 'N6' }
  world.setExport([...without(people, 'E0006'), rekeyed], morning)

  const former = await one(world, 'E0006')
  const renamed = await one(world, 'N6')
  const other = await one(world, 'E0007')

  expect([former, renamed, other].map(({ state }) => state)).toEqual(['held', 'held', 'unchanged'])
  expect(former.guards?.find(({ name }) => name === 'rekeyed')).toMatchObject({ ok: false, actual: 1 })
})

test('an absence below the grace is not counted, so that the number of nights stays the same', {
  tags: ['full'],
}, async () => {
  await using opened = await open(staff(20), { graceRuns: 2 })
  const { world, people } = opened
  world.setExport(without(people, 'E0006'), morning)

  const run = await one(world, 'E0006')
  const first = await world.night(without(people, 'E0006'), { asOf: '2026-11-21T01:00:00.000Z' })
  const second = await world.night(without(people, 'E0006'), { asOf: '2026-11-22T01:00:00.000Z' })

  expect(run.state).toBe('unchanged')
  expect((await accounted(world, run))?.evidence[0]).toContain('absence 1 of the 2 in a row')
  expect([first.counts?.leave, second.counts?.leave]).toEqual([0, 1])
})

test('being present in between does not undo counted absences', { tags: ['full'] }, async () => {
  await using opened = await open(staff(20), { graceRuns: 2 })
  const { world, people } = opened
  await world.night(without(people, 'E0006'), { asOf: morning })
  world.setExport(people, '2026-11-20T12:00:00.000Z')

  const run = await one(world, 'E0006')
  const next = await world.night(without(people, 'E0006'), { asOf: '2026-11-21T01:00:00.000Z' })

  expect([run.state, next.counts?.leave]).toEqual(['unchanged', 1])
})

test('an event that is older than the export of the person changes nothing', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, client, people } = opened
  world.setExport(people, morning)
  await one(world, 'E0006')

  await receive(
    world,
    updated('E0006', 'Outdated', '2026-11-20T05:00:00.000Z'),
    updated('E0007', 'Lead', '2026-11-20T05:00:00.000Z'),
  )
  await later(world, 600)

  const held = await peopleOn(client)
  expect([held.get('E0006')?.jobTitle, held.get('E0007')?.jobTitle]).toEqual(['Engineer', 'Lead'])
})

test('a held plan that contains the person is made again on approval, like after any accepted change', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world, people } = opened
  const many = people.slice(0, 7).map(({ id }) => ({ id, leavingDate: '2026-11-19' }))
  const held = await world.night(change(people, ...many), { asOf: morning })

  const run = await one(world, 'E0001')
  const moved = await world.runOf(held.id)
  const again = await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
  await world.drain()

  expect([held.state, run.state]).toEqual(['held', 'finished'])
  expect(moved.moved).toContain('facts about 1 person of it were accepted since')
  // Six are no more than the guards let pass but one: the plan is another one, and is held again for that.
  expect(await world.runOf(again.id)).toMatchObject({ state: 'held', counts: { leave: 6 } })
})

test('people who are delivered one by one are counted together in the limits of a day', async () => {
  await using opened = await open()
  const { world, people } = opened
  const many = people.slice(0, 7).map(({ id }) => ({ id, leavingDate: '2026-11-19' }))
  world.setExport(change(people, ...many), morning)

  const states: string[] = []
  for (const { id } of many) states.push((await one(world, id)).state)

  expect(states).toEqual(['finished', 'finished', 'finished', 'finished', 'finished', 'held', 'held'])
})

test('a waiting run of the same person is joined, and another person has to wait', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world } = opened
  const ask = (person: string) => requestPerson(world.sync, { connection: 'acme', person })

  const first = await ask('E0001')
  const same = await ask('E0001')

  expect(same.id).toBe(first.id)
  await expect(ask('E0002')).rejects.toThrow(/of another person waits for "acme"; ask again when it has ended/)
})
