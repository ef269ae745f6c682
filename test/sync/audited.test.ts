import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditKey, newKeyPem, Signing } from '../../src/store/audit/key.ts'
import type { Db } from '../../src/store/schema.ts'
import {
  approveRun,
  cancelRun,
  classifyValue,
  rejectRun,
  requestRun,
  restorePerson,
  retractPerson,
  unblock,
} from '../../src/sync/sync.ts'
import { type Host, openWorld, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

type Entry = { readonly act: string; readonly [name: string]: unknown }

/** The actions of operators, in their order. */
async function actsOfPeople(db: Db): Promise<Entry[]> {
  return (await allActs(db)).filter(({ by }) => by === 'Ada')
}

async function allActs(db: Db): Promise<Entry[]> {
  const rows = await db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  return rows.map(({ entry }): Entry => JSON.parse(entry))
}

test('the audit trail has each action of an operator with its run, person, digest and reason', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const by = 'Ada'
  const acme = { connection: 'acme', by }
  await world.night(staff(40))
  const first = await world.night(without(staff(40), ...staff(10).map(({ id }) => id)))
  await approveRun(world.sync, { runId: first.id, digest: first.digest ?? '', by, reason: 'as HR said' })
  await world.drain()
  const second = await world.night([])
  await rejectRun(world.sync, { runId: second.id, by, reason: 'it is empty' })
  const retraction = await retractPerson(world.sync, { ...acme, identityId: 'E0040', reason: 'a test account' })
  await approveRun(world.sync, { runId: retraction.id, digest: retraction.digest ?? '', by })
  await world.drain()
  const restored = await restorePerson(world.sync, { ...acme, identityId: 'E0040' })
  await cancelRun(world.sync, { runId: restored.id, by })
  await classifyValue(world.sync, { ...acme, value: 'Sabbatical', meaning: 'employed' })
  const third = await requestRun(world.sync, { ...acme, trigger: 'operator', options: { full: true } })
  await db
    .updateTable('connections')
    .set({ blocked_status: 401, blocked_at: world.clock.now })
    .where('name', '=', 'acme')
    .execute()
  await unblock(world.sync, acme)

  const acts = await actsOfPeople(db)

  const at = { id: expect.any(String), at: expect.stringMatching(/^2026-11-20T03:.*Z$/), ...acme }
  const person = { identityId: 'E0040' }
  expect(acts).toEqual([
    { ...at, act: 'run.approved', runId: first.id, details: { digest: first.digest, reason: 'as HR said' } },
    { ...at, act: 'run.rejected', runId: second.id, details: { digest: second.digest, reason: 'it is empty' } },
    { ...at, act: 'retraction.requested', runId: retraction.id, ...person, details: { reason: 'a test account' } },
    { ...at, act: 'run.approved', runId: retraction.id, details: { digest: retraction.digest } },
    { ...at, act: 'retraction.undone', ...person },
    { ...at, act: 'run.requested', runId: restored.id, details: { feed: 'source' } },
    { ...at, act: 'run.cancelled', runId: restored.id, details: {} },
    {
      ...at,
      act: 'value.classed',
      details: { field: 'status', value: expect.stringMatching(/sabbatical/i), meaning: 'employed' },
    },
    { ...at, act: 'run.requested', runId: third.id, details: { feed: 'source', full: true } },
    { ...at, act: 'connection.unblocked' },
  ])
})

test('a refused action leaves no audit entry', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const run = await world.night(staff(3))

  await expect(rejectRun(world.sync, { runId: run.id, by: 'Ada' })).rejects.toThrow('is finished, not held')
  await expect(restorePerson(world.sync, { connection: 'acme', identityId: 'E0001', by: 'Ada' })).rejects.toThrow(
    'no retracted person',
  )

  expect(await actsOfPeople(world.sync.store.db)).toEqual([])
})

test('the audit trail has what a night read and planned, each leaver with what was sent, and joiners by batch', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { store } = world.sync
  const key = auditKey(newKeyPem(), 'the key of the test')
  Object.assign(world.sync, { store: { ...store, db: store.db.withPlugin(new Signing(key)) } })
  const joined = await world.night(staff(3))
  const departureRun = await world.night(without(staff(3), 'E0002'))
  const held = await world.night([])
  await world.night(without(staff(3), 'E0002'), { asOf: '2026-11-20T02:00:00.000Z' })

  const acts = await allActs(store.db)

  const ofRun = (runId: string) =>
    acts.filter((act) => act.runId === runId).map(({ act, identityId, details }) => ({ act, identityId, details }))
  const planned = {
    act: 'run.planned',
    details: expect.objectContaining({ source: 'people.csv', version: expect.anything() }),
  }
  const requested = { act: 'run.requested', details: { feed: 'source' } }
  expect(ofRun(joined.id)).toMatchObject([
    requested,
    { ...planned, details: { rows: 3, counts: { join: 3 }, digest: joined.digest } },
    { act: 'run.passed', details: { digest: joined.digest, batches: 1 } },
    { act: 'batch.delivered', details: { batch: 1, people: ['E0001', 'E0002', 'E0003'], refused: [] } },
    { act: 'statement.made', details: { addsUp: true, exported: 3, records: 3, keys: expect.any(String) } },
    { act: 'run.finished', details: { confirmed: 3, problems: 0 } },
  ])
  const [record] = await store.db.selectFrom('changes').select('record').where('run_id', '=', departureRun.id).execute()
  expect(ofRun(departureRun.id)).toMatchObject([
    requested,
    planned,
    { act: 'run.passed' },
    {
      act: 'change.delivered',
      identityId: 'E0002',
      details: {
        kind: 'leave',
        outcome: 'confirmed',
        status: 200,
        sent: key.digest('record', JSON.stringify(record?.record)),
      },
    },
    { act: 'statement.made' },
    { act: 'run.finished' },
  ])
  expect(ofRun(held.id)).toMatchObject([
    requested,
    planned,
    { act: 'run.held', details: { failed: expect.arrayContaining(['zeroRows']) } },
    { act: 'run.superseded' },
  ])
  expect(JSON.stringify(acts)).not.toMatch(/e[123]@acme|Person [123]|Engineer/)
})
