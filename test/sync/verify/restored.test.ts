import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Identity } from '../../../src/contract/platform/hris-user-identities.ts'
import { openDatabase } from '../../../src/database/database.ts'
import type { IdentityRecord, RosterEntry } from '../../../src/identity/record.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { dumpStore } from '../../../src/store/backup/dump.ts'
import { readBackup, writeBackup } from '../../../src/store/backup/file.ts'
import { loadStore } from '../../../src/store/backup/load.ts'
import { prepareRestored } from '../../../src/store/backup/restored.ts'
import { beginInstallation } from '../../../src/store/connections/installation.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { holdBack } from '../../../src/sync/requests/hold-backs.ts'
import { listStatedDepartures, stateDeparture } from '../../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../../src/sync/requests/withdrawn-departures.ts'
import { requestPerson, requestRun } from '../../../src/sync/sync.ts'
import type { Endpoint } from '../../../src/sync/target/endpoint.ts'
import { findingOf, findingOfLost } from '../../../src/sync/verify/restored.ts'
import { liveRecords, openRecordWorld, recordNight, workers, workspaceOf } from '../../helpers/custom-records.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { firstOf } from '../../helpers/tier.ts'
import {
  between,
  change,
  type Host,
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

const leavingDate = '2026-11-20T00:00:00.000Z'
const backedUpAt = new Date('2026-11-20T03:30:00.000Z')
const restoredAt = new Date('2026-11-20T05:00:00.000Z')

async function backUp({ sync }: World, file: string): Promise<void> {
  const { db } = sync.store
  await beginInstallation(db, backedUpAt)
  await writeBackup(createWriteStream(file), (take) => dumpStore(db, { version: '0.1.0', now: backedUpAt }, take))
}

/** Puts a backup into an empty store. */
async function putBack(at: string, file: string): Promise<void> {
  await using store = await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations })
  await store.db.transaction().execute(async (tx) => {
    await loadStore(tx, readBackup(file))
    await prepareRestored(tx, { until: backedUpAt, now: restoredAt })
  })
}

test('a restore brings nobody back who left since, and undoes nothing newer', async () => {
  await using folder = await temporaryFolder()
  await using testDatabase = await createPostgresDatabase()
  const { client } = await host.tenant()
  const file = join(folder.path, 'rollcall.backup')
  const before = staff(20)
  {
    await using world = await openWorld({ client })
    await world.night(before)
    // E0003 gets a title that is accepted and not delivered yet; a plan about others is held.
    const off = { person: true }
    between(world, (to) => ({
      upsertHrisUserIdentities: async (...input: Parameters<typeof to.upsertHrisUserIdentities>) => {
        if (off.person) throw new Error('the platform is away')
        return await to.upsertHrisUserIdentities(...input)
      },
    }))
    await world.night(change(before, { id: 'E0003', title: 'Due' }))
    await backUp(world, file)
    off.person = false
    await world.night(
      [
        ...without(change(before, { id: 'E0003', title: 'Due' }, { id: 'E0002', title: 'Newer' }), 'E0001'),
        ...staff(21).slice(20),
      ],
      { asOf: '2026-11-20T04:00:00.000Z' },
    )
    await world.minute()
    const people = await peopleOn(client)
    expect(people.get('E0001')?.separatedAt).not.toBeNull()
    expect(people.get('E0002')?.jobTitle).toBe('Newer')
  }

  await putBack(testDatabase.at, file)
  await using world = await openWorld({ at: testDatabase.at, client })
  world.clock.now = restoredAt
  await world.minute()
  await world.minute()

  const [run] = await listRuns(world.sync.store.db, { limit: 1 })
  expect(run).toMatchObject({ trigger: 'repair', verification: { lost: 0, changed: 2, foreign: 1 } })
  const restored = await peopleOn(client)
  expect(restored.get('E0001')?.separatedAt).not.toBeNull()
  expect([restored.get('E0002')?.jobTitle, restored.get('E0003')?.jobTitle]).toEqual(['Newer', 'Due'])
  expect(await world.sync.store.db.selectFrom('restored_connections').selectAll().execute()).toEqual([])

  // An export from before the backup undoes nothing; the next one counts, and brings back who is in it.
  await world.night(before, { asOf: '2026-11-20T02:00:00.000Z' })
  expect((await peopleOn(client)).get('E0001')?.separatedAt).not.toBeNull()
  await world.night(change(before, { id: 'E0002', title: 'Newest' }), { asOf: '2026-11-20T06:00:00.000Z' })
  const after = await peopleOn(client)
  expect(after.get('E0001')?.separatedAt).toBeNull()
  expect(after.get('E0002')?.jobTitle).toBe('Newest')
})

test('a restore neither confirms nor repeats a stated departure', async () => {
  await using folder = await temporaryFolder()
  await using testDatabase = await createPostgresDatabase()
  const { client } = await host.tenant()
  const file = join(folder.path, 'rollcall.backup')
  const people = staff(20)
  const ana = { connection: 'acme', reason: 'dismissed', by: 'ana', principal: 'token:ana' }
  {
    await using world = await openWorld({ client })
    await world.night(people)
    await stateDeparture(world.sync, { ...ana, identityId: 'E0001' })
    await stateDeparture(world.sync, { ...ana, identityId: 'E0002' })
    await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-20' })
    await world.drain()
    await stateDeparture(world.sync, { ...ana, identityId: 'E0004', on: '2026-11-21' })
    await backUp(world, file)
    await withdrawDeparture(world.sync, { ...ana, identityId: 'E0002' })
    await world.night(change(people, { id: 'E0001', title: 'Newer' }), { asOf: '2026-11-20T04:00:00.000Z' })
    await withdrawDeparture(world.sync, { ...ana, identityId: 'E0004' })
    expect((await peopleOn(client)).get('E0002')?.separatedAt).toBeNull()
  }

  await putBack(testDatabase.at, file)
  await using world = await openWorld({ at: testDatabase.at, client })
  world.clock.now = new Date('2026-11-21T05:00:00.000Z')
  await world.minute()
  await world.minute()
  const separated = async () => {
    const restored = await peopleOn(client)
    return ['E0001', 'E0002', 'E0003', 'E0004'].filter((key) => restored.get(key)?.separatedAt)
  }
  const atOnce = await separated()
  const stated = await listStatedDepartures(world.sync, 'acme')
  await world.night(people, { asOf: '2026-11-21T01:00:00.000Z' })
  const afterExport = await separated()
  await stateDeparture(world.sync, { ...ana, identityId: 'E0004' })
  await world.drain()

  expect(stated.filter(({ applies }) => applies).map(({ identityId }) => identityId)).toEqual(['E0001', 'E0003'])
  expect([atOnce, afterExport]).toEqual([
    ['E0001', 'E0003'],
    ['E0001', 'E0003'],
  ])
  expect(await separated()).toEqual(['E0001', 'E0003', 'E0004'])
})

test('after a restore, an alert asks about a departure that an operator may have stated since the backup', async () => {
  await using folder = await temporaryFolder()
  await using testDatabase = await createPostgresDatabase()
  const { client } = await host.tenant()
  const file = join(folder.path, 'rollcall.backup')
  const people = staff(20)
  const ana = { connection: 'acme', reason: 'dismissed', by: 'ana', principal: 'token:ana' }
  {
    await using world = await openWorld({ client })
    await world.night(people)
    await backUp(world, file)
    for (const identityId of ['E0001', 'E0002', 'E0003', 'E0004'])
      await stateDeparture(world.sync, { ...ana, identityId })
    await world.drain()
  }

  await putBack(testDatabase.at, file)
  await using world = await openWorld({ at: testDatabase.at, client })
  const separated = async () => {
    const restored = await peopleOn(client)
    return ['E0001', 'E0002', 'E0003'].filter((key) => restored.get(key)?.separatedAt)
  }
  const alerts = async () => {
    const none = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
    const settings = { ...none, connections: ['acme'], now: world.clock.now }
    return (await conditions(world.sync.store.db, settings)).map(({ reason }) => reason)
  }
  world.clock.now = new Date('2026-11-21T05:00:00.000Z')
  await world.minute()
  await world.minute()
  const quiet = await alerts()
  // What nobody stated refuses no hold-back: it decides, and the ordinary alert about people who are held back reminds of it.
  const mayHaveLeft = '1 person may have left, and the platform does not know'
  await holdBack(world.sync, { ...ana, identityId: 'E0004', until: '2026-12-01' })
  await world.drain()
  const heldBack = [(await peopleOn(client)).get('E0004')?.separatedAt, await alerts()]
  await stateDeparture(world.sync, { ...ana, identityId: 'E0001' })
  await world.drain()
  const atOnce = await separated()
  const written = change(people, { id: 'E0002', status: 'Inactive' })
  await world.night(written, { asOf: '2026-11-21T06:00:00.000Z' })
  const afterExport = [await separated(), await alerts()]
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await world.drain()

  expect([quiet, atOnce]).toEqual([[], ['E0001', 'E0002', 'E0003']])
  expect(heldBack).toEqual([null, [mayHaveLeft]])
  expect(afterExport).toEqual([
    ['E0001', 'E0002'],
    [
      expect.stringMatching(
        /^1 person had left since the backup, as only the platform showed, and HR brought them back/,
      ),
    ],
  ])
  expect([await separated(), await alerts()]).toEqual([['E0001', 'E0002', 'E0003'], []])
})

/** A run of one person, in which HR says nothing about others. */
async function runOfOther(world: World, people: Parameters<World['night']>[0], title: string): Promise<void> {
  world.setExport(change(people, { id: 'E0009', title }), world.clock.now.toISOString())
  const eva = { by: 'eva', principal: 'token:eva' }
  const { id } = await requestPerson(world.sync, { connection: 'acme', person: 'E0009', ...eva })
  await world.drain()
  expect((await world.runOf(id)).state).toBe('finished')
}

test('what the store learned after a restore confirms no departure that is stated again by two people', async () => {
  await using folder = await temporaryFolder()
  await using testDatabase = await createPostgresDatabase()
  const { client } = await host.tenant()
  const file = join(folder.path, 'rollcall.backup')
  const people = staff(20)
  const ana = { connection: 'acme', identityId: 'E0001', reason: 'dismissed', by: 'ana', principal: 'token:ana' }
  const ben = { ...ana, by: 'ben', principal: 'token:ben' }
  {
    await using world = await openWorld({ client })
    await world.night(people)
    await backUp(world, file)
    await stateDeparture(world.sync, ana)
    await world.drain()
  }

  await putBack(testDatabase.at, file)
  await using world = await openWorld({
    ...{ at: testDatabase.at, client },
    connection: { approvals: { expireHours: 72, twoPeople: true } },
  })
  world.clock.now = new Date('2026-11-21T05:00:00.000Z')
  await world.minute()
  await world.minute()
  await stateDeparture(world.sync, { ...ana, on: '2026-11-20' })
  await runOfOther(world, people, 'Lead')
  const waiting = await listStatedDepartures(world.sync, 'acme')
  await stateDeparture(world.sync, { ...ben, on: '2026-11-20' })
  await world.drain()
  await runOfOther(world, people, 'Head')
  const complete = await listStatedDepartures(world.sync, 'acme')
  world.setExport(people, '2026-11-22T01:00:00.000Z')
  await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await world.drain()

  expect(waiting).toMatchObject([{ by: 'ana', applies: false, isExpired: false }])
  expect(complete).toMatchObject([{ by: 'ana', approvedBy: 'ben', applies: true }])
  expect((await peopleOn(client)).get('E0001')?.separatedAt?.slice(0, 10)).toBe('2026-11-20')
})

test('a statement of the backup whose plan was accepted afterwards stays; one with another day is asked for', {
  tags: ['full'],
}, async () => {
  await using folder = await temporaryFolder()
  await using testDatabase = await createPostgresDatabase()
  const { client } = await host.tenant()
  const file = join(folder.path, 'rollcall.backup')
  const people = staff(20)
  const ana = { connection: 'acme', reason: 'dismissed', by: 'ana', principal: 'token:ana' }
  {
    await using world = await openWorld({ client })
    await world.night(people)
    await stateDeparture(world.sync, { ...ana, identityId: 'E0001' })
    await stateDeparture(world.sync, { ...ana, identityId: 'E0002', on: '2026-11-25' })
    await backUp(world, file)
    await stateDeparture(world.sync, { ...ana, identityId: 'E0002', on: '2026-11-20' })
    await world.drain()
  }

  await putBack(testDatabase.at, file)
  await using world = await openWorld({ at: testDatabase.at, client })
  world.clock.now = new Date('2026-11-21T05:00:00.000Z')
  await world.minute()
  await world.minute()
  await runOfOther(world, people, 'Lead')
  const stated = await listStatedDepartures(world.sync, 'acme')
  const none = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
  const alerts = await conditions(world.sync.store.db, { ...none, connections: ['acme'], now: world.clock.now })
  await world.night(people, { asOf: '2026-11-22T01:00:00.000Z' })

  expect(stated).toMatchObject([
    { identityId: 'E0001', applies: true },
    { identityId: 'E0002', applies: false, isExpired: true },
  ])
  expect(alerts).toMatchObject([{ kind: 'stated_departures', people: 1 }])
  expect((await peopleOn(client)).get('E0001')?.separatedAt?.slice(0, 10)).toBe('2026-11-20')
})

test.each(firstOf(1, ['direct', 'session']))(
  'after a restore no record of a person who left since is made again, with deliver: %s',
  async (deliver) => {
    await using folder = await temporaryFolder()
    await using testDatabase = await createPostgresDatabase()
    const { client, name } = await host.tenant()
    const workspaceId = await workspaceOf(host, name)
    const file = join(folder.path, 'rollcall.backup')
    const stayed = workers(30).filter(({ id }) => id !== 'E0002')
    {
      await using world = await openRecordWorld(client, { workspaceId, deliver })
      await recordNight(world, workers(30))
      await backUp(world, file)
      await recordNight(world, stayed)
    }
    await putBack(testDatabase.at, file)

    await using world = await openRecordWorld(client, { workspaceId, deliver, at: testDatabase.at })
    world.clock.now = restoredAt
    await world.minute()
    await world.minute()

    const [run] = await listRuns(world.sync.store.db, { limit: 1 })
    expect(run).toMatchObject({ trigger: 'repair', state: 'unchanged', verification: { lost: 0, changed: 1 } })
    expect((await liveRecords(client)).has('E0002')).toBe(false)

    world.source.asOf = '2026-11-20T06:00:00.000Z'
    const next = await recordNight(world, stayed)
    expect([next.state, (await liveRecords(client)).has('E0002')]).toEqual(['unchanged', false])
    world.source.asOf = '2026-11-21T06:00:00.000Z'
    const back = await recordNight(world, workers(30))
    expect(back.counts).toMatchObject({ return: 1 })
    expect((await liveRecords(client)).has('E0002')).toBe(true)
  },
)

test('no run plans anything while the platform cannot be read after a restore', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(staff(5))
  await world.sync.store.db
    .transaction()
    .execute((tx) => prepareRestored(tx, { until: world.clock.now, now: world.clock.now }))
  between(world, () => ({
    listHrisUserIdentities: async () => {
      throw new Error('away')
    },
  }))

  const run = await world.night(staff(6), { asOf: '2026-11-20T08:00:00.000Z' })

  expect(run.state).not.toBe('finished')
  expect((await peopleOn(client)).size).toBe(5)
})

const base = { identityId: 'ana', firstName: 'Ana', separatedAt: null }
const of = (record: object): IdentityRecord => ({ ...base, ...record }) as IdentityRecord
const there = (record: object) => ({ ...base, ...record }) as Identity

test.each([
  ['has what it had', { desired: of({}), confirmed: of({}) }, there({}), 'verified'],
  [
    'has what it had, and something is due',
    { desired: of({ firstName: 'Anna' }), confirmed: of({}) },
    there({}),
    'verified',
  ],
  ['has newer fields', { desired: of({}), confirmed: of({}) }, there({ firstName: 'Anna' }), 'learned'],
  ['has separated the person', { desired: of({}), confirmed: of({}) }, there({ separatedAt: leavingDate }), 'learned'],
  [
    'has separated a person of whom something was due',
    { desired: of({ firstName: 'Anna' }), confirmed: of({}) },
    there({ separatedAt: leavingDate }),
    'learned',
  ],
  [
    'has separated a person who was never acknowledged',
    { desired: of({}), confirmed: null },
    there({ separatedAt: leavingDate }),
    'learned',
  ],
  [
    'has not separated a leaver who was due',
    { desired: of({ separatedAt: leavingDate }), confirmed: of({}) },
    there({}),
    'verified',
  ],
  [
    'has brought a leaver back',
    { desired: of({ separatedAt: leavingDate }), confirmed: of({ separatedAt: leavingDate }) },
    there({}),
    'verified',
  ],
  [
    'still separates a person whose return was due',
    { desired: of({}), confirmed: of({ separatedAt: leavingDate }) },
    there({ separatedAt: leavingDate }),
    'verified',
  ],
])('after a restore, the right side applies if the platform %s', (_name, known, identity, outcome) => {
  const entry = { identityId: 'ana', retracted: null, ...known } as RosterEntry

  expect(Object.keys(findingOf({ records: null }, entry, identity))).toEqual([outcome])
})

test('after a restore, a CUSTOM connection without any record makes nobody a leaver', () => {
  const record = { identityId: 'ana', firstName: 'Ana' }
  const entry = { identityId: 'ana', retracted: null, desired: record, confirmed: record } as RosterEntry
  const records = {} as Endpoint['records']

  const outcomes = [false, true].map((isListEmpty) => findingOfLost({ records }, entry, { restoredAt, isListEmpty }))

  expect(outcomes).toMatchObject([
    { learned: { isNewLeaver: true } },
    { verified: { identityId: 'ana', confirmed: null } },
  ])
})
