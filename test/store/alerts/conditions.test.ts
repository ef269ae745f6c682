import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { createToken } from '../../../src/store/access/tokens.ts'
import type { Freshness } from '../../../src/store/alerts/condition.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { blockConnection } from '../../../src/store/connections/connections.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { databases, emptyTables, type TestDatabase } from '../../helpers/servers/databases.ts'
import { storeBatch, storeRun } from '../../helpers/stored-runs.ts'

const now = new Date('2026-11-20T12:00:00.000Z')
const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000)

describe.each(databases)('conditions on $name', ({ createDatabase }) => {
  let at: TestDatabase
  let store: Database<StoreSchema>
  beforeAll(async () => {
    at = await createDatabase()
    store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await at[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await emptyTables(store, 'rollcall')
    for (const name of ['acme', 'beta']) await ensureConnection(store.db, name)
  })

  const look = (connections: readonly string[] = ['acme', 'beta'], freshness: readonly Freshness[] = []) =>
    conditions(store.db, {
      connections,
      overdueMinutes: 60,
      pausedHours: 24,
      maxLeaverHours: new Map(),
      freshness,
      now,
    })
  const run = (options: Parameters<typeof storeRun>[1]) => storeRun(store.db, options)
  const batch = (options: Parameters<typeof storeBatch>[1]) => storeBatch(store.db, options)
  const block = (connection: string) =>
    blockConnection(store.db, {
      connection,
      status: 401,
      code: 'key_refused',
      reason: 'the platform does not accept the API key (401)',
      now: ago(5),
      probeAt: ago(-10),
    })

  test('a healthy store has none', async () => {
    await run({ state: 'finished', at: ago(600) })
    const delivering = await run({ state: 'delivering', at: ago(1) })
    await batch({ runId: delivering, batch: 1, people: { E1: 'leave' }, dueAt: ago(1) })

    const current = await look()

    expect(current).toEqual([])
  })

  test('a blocked connection is one, with its reason and the people who wait', async () => {
    const runId = await run({ state: 'delivering', at: ago(10) })
    await batch({ runId, batch: 1, people: { E1: 'leave', E3: 'correct' }, dueAt: ago(-10) })
    await batch({ runId, batch: 3, people: { E2: 'update' }, dueAt: ago(-10) })
    await batch({ runId, batch: 2, people: { E4: 'leave' }, dueAt: ago(-10), state: 'done' })
    await block('acme')

    const current = await look()

    expect(current).toEqual([
      {
        connection: 'acme',
        kind: 'blocked',
        code: 'key_refused',
        reason: 'the platform does not accept the API key (401)',
        since: ago(5),
        people: 3,
        leavers: 2,
        runId: null,
      },
    ])
  })

  test.each(['delete', 'session', 'update'])(
    'the leavers among records that wait in a batch of the kind "%s" are counted',
    async (kind) => {
      const runId = await run({ state: 'delivering', at: ago(10) })
      await batch({ runId, batch: 1, kind, people: { E1: 'leave', E2: 'join' }, dueAt: ago(-10) })
      await block('acme')

      const current = await look()

      expect(current).toMatchObject([{ kind: 'blocked', people: 2, leavers: 1 }])
    },
  )

  test('a connection that is no longer configured counts only while a run of it is blocked', async () => {
    await run({ connection: 'acme', state: 'delivering', at: ago(10) })
    await run({ connection: 'beta', state: 'failed', at: ago(10) })
    await block('acme')
    await block('beta')

    const current = await look([])

    expect(current).toMatchObject([{ connection: 'acme', kind: 'blocked' }])
  })

  test('deliveries that fail for longer than the limit are one, with the failure of the oldest', async () => {
    const runId = await run({ state: 'delivering', at: ago(300) })
    const failing = { runId, dueAt: ago(-30), lastCode: 'server_error', lastFailure: 'the platform answers 503' }
    await batch({ ...failing, batch: 1, people: { E1: 'leave', E2: 'leave' }, failingSince: ago(61) })
    await batch({
      ...failing,
      batch: 2,
      people: { E3: 'update' },
      failingSince: ago(120),
      lastFailure: 'the platform answers 500',
    })
    await batch({ ...failing, batch: 3, people: { E4: 'leave' }, failingSince: ago(59) })

    const current = await look()

    expect(current).toEqual([
      {
        connection: 'acme',
        kind: 'overdue',
        code: 'server_error',
        reason: '3 people (2 leavers) could not be delivered for more than 60 minutes: the platform answers 500',
        since: ago(120),
        people: 3,
        leavers: 2,
        runId,
      },
    ])
  })

  test('batches that nobody claims are overdue too, and claimed ones are not', { tags: ['full'] }, async () => {
    const runId = await run({ state: 'delivering', at: ago(300) })
    await batch({ runId, batch: 1, people: { E1: 'leave' }, dueAt: ago(90) })
    await batch({ runId, batch: 2, people: { E2: 'leave' }, dueAt: ago(90), lease: 7 })

    const current = await look()

    expect(current).toMatchObject([
      {
        kind: 'overdue',
        code: null,
        reason: '1 person (1 leaver) could not be delivered for more than 60 minutes: no worker has picked them up',
        since: ago(90),
        people: 1,
      },
    ])
  })

  test('the rest of a cancelled run is not overdue', async () => {
    const runId = await run({ state: 'cancelled', at: ago(300) })
    await batch({ runId, batch: 1, people: { E1: 'leave' }, dueAt: ago(90), failingSince: ago(90) })

    const current = await look()

    expect(current).toEqual([])
  })

  test('a held run is one, with the guards that hold it and its people', async () => {
    const guards = [
      { name: 'zeroRows', ok: true },
      { name: 'shrinkRows', ok: false },
      { name: 'leavers', ok: false },
    ]
    const runId = await run({
      state: 'held',
      at: ago(20),
      guards,
      counts: { join: 1, leave: 9, correct: 2, unchanged: 70, rejected: 3 },
      reason: 'leavers: 9 of 40 people would be separated; the limit is 5',
    })

    const current = await look()

    expect(current).toEqual([
      {
        connection: 'acme',
        kind: 'held',
        code: 'leavers,shrinkRows',
        reason: 'a run waits for an approval: leavers: 9 of 40 people would be separated; the limit is 5',
        since: ago(20),
        people: 12,
        leavers: 11,
        runId,
      },
    ])
  })

  test('several held runs are one condition: since the oldest, about the newest', async () => {
    await run({ state: 'held', at: ago(200), counts: { leave: 9 }, reason: 'leavers: many' })
    const newest = await run({
      state: 'held',
      feed: 'webhook',
      at: ago(20),
      counts: { retract: 1 },
      reason: 'retractions: 1',
    })

    const current = await look()

    expect(current).toMatchObject([
      {
        kind: 'held',
        reason: '2 runs wait for an approval; the newest: retractions: 1',
        since: ago(200),
        people: 10,
        leavers: 9,
        runId: newest,
      },
    ])
  })

  test.each([
    ['is soon over', -24 * 60, 'expiring', 'can be approved until 2026-11-21 12:00 UTC only'],
    ['is over', 30, 'expired', 'expired 2026-11-20 11:30 UTC and can no longer be approved: run again'],
  ] as const)('a held run whose time %s is one more', async (_what, minutes, code, reason) => {
    const heldAt = ago(minutes + 72 * 60)
    const runId = await run({ state: 'held', at: heldAt, counts: { leave: 9 }, expiresAt: ago(minutes) })
    await run({ connection: 'beta', state: 'held', at: ago(0), expiresAt: ago(-72 * 60) })

    const current = await look()

    expect(current.filter(({ kind }) => kind === 'expiring')).toEqual([
      {
        connection: 'acme',
        kind: 'expiring',
        code,
        reason: `the plan of a held run ${reason}`,
        since: ago(minutes + 24 * 60),
        people: 9,
        leavers: 9,
        runId,
      },
    ])
  })

  test('a plan that can be approved for an hour is expiring in its last twenty minutes', {
    tags: ['full'],
  }, async () => {
    const kinds = async (minutesLeft: number) => {
      await store.db.deleteFrom('runs').execute()
      await run({ state: 'held', at: ago(60 - minutesLeft), expiresAt: ago(-minutesLeft) })
      return (await look()).map(({ kind }) => kind)
    }

    expect([await kinds(21), await kinds(20)]).toEqual([['held'], ['held', 'expiring']])
  })

  test('a failed run is one until the source has been read again, whatever happened to that plan', async () => {
    const failed = { state: 'failed', failure: 'source_unreachable', reason: 'cannot reach hr.example' }
    await run({ ...failed, at: ago(3000) })
    await run({ state: 'finished', at: ago(2000) })
    await run({ ...failed, at: ago(200) })
    const newest = await run({ ...failed, at: ago(100), failure: 'source_unreadable', reason: 'people.csv: no rows' })
    const whileFailing = await look()
    await run({ state: 'held', at: ago(10), reason: 'leavers: many' })

    const afterwards = await look()

    expect(whileFailing).toEqual([
      {
        connection: 'acme',
        kind: 'run_failed',
        code: 'source_unreadable',
        reason: '2 runs failed, one after the other: people.csv: no rows',
        since: ago(200),
        people: null,
        leavers: null,
        runId: newest,
      },
    ])
    expect(afterwards.map(({ kind }) => kind)).toEqual(['held'])
  })

  test.each([
    ['a run of events', { feed: 'webhook', state: 'finished' }],
    ['a run that was cancelled before it read anything', { state: 'cancelled', digest: null }],
    ['a retraction', { state: 'finished', options: { retract: { identityId: 'E1', reason: 'x', by: 'ana' } } }],
  ] as const)('%s does not make up for a source that could not be read', async (_case, later) => {
    await run({ state: 'failed', at: ago(200) })
    await run({ at: ago(100), ...later })

    const current = await look()

    expect(current).toMatchObject([{ kind: 'run_failed', since: ago(200) }])
  })

  test('a read of the source ends the condition of a failed verification, but not vice versa', {
    tags: ['full'],
  }, async () => {
    await run({ connection: 'acme', feed: 'roster', state: 'failed', at: ago(200) })
    await run({ connection: 'acme', feed: 'source', state: 'unchanged', at: ago(100) })
    await run({ connection: 'beta', feed: 'source', state: 'failed', at: ago(200) })
    await run({ connection: 'beta', feed: 'roster', state: 'unchanged', at: ago(100) })

    const current = await look()

    expect(current).toMatchObject([{ connection: 'beta', kind: 'run_failed' }])
  })

  test('refused leavers are one; other refused people are only in the list of problems', async () => {
    const runId = await run({ state: 'finished_with_problems', at: ago(500) })
    const problem = { connection: 'acme', run_id: runId, status: 400, message: 'no', last_at: ago(1), times: 3 }
    await store.db
      .insertInto('problems')
      .values([
        { ...problem, identity_id: 'E1', kind: 'leave', first_at: ago(400) },
        { ...problem, identity_id: 'E2', kind: 'correct', first_at: ago(500) },
        { ...problem, identity_id: 'E3', kind: 'update', first_at: ago(900) },
        { ...problem, identity_id: 'E4', kind: 'update', first_at: ago(900), connection: 'beta' },
      ])
      .execute()

    const current = await look()

    expect(current).toEqual([
      {
        connection: 'acme',
        kind: 'problems',
        code: null,
        reason: 'the platform refuses the leaving dates of 2 people',
        since: ago(500),
        people: 2,
        leavers: 2,
        runId: null,
      },
    ])
  })

  test('people with unreadable rows who may have left are one, and nobody else', async () => {
    const runId = await run({ state: 'finished', at: ago(500) })
    const fault = {
      ...{
        connection: 'acme',
        line: 2,
        reason: 'not a date',
        cell_only: true,
        may_leave: true,
        times: 1,
        is_blocking: true,
      },
      ...{ accepted_times: 1, run_id: runId, last_at: ago(1) },
    }
    await store.db
      .insertInto('known_faults')
      .values([
        { ...fault, fingerprint: 'a', identity_id: 'E1', first_at: ago(400) },
        { ...fault, fingerprint: 'b', identity_id: 'E2', first_at: ago(300) },
        { ...fault, fingerprint: 'c', identity_id: 'E2', first_at: ago(200) },
        { ...fault, fingerprint: 'd', identity_id: 'E3', first_at: ago(900), may_leave: false },
        { ...fault, fingerprint: 'e', identity_id: 'E4', first_at: ago(900), accepted_times: 0 },
        { ...fault, fingerprint: 'f', identity_id: null, first_at: ago(900) },
        { ...fault, fingerprint: 'g', identity_id: 'E5', first_at: ago(900), may_leave: false, connection: 'beta' },
      ])
      .execute()

    const current = await look()

    expect(current).toEqual([
      {
        connection: 'acme',
        kind: 'blockedPeople',
        code: ago(200).toISOString(),
        reason: '2 people may have left, and the platform does not know',
        since: ago(400),
        people: 2,
        leavers: 2,
        runId: null,
      },
    ])
  })

  test('people whom only the platform knows are one, until HR states them or they have left there', async () => {
    const listed = { connection: 'acme', is_separated: false, last_at: ago(10) }
    await store.db
      .insertInto('foreign_people')
      .values([
        { ...listed, identity_id: 'E1', first_at: ago(400) },
        { ...listed, identity_id: 'E2', first_at: ago(300) },
        { ...listed, identity_id: 'E3', first_at: ago(200), is_separated: true },
        { ...listed, identity_id: 'E1', first_at: ago(900), connection: 'beta' },
      ])
      .execute()
    const before = await look()
    await store.db
      .updateTable('connections')
      .set({ accepted_as_of: ago(5) })
      .where('name', '=', 'acme')
      .execute()

    const current = await look()
    const person = { connection: 'acme', inferred: false, absences: 0, as_of: now }
    await store.db
      .insertInto('roster')
      .values({ ...person, identity_id: 'E2', desired: '{"identityId":"E2"}' })
      .execute()
    const later = await look()

    expect(before).toEqual([])
    expect(current).toEqual([
      {
        connection: 'acme',
        kind: 'foreign',
        code: ago(300).toISOString(),
        reason: 'no accepted export states 2 people whom the platform takes for employed: they may have left',
        since: ago(400),
        people: 2,
        leavers: null,
        runId: null,
      },
    ])
    expect(later).toMatchObject([{ code: ago(400).toISOString(), people: 1 }])
  })

  test('people who may have left by an unreadable event are one, until it is retried or dismissed', async () => {
    const runId = await run({ feed: 'webhook', state: 'finished', at: ago(30) })
    const event = { connection: 'acme', run_id: runId, received_at: ago(40), body: Buffer.from('{}') }
    const added = await store.db
      .insertInto('inbox')
      .values([
        { ...event, dedup_key: 'a', state: 'rejected' },
        { ...event, dedup_key: 'b', state: 'rejected' },
        { ...event, dedup_key: 'c', state: 'dismissed' },
      ])
      .returning('id')
      .execute()
    const fault = { run_id: runId, line: 1, reason: 'not a date', cell_only: true, fingerprint: 'a' }
    const faults = added.map(({ id }, index) => ({
      ...fault,
      event: String(id),
      identity_id: `E${index}`,
      may_leave: index !== 1,
    }))
    await store.db.insertInto('rejects').values(faults).execute()

    const current = await look()
    await store.db.updateTable('inbox').set({ state: 'dismissed' }).execute()

    expect(current).toMatchObject([
      { connection: 'acme', kind: 'blockedPeople', since: ago(40), people: 1, leavers: 1 },
    ])
    expect(await look()).toEqual([])
  })

  describe('a source', () => {
    const fresh = (overrides: Partial<Freshness> = {}): Freshness[] => [
      { connection: 'acme', readSince: ago(600), asOfSince: ago(2000), acceptsUnchanged: false, ...overrides },
    ]
    const stale = async (overrides: Partial<Freshness> = {}) =>
      (await look(['acme', 'beta'], fresh(overrides))).filter(({ kind }) => kind === 'stale')
    const slotTaken = (minutes: number, slot = '2026-11-10T02:00:00') =>
      store.db
        .insertInto('slots')
        .values({ connection: 'acme', slot, taken_at: ago(minutes) })
        .execute()

    test.each(['finished', 'unchanged', 'held', 'rejected', 'delivering'])(
      'that was read in time is not stale, whatever became of the plan: %s',
      async (state) => {
        await run({ state, at: ago(590), asOf: ago(700) })

        expect(await stale()).toEqual([])
      },
    )

    test('that was last read too long ago is one, since then', async () => {
      await run({ state: 'finished', at: ago(2000), asOf: ago(2100) })
      await run({ state: 'unchanged', at: ago(700), asOf: ago(800) })
      await run({ state: 'finished', feed: 'webhook', at: ago(1) })
      await run({ state: 'finished', feed: 'roster', at: ago(1) })

      expect(await stale()).toEqual([
        {
          connection: 'acme',
          kind: 'stale',
          code: 'not_read',
          reason: 'HR was last read 2026-11-20 00:20 UTC',
          since: ago(800),
          people: null,
          leavers: null,
          runId: null,
        },
      ])
    })

    test('with the same old export every night is one', async () => {
      await run({ state: 'finished', at: ago(2100), asOf: ago(2200) })
      await run({ state: 'unchanged', at: ago(10), asOf: ago(2200) })

      expect(await stale()).toMatchObject([
        {
          code: 'old_export',
          reason: 'the newest export that HR gave is of 2026-11-18 23:20 UTC; it was read again 2026-11-20 11:50 UTC',
          since: ago(2200),
        },
      ])
      expect(await stale({ asOfSince: null })).toEqual([])
    })

    test('without news counts as read only if that is usual', async () => {
      await run({ state: 'finished', at: ago(1000), asOf: ago(1000) })
      await run({ state: 'unchanged', at: ago(10) })

      expect(await stale()).toMatchObject([{ code: 'not_read' }])
      expect(await stale({ acceptsUnchanged: true, asOfSince: null })).toEqual([])
    })

    test('that could not be read has its own alert, and no second one', async () => {
      await run({ state: 'finished', at: ago(1000), asOf: ago(1000) })
      await run({ state: 'failed', at: ago(500) })

      const current = await look(['acme'], fresh())

      expect(current.map(({ kind }) => kind)).toEqual(['run_failed'])
    })

    test('that was never read is one from the second slot of its schedule', async () => {
      const before = await stale()
      await slotTaken(590)
      const first = await stale()
      await slotTaken(3000, '2026-11-09T02:00:00')

      const later = await stale()

      expect([before, first]).toEqual([[], []])
      expect(later).toMatchObject([
        { code: 'never_read', reason: 'HR was never read, although a schedule has existed since 2026-11-18 10:00 UTC' },
      ])
    })

    test('that was never read and has only a schedule for verifying is none', { tags: ['full'] }, async () => {
      await slotTaken(3000, 'verify 2026-11-10T02:00:00')
      await slotTaken(3000, 'sample 2026-11-10T02:00:00')

      expect(await stale()).toEqual([])
    })
  })

  describe('an identity system', () => {
    const hour = 60
    const token = async (name: string, { used, revoked, expires }: Record<string, Date | null> = {}) => {
      const made = { name, connection: 'acme', expiresAt: expires ?? null, by: 'ops', now: ago(900 * hour) }
      await createToken(store.db, { ...made, role: 'scim' })
      await store.db
        .updateTable('access_tokens')
        .set({ last_used_at: used ?? null, revoked_at: revoked ?? null })
        .where('name', '=', name)
        .execute()
    }
    const stale = async () => {
      const pushed = [{ connection: 'acme', requestedSince: ago(168 * hour) }]
      const settings = { connections: ['acme'], overdueMinutes: 60, pausedHours: 24, maxLeaverHours: new Map() }
      return await conditions(store.db, { ...settings, freshness: [], pushed, now })
    }

    test('that nobody gave a token, or that was here within the time, is none', async () => {
      const unused = await stale()
      await token('old', { used: ago(300 * hour), revoked: ago(200 * hour) })
      await token('new', { used: ago(167 * hour) })

      expect([unused, await stale()]).toEqual([[], []])
    })

    test('that was silent for too long is one', async () => {
      await token('okta', { used: ago(169 * hour) })

      expect(await stale()).toMatchObject([
        {
          ...{ connection: 'acme', kind: 'stale', code: 'not_pushed', since: ago(169 * hour) },
          reason: 'the identity system was last here 2026-11-13 11:00 UTC; look whether it still pushes',
        },
      ])
    })

    test('whose last token has ended is one at once', async () => {
      await token('revoked', { used: ago(2), revoked: ago(100 * hour) })
      await token('expired', { used: ago(2), expires: ago(1) })

      expect(await stale()).toMatchObject([
        {
          ...{ kind: 'stale', code: 'no_token', since: ago(1) },
          reason: expect.stringContaining('has had no valid token since 2026-11-20 11:59 UTC'),
        },
      ])
    })
  })
})
