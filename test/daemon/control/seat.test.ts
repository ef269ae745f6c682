import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { localControl } from '../../../src/cli/session/command-context.ts'
import type { Control } from '../../../src/cli/session/control-client.ts'
import { machineCaller } from '../../../src/contract/control/access.ts'
import type { ConnectionSchedule } from '../../../src/daemon/schedules/schedules.ts'
import { readEntry } from '../../../src/store/audit/trail.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { change, type Host, headers, openWorld, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** A world with the control API as the console uses it. */
async function open(
  ...schedules: readonly ConnectionSchedule[]
): Promise<World & { readonly control: Control; readonly asViewer: Control }> {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  const none = () => Promise.reject(new Error('no key here'))
  const context = {
    sync: world.sync,
    audit: { trouble: () => null, seal: async () => {}, verify: none, replaceKey: none },
    schedules,
    alerts: quietAlerts,
    monitored: { connections: ['acme'], sources: [], maxLeaverHours: new Map<string, number>() },
    about: { version: '1.2.3', daemon: null, configuration: '', database: '', queue: '', platform: '' },
    caller: machineCaller('ana'),
    signal: new AbortController().signal,
  }
  const asViewer = localControl({ ...context, caller: { ...machineCaller('vera'), role: 'viewer' } })
  return Object.assign(world, { control: localControl(context), asViewer })
}

test('the history of a connection has the people of each day and what was accepted', async () => {
  await using world = await open()
  const { control, clock } = world
  await world.night(staff(20))
  clock.now = new Date('2026-11-22T03:00:00.000Z')
  await world.night(change(without(staff(20), 'E0004'), { id: 'E0003', title: 'Director' }))
  clock.now = new Date('2026-11-23T12:00:00.000Z')

  const { days } = await control.connectionHistory({ params: { connection: 'acme' }, query: { days: 5 } })

  const none = { join: 0, update: 0, leave: 0, return: 0, correct: 0, retract: 0 }
  expect(days).toEqual([
    { day: '2026-11-19', people: 0, separated: 0, runs: 0, changes: none },
    { day: '2026-11-20', people: 20, separated: 0, runs: 1, changes: { ...none, join: 20 } },
    { day: '2026-11-21', people: 20, separated: 0, runs: 0, changes: none },
    { day: '2026-11-22', people: 20, separated: 1, runs: 1, changes: { ...none, update: 1, leave: 1 } },
    { day: '2026-11-23', people: 20, separated: 1, runs: 0, changes: none },
  ])
})

test('the changes of a run are searched by key and, by those who see values, by name', async () => {
  await using world = await open()
  const { control } = world
  const run = await world.night(staff(12))
  const searchFor = async (search: string, query: object = {}) => {
    const { data, next } = await control.listChanges({ params: { runId: run.id }, query: { search, ...query } })
    return [data.map(({ identityId }) => identityId), next === null]
  }

  expect(await searchFor('e001')).toEqual([['E0010', 'E0011', 'E0012'], true])
  expect(await searchFor('e001', { limit: 2 })).toEqual([['E0010', 'E0011'], false])
  expect(await searchFor('person 1', { values: true })).toEqual([['E0001', 'E0010', 'E0011', 'E0012'], true])
  expect(await searchFor('person 1')).toEqual([[], true])
  expect(await searchFor('e1@', { values: true, kind: 'join' })).toEqual([['E0001'], true])
  expect(await searchFor('e1@', { values: true, kind: 'leave' })).toEqual([[], true])
})

test('a viewer finds people by key alone, and no search tells them a name', async () => {
  await using world = await open()
  await world.night(change(staff(3), { id: 'E0002', first: 'Öztürk' }))
  const vera = world.asViewer
  const matches = async (control: Control, search: string) =>
    (await control.searchPeople({ query: { search } })).data.map(({ identityId, person }) => [
      identityId,
      person.firstName,
    ])

  expect(await matches(world.control, 'oeztu')).toEqual([['E0002', 'Öztürk']])
  expect(await matches(vera, '002')).toEqual([['E0002', undefined]])
  for (const search of ['oeztu', 'öztürk', 'ozturk', 'e2@acme', 'türk']) expect(await matches(vera, search)).toEqual([])
  expect((await vera.searchPeople({ query: { search: '002' } })).data).toMatchObject([
    { by: 'key', state: 'employed', person: { startedAt: expect.any(String) } },
  ])
})

test('each look at values of people is an audit entry that names no value', async () => {
  await using world = await open()
  const { control } = world
  await world.night(staff(3))
  const params = { connection: 'acme', identityId: 'E0002' }

  await control.getPerson({ params, query: {} })
  await control.getPerson({ params, query: { values: true } })
  const { data } = await control.searchPeople({ query: { search: 'person', limit: 2 } })

  expect(data).toMatchObject([
    { identityId: 'E0001', by: 'name', state: 'employed', person: { email: 'e1@acme.example' } },
    { identityId: 'E0002' },
  ])
  const acts = await world.sync.store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  const looks = acts.map(({ entry }) => readEntry(entry)).filter((entry) => /seen|searched/.test(entry?.act ?? ''))
  expect(looks).toMatchObject([
    { act: 'values.seen', by: 'ana', connection: 'acme', identityId: 'E0002' },
    { act: 'people.searched', by: 'ana', connection: null, details: { people: 2 } },
  ])
  expect(JSON.stringify(looks)).not.toMatch(/e2@|Person 2|person\b(?!\.)/)
})

test('the audit trail is read from the newest entry on, filtered by act, person and actor', async () => {
  await using world = await open()
  const { control } = world
  const { db } = world.sync.store
  const { id: runId } = await world.night(staff(3))
  await control.holdBack({
    params: { connection: 'acme', identityId: 'E0002' },
    body: { until: '2026-12-24', reason: 'HR is asked', by: 'eva' },
  })
  await control.getPerson({ params: { connection: 'acme', identityId: 'E0003' }, query: { values: true } })
  await sql`insert into audit_trail select row_number() over (order by id), entry, '' from audit_pending`.execute(db)
  const read = async (query: object) => {
    const { data, next } = await control.readAudit({ query })
    return [data.map(({ act, by }) => `${act} ${by}`), next !== null]
  }

  const all = (await control.readAudit({ query: {} })).data
  const [newest, isMore] = await read({ limit: 1 })

  expect(all.map(({ ordinal }) => ordinal)).toEqual(all.map((_, index) => all.length - index))
  expect([newest, isMore]).toEqual([['values.seen ana'], true])
  expect(await read({ by: 'eva' })).toEqual([['hold_back.placed eva'], false])
  expect(await read({ identityId: 'E0002', act: 'hold_back' })).toEqual([['hold_back.placed eva'], false])
  expect(await read({ runId, act: 'run.planned' })).toEqual([['run.planned rollcall'], false])
  expect(await read({ connection: 'other' })).toEqual([[], false])
  const { at = '' } = all.find(({ act }) => act === 'hold_back.placed') ?? {}
  const next = new Date(Date.parse(at) + 1).toISOString()
  expect(await read({ act: 'hold_back', from: at, to: next })).toEqual([['hold_back.placed eva'], false])
  expect(await read({ act: 'hold_back', from: next })).toEqual([[], false])
  expect(await read({ act: 'hold_back', to: at })).toEqual([[], false])
  expect(await control.listAuditChoices({})).toMatchObject({
    acts: expect.arrayContaining([{ act: 'run.held', says: expect.stringContaining('guards hold the plan') }]),
    by: ['ana', 'eva', 'operator', 'rollcall'],
    connections: ['acme'],
  })
  expect(all.find(({ act }) => act === 'hold_back.placed')).toMatchObject({
    says: 'a person held back the departures of another person until a day',
    details: { until: '2026-12-24', reason: 'HR is asked' },
  })
})

test('a schedule lists its next ten times, and none while its connection is paused without an end', async () => {
  const nightly = { cron: '0 2 * * *', timeZone: 'Europe/Berlin' }
  await using world = await open({ connection: 'acme', purpose: 'read', schedule: nightly })
  const { control } = world
  const next = async () =>
    (await control.listSchedules({ query: {} })).data.map((one) => [one.purpose, one.next, one.paused] as const)

  const before = await next()
  await control.pauseConnection({
    params: { connection: 'acme' },
    body: { until: '2026-11-30T12:00:00Z', reason: 'HR moves' },
  })
  const during = await next()
  await control.pauseConnection({ params: { connection: 'acme' }, body: { reason: 'HR moves still' } })

  const nights = Array.from({ length: 10 }, (_, day) => `2026-11-${21 + day}T01:00:00.000Z`)
  expect(before).toEqual([['read', nights, null]])
  expect(during[0]?.[1]?.slice(0, 2)).toEqual(['2026-11-30T12:00:00.000Z', '2026-12-01T01:00:00.000Z'])
  expect(await next()).toEqual([['read', [], expect.objectContaining({ reason: 'HR moves still', until: null })]])
})

test('each export is listed with its outcome, and with the columns that were read and not read', async () => {
  await using world = await open()
  const { control, source, clock } = world
  await world.night(staff(20))
  clock.now = new Date('2026-11-21T03:00:00.000Z')
  source.headers = [...headers, 'Salary']
  const held = await world.night(staff(3))
  await control.rejectRun({ params: { runId: held.id }, body: { reason: 'the export was cut off' } })

  const { data } = await control.listSources({ query: { connection: 'acme' } })
  const pages = await control.listSources({ query: { limit: 1 } })
  const detail = await control.getSource({ params: { runId: held.id } })

  expect(data).toMatchObject([
    { runId: held.id, outcome: 'refused', reason: 'the export was cut off', rows: 3, rejected: 0 },
    { outcome: 'accepted', reason: null, rows: 20, records: 20 },
  ])
  expect([pages.data.length, pages.next === null]).toEqual([1, false])
  expect(detail.header).toMatchObject({
    mapped: expect.arrayContaining([{ field: 'identityId', column: 'Worker ID' }]),
    left: ['Salary'],
  })
})

test('an export whose header is not understood stores none of its columns', async () => {
  await using world = await open()
  const { control, source } = world
  source.headers = ['E0001', 'ana@acme.example', 'Ana', '', '', '', '']

  const run = await world.night(staff(3))
  const detail = await control.getSource({ params: { runId: run.id } })

  expect(detail.header).toBeNull()
  expect(JSON.stringify(await world.sync.store.db.selectFrom('source_headers').selectAll().execute())).toBe('[]')
})
