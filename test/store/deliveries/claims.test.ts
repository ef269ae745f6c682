import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { compareKeys } from '../../../src/identity/digest.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { claimDelivery, stillHolds, storeStep } from '../../../src/store/deliveries/claim.ts'
import { dueDeliveries } from '../../../src/store/deliveries/due.ts'
import { type AttemptEnd, closeRun, endAttempt, runsToClose } from '../../../src/store/deliveries/end.ts'
import { deleteAnsweredOf, recordOutcomes } from '../../../src/store/deliveries/outcomes.ts'
import { pendingChanges } from '../../../src/store/deliveries/pending.ts'
import { endedTakeovers } from '../../../src/store/deliveries/uncertain.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { commitPlan, dropPlan, stagePeople } from '../../../src/store/plans/plans.ts'
import { uncertainKeys } from '../../../src/store/roster/roster.ts'
import { claimRun, dueRuns } from '../../../src/store/runs/claims.ts'
import { addWaitingRun, ensureConnection, getRun, setRunState } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { type Lease, releaseAbandoned, takeLease, workingOn } from '../../../src/store/workers/leases.ts'
import { databases } from '../../helpers/servers/databases.ts'

const now = new Date('2026-11-20T03:00:00.000Z')

describe.each(databases)('claims on $name', ({ createDatabase }) => {
  async function open() {
    await using opening = new AsyncDisposableStack()
    const { at } = opening.use(await createDatabase())
    const store = opening.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
    const me = opening.use(await takeLease(store))
    await ensureConnection(store.db, 'acme')
    const opened = opening.move()
    return { store, db: store.db, me, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  }

  type Opened = Awaited<ReturnType<typeof open>>

  const wait = ({ db }: Opened): Promise<string> =>
    addWaitingRun(db, { connection: 'acme', feed: 'source', trigger: 'operator', options: {}, now })

  /** A run with one due batch. */
  async function delivering(opened: Opened): Promise<string> {
    const { db, me } = opened
    const runId = await wait(opened)
    await claimRun(db, { id: runId, lease: me, now })
    const record = { identityId: 'E1', firstName: 'Ana' }
    await stagePeople(db, runId, [
      {
        identityId: 'E1',
        entry: {
          desired: record,
          inferred: false,
          deferredTo: null,
          clearedDate: null,
          deferredZone: null,
          heldDeparture: null,
          isByOperator: false,
          asOf: now.toISOString(),
          employmentAsOf: null,
          exportIsSilent: false,
          fieldTimes: null,
          absences: 0,
        },
        change: { kind: 'join', identityId: 'E1', record, fields: {}, inferred: false, carried: false },
        origin: { file: 'people.csv', line: 2 },
      },
    ])
    await setRunState(db, { id: runId, to: 'planned', now })
    await setRunState(db, { id: runId, to: 'delivering', now })
    await commitPlan(db, {
      runId,
      connection: 'acme',
      limits: { batchSize: 10, batchBytes: 1000 },
      speaksOfAbsent: true,
      now,
    })
    return runId
  }

  const outcome = {
    identityId: 'E1',
    state: 'confirmed',
    holds: 'desired',
    answer: { status: 201 },
  } as const

  const batchOutcome = { people: [outcome], sentAt: now, answeredAt: now, leavers: [], auditEntries: [] }

  const ended: AttemptEnd = {
    batchOutcome: null,
    requests: 1,
    dueAt: now,
    failure: null,
    as: 'completed',
    completed: [],
    progressed: true,
    uncertain: false,
    now,
  }

  /** As a process that the system has stopped: its sessions stay, and it gives no sign. */
  const standStill = async ({ db }: Opened, { id }: Lease): Promise<void> => {
    await sql`update leases set seen_at = now() - interval '61 seconds' where id = ${id}`.execute(db)
  }

  test('a request that arrives while a run waits joins it and adds its options', async () => {
    await using opened = await open()
    const { db } = opened
    const first = await addWaitingRun(db, {
      connection: 'acme',
      feed: 'source',
      trigger: 'schedule',
      options: { verify: true },
      now,
    })

    const second = await addWaitingRun(db, {
      connection: 'acme',
      feed: 'source',
      trigger: 'operator',
      options: { full: true },
      now,
    })

    expect(second).toBe(first)
    expect((await getRun(db, first))?.options).toEqual({ verify: true, full: true })
  })

  test('one of many concurrent claims gets a run', async () => {
    await using opened = await open()
    const { db, me } = opened
    const id = await wait(opened)

    const claims = await Promise.all(Array.from({ length: 8 }, () => claimRun(db, { id, lease: me, now })))

    expect(claims.filter(Boolean)).toHaveLength(1)
  })

  test('a waiting run cannot be claimed while another run of the connection is active', async () => {
    await using opened = await open()
    const { db, me } = opened
    await claimRun(db, { id: await wait(opened), lease: me, now })
    const second = await wait(opened)

    const claim = await claimRun(db, { id: second, lease: me, now })

    expect(claim).toBeNull()
    expect(await dueRuns(db)).toEqual([])
  })

  test('the work of an ended process is due at once, under another job id', async () => {
    await using opened = await open()
    const { db, store } = opened
    const runId = await delivering(opened)
    const dead = await takeLease(store)
    await claimDelivery(db, { runId, batch: 1, lease: dead, now })
    const whileAlive = await dueDeliveries(db, { now })
    await dead[Symbol.asyncDispose]()

    const afterwards = await dueDeliveries(db, { now })

    expect(whileAlive).toEqual([])
    expect(afterwards).toMatchObject([{ runId, batch: 1, kind: 'upsert', jobId: `${runId}-1-1` }])
  })

  test('the rest of a run with more than four batches is distinguished from that of a smaller one', async () => {
    await using opened = await open()
    const { db } = opened
    const runId = await delivering(opened)
    const few = await dueDeliveries(db, { now })
    await sql`
      insert into deliveries (run_id, batch, kind, state, due_at, people)
      select ${runId}, batch, 'upsert', 'done', ${now}, 0 from generate_series(2, 5) batch`.execute(db)

    const many = await dueDeliveries(db, { now })
    const ofOthers = await dueDeliveries(db, { now, connection: 'globex' })

    expect(few).toMatchObject([{ batch: 1, isLong: false }])
    expect(many).toMatchObject([{ batch: 1, isLong: true }])
    expect(ofOthers).toEqual([])
  })

  test('a slower, older attempt can neither send a step nor write an outcome', async () => {
    await using opened = await open()
    const { db, me, store } = opened
    const runId = await delivering(opened)
    const dead = await takeLease(store)
    const older = await claimDelivery(db, { runId, batch: 1, lease: dead, now })
    await dead[Symbol.asyncDispose]()
    const newer = await claimDelivery(db, { runId, batch: 1, lease: me, now })
    if (!older || !newer) throw new Error('both claims were meant to succeed')

    const late = [
      await storeStep(db, older, { identityIds: ['E1'], step: 'clearing' }),
      await recordOutcomes(db, older, {
        people: [{ ...outcome, state: 'problem' }],
        sentAt: now,
        answeredAt: now,
        leavers: [],
        auditEntries: [],
      }),
      await stillHolds(db, older),
      await endAttempt(db, older, ended),
      await endAttempt(db, older, { ...ended, batchOutcome }),
    ]
    const end = await endAttempt(db, newer, { ...ended, batchOutcome })

    expect(late).toEqual([false, false, false, null, null])
    expect(end).toMatchObject({ remaining: 0, people: 1, confirmed: 1, refused: 0, isBlocked: false })
    expect(await runsToClose(db)).toEqual([{ runId, connection: 'acme' }])
    expect(await Promise.all([1, 2, 3].map(() => closeRun(db, runId, now)))).toContain(true)
    expect(await closeRun(db, runId, now)).toBe(false)
    expect(await getRun(db, runId)).toMatchObject({ state: 'finished', confirmed: 1, problems: 0 })
  })

  test('a batch that another attempt of this process works on is not claimed twice', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)

    const claims = await Promise.all([1, 2, 3].map(() => claimDelivery(db, { runId, batch: 1, lease: me, now })))

    expect(claims.filter(Boolean)).toHaveLength(1)
  })

  describe('a batch that is attempted ten times within five minutes', () => {
    const at = (seconds: number) => new Date(now.getTime() + seconds * 1000)

    async function conditionsAt({ db }: Opened, seconds: number) {
      const settings = {
        connections: ['acme'],
        overdueMinutes: 60,
        pausedHours: 24,
        freshness: [],
        maxLeaverHours: new Map(),
      }
      const current = await conditions(db, { ...settings, now: at(seconds) })
      return current.map(({ kind, reason, runId, people, since }) => ({ kind, reason, runId, people, since }))
    }

    /** A process that has lost its lock takes its own batch from itself. */
    async function attempt({ db, me }: Opened, runId: string, seconds: number) {
      await sql`update deliveries set lease = null`.execute(db)
      return await claimDelivery(db, { runId, batch: 1, lease: me, now: at(seconds) })
    }

    test('is a condition as long as no attempt finishes', async () => {
      await using opened = await open()
      const { db } = opened
      const runId = await delivering(opened)

      for (let nth = 0; nth < 9; nth++) await attempt(opened, runId, nth * 30)
      const nine = await conditionsAt(opened, 270)
      const tenth = await attempt(opened, runId, 299)
      const ten = await conditionsAt(opened, 300)
      const later = await conditionsAt(opened, 700)
      if (tenth) await endAttempt(db, tenth, { ...ended, as: 'paused', dueAt: at(301), progressed: false })
      const waiting = await conditionsAt(opened, 301)

      expect([nine, later, waiting]).toEqual([[], [], []])
      expect(ten).toEqual([
        {
          kind: 'repeated',
          reason: 'a batch was attempted 10 times within 5 minutes, and no attempt came to its end',
          runId,
          people: 1,
          since: now,
        },
      ])
    })

    test('is none if the attempts failed one after the other, even with short pauses', async () => {
      await using opened = await open()
      const { db } = opened
      const runId = await delivering(opened)

      for (let nth = 0; nth < 10; nth++) {
        const claim = await attempt(opened, runId, nth * 30)
        if (claim) await endAttempt(db, claim, { ...ended, as: 'failed', dueAt: at(nth * 30), progressed: false })
      }

      expect(await conditionsAt(opened, 271)).toEqual([])
    })

    test('is none if the clock was set back between attempts that are far apart', async () => {
      await using opened = await open()
      const runId = await delivering(opened)

      for (let nth = 0; nth < 9; nth++) await attempt(opened, runId, nth * 600)
      await attempt(opened, runId, 0)

      expect(await conditionsAt(opened, 1)).toEqual([])
    })
  })

  test('a batch is not claimed before its time', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)
    const claim = await claimDelivery(db, { runId, batch: 1, lease: me, now })
    const dueAt = new Date(now.getTime() + 1000)
    if (claim) await endAttempt(db, claim, { ...ended, as: 'failed', dueAt, progressed: false })

    const early = await claimDelivery(db, { runId, batch: 1, lease: me, now })
    const inTime = await claimDelivery(db, { runId, batch: 1, lease: me, now: dueAt })

    expect(early).toBeNull()
    expect(inTime).toMatchObject({ attempt: 2, failures: 1 })
  })

  test('the remaining changes of a free batch are read with the claim; of one taken over, or of a blocked connection, when needed', async () => {
    await using opened = await open()
    const { db, me, store } = opened
    const runId = await delivering(opened)
    await sql`
      insert into changes (run_id, identity_id, kind, record, separated_at, step, batch, state) values
        (${runId}, 'E3', 'join', '{"identityId":"E3","firstName":"\\n,"}', null, null, 1, 'due'),
        (${runId}, 'E2', 'correct', '{"identityId":"E2"}', '2026-11-01T00:00:00.000Z', 'cleared', 1, 'due'),
        (${runId}, 'E4', 'retract', null, null, null, 1, 'due'),
        (${runId}, 'E0', 'join', '{"identityId":"E0"}', null, null, 1, 'confirmed'),
        (${runId}, 'E9', 'join', '{"identityId":"E9"}', null, null, 2, 'due')`.execute(db)
    const dead = await takeLease(store)

    const free = await claimDelivery(db, { runId, batch: 1, lease: dead, now })
    await dead[Symbol.asyncDispose]()
    const takenOver = await claimDelivery(db, { runId, batch: 1, lease: me, now })
    const read = await pendingChanges(db, { runId, batch: 1 })
    await sql`update deliveries set lease = null`.execute(db)
    await sql`update connections set blocked_at = now()`.execute(db)
    const blocked = await claimDelivery(db, { runId, batch: 1, lease: me, now })

    const usual = { step: null, separatedAt: null }
    expect(free?.pending?.changes.toSorted((a, b) => compareKeys(a.identityId, b.identityId))).toEqual([
      { ...usual, identityId: 'E1', kind: 'join', json: '{"identityId":"E1","firstName":"Ana"}' },
      {
        identityId: 'E2',
        kind: 'correct',
        json: '{"identityId":"E2"}',
        separatedAt: '2026-11-01T00:00:00.000Z',
        step: 'cleared',
      },
      { ...usual, identityId: 'E3', kind: 'join', json: '{"identityId":"E3","firstName":"\\n,"}' },
      { ...usual, identityId: 'E4', kind: 'retract', json: null },
    ])
    expect(free?.pending?.records).toEqual([free?.pending?.changes.map(({ json }) => json ?? '').join(',\n')])
    expect(read).toEqual(free?.pending)
    expect(takenOver).toMatchObject({ attempt: 2, pending: null })
    expect(blocked).toMatchObject({ attempt: 3, isBlocked: true, pending: null })
  })

  test('the remaining changes of a large batch are read in pieces, each record with its person', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)
    await sql`
      insert into changes (run_id, identity_id, kind, record, batch, state)
      select ${runId}, 'E' || n, 'update', json_build_object('identityId', 'E' || n, 'firstName', E'a,\nb'), 1, 'due'
      from generate_series(2, 250) n`.execute(db)

    const claim = await claimDelivery(db, { runId, batch: 1, lease: me, now })

    const { changes = [], records = [] } = claim?.pending ?? {}
    const keys = changes.map(({ identityId }) => identityId)
    expect(new Set(keys)).toEqual(new Set(Array.from({ length: 250 }, (_, i) => `E${i + 1}`)))
    expect(changes.map(({ json }) => JSON.parse(json ?? '').identityId)).toEqual(keys)
    expect(changes.filter(({ kind }) => kind === 'join')).toMatchObject([{ identityId: 'E1' }])
    expect(records).toHaveLength(3)
    expect(records.join(',\n').split(',\n')).toEqual(changes.map(({ json }) => json))
  })

  test('the end of a batch shows whether a later one of the run waits for a worker', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)
    const other = await wait(opened)
    const endedWith = async (later: string) => {
      await sql`delete from deliveries where run_id <> ${runId} or batch <> 5`.execute(db)
      await sql`update deliveries set batch = 5, state = 'due', due_at = ${now}, lease = null where run_id = ${runId}`.execute(
        db,
      )
      await sql`
        insert into deliveries (run_id, batch, kind, state, due_at, lease)
        select run_id::uuid, batch, 'upsert', state, ${now}, lease from json_to_recordset(${later})
          as later(run_id text, batch int, state text, lease int)`.execute(db)
      const claim = await claimDelivery(db, { runId, batch: 5, lease: me, now })
      const end = claim && (await endAttempt(db, claim, { ...ended, batchOutcome }))
      return end?.hasMore
    }
    await sql`update deliveries set batch = 5`.execute(db)

    const results = [
      await endedWith(JSON.stringify([{ run_id: runId, batch: 9, state: 'due' }])),
      await endedWith(JSON.stringify([{ run_id: runId, batch: 9, state: 'due', lease: me.id }])),
      await endedWith(JSON.stringify([{ run_id: runId, batch: 9, state: 'done' }])),
      await endedWith(JSON.stringify([{ run_id: runId, batch: 4, state: 'due' }])),
      await endedWith(JSON.stringify([{ run_id: other, batch: 9, state: 'due' }])),
    ]

    expect(results).toEqual([true, false, false, false, false])
  })

  test('a batch without remaining changes is claimed with nothing to do', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)
    await sql`update changes set state = 'confirmed'`.execute(db)

    const claim = await claimDelivery(db, { runId, batch: 1, lease: me, now })

    expect(claim?.pending).toEqual({ changes: [], records: [] })
  })

  test('acknowledged records are deleted for people taken with their whole batch, and for nobody else', async () => {
    await using opened = await open()
    const { db } = opened
    const runId = await delivering(opened)
    const other = await wait(opened)
    await sql`
      insert into changes (run_id, identity_id, kind, batch, state) values
        (${runId}, 'E2', 'join', 1, 'confirmed'), (${runId}, 'E3', 'join', 1, 'problem'), (${runId}, 'E4', 'join', 2, 'due'),
        (${runId}, 'E5', 'join', null, 'due'), (${other}, 'E6', 'join', 1, 'due')`.execute(db)
    await sql`
      insert into deliveries (run_id, batch, kind, state, due_at, answer) values
        (${runId}, 2, 'upsert', 'due', ${now}, null), (${other}, 1, 'upsert', 'done', ${now}, '{"status":201}')`.execute(
      db,
    )
    await sql`update deliveries set answer = '{"status":201}' where run_id = ${runId} and batch = 1`.execute(db)
    await ensureConnection(db, 'beta')
    await sql`
      insert into acknowledged (connection, identity_id, run_id)
      select 'acme', key, case key when 'E6' then ${other}::uuid when 'E7' then null else ${runId}::uuid end
      from unnest(array['E2', 'E3', 'E4', 'E5', 'E6', 'E7', 'E8']) as key
      union all select 'beta', 'E1', ${runId}::uuid`.execute(db)
    const kept = async () =>
      (await db.selectFrom('acknowledged').select('identity_id').orderBy('identity_id').execute()).map(
        ({ identity_id }) => identity_id,
      )
    const before = await kept()

    await deleteAnsweredOf(db, { runId, connection: 'acme' })

    expect(before).toEqual(['E1', 'E1', 'E2', 'E3', 'E4', 'E5', 'E6', 'E7', 'E8'])
    expect(await kept()).toEqual(['E1', 'E3', 'E4', 'E5', 'E6', 'E7', 'E8'])
  })

  test('a batch of a suspended process is taken over as uncertain, and is uncertain once that process has ended', async () => {
    await using opened = await open()
    const { db, me, store } = opened
    const runId = await delivering(opened)
    const stopped = await takeLease(store)
    await claimDelivery(db, { runId, batch: 1, lease: stopped, now })
    const whileMoving = await claimDelivery(db, { runId, batch: 1, lease: me, now })
    await standStill(opened, stopped)

    const claim = await claimDelivery(db, { runId, batch: 1, lease: me, now })
    const whileItMayMove = await endedTakeovers(db, me)
    await stopped[Symbol.asyncDispose]()
    const afterItsEnd = await endedTakeovers(db, me)

    expect(whileMoving).toBeNull()
    expect(claim).toMatchObject({ attempt: 2, uncertain: true })
    expect(whileItMayMove).toEqual([])
    expect(afterItsEnd).toEqual([{ runId, batch: 1, lease: stopped.id, connection: 'acme' }])
  })

  test("a batch of a process that stands still since the database's clock was set back is taken over", async () => {
    await using opened = await open()
    const { db, me, store } = opened
    const runId = await delivering(opened)
    await using stopped = await takeLease(store)
    await claimDelivery(db, { runId, batch: 1, lease: stopped, now })
    await sql`update leases set seen_at = now() + interval '1 day' where id = ${stopped.id}`.execute(db)

    const claim = await claimDelivery(db, { runId, batch: 1, lease: me, now })

    expect(claim).toMatchObject({ attempt: 2, uncertain: true })
  })

  test('a batch that this process abandoned is released as uncertain, and one that it works on is not', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)
    await claimDelivery(db, { runId, batch: 1, lease: me, now })

    await workingOn(me, { kind: 'batch', runId, batch: 1 }, () => releaseAbandoned(db, me))
    const whileAtWork = await claimDelivery(db, { runId, batch: 1, lease: me, now })
    await releaseAbandoned(db, me)
    const afterwards = await claimDelivery(db, { runId, batch: 1, lease: me, now })

    expect(whileAtWork).toBeNull()
    expect(afterwards).toMatchObject({ attempt: 2, uncertain: true })
  })

  test('a batch of a killed process is taken over without people in doubt', async () => {
    await using opened = await open()
    const { db, me, store } = opened
    const runId = await delivering(opened)
    const dead = await takeLease(store)
    await claimDelivery(db, { runId, batch: 1, lease: dead, now })
    await dead[Symbol.asyncDispose]()

    const claim = await claimDelivery(db, { runId, batch: 1, lease: me, now })

    expect(claim).toMatchObject({ uncertain: true })
    expect(await endedTakeovers(db, me)).toEqual([])
  })

  test('cancelling a run makes people of attempted batches uncertain, and no others', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)
    const uncertain = async (): Promise<string[]> => (await Array.fromAsync(uncertainKeys(db, 'acme'))).flat()
    await dropPlan(db, runId, now)
    const before = await uncertain()
    await sql`update changes set state = 'due' where run_id = ${runId}`.execute(db)
    await sql`update deliveries set state = 'due' where run_id = ${runId}`.execute(db)
    await claimDelivery(db, { runId, batch: 1, lease: me, now })

    await dropPlan(db, runId, now)

    expect(before).toEqual([])
    expect(await uncertain()).toEqual(['E1'])
  })

  test('a run moves only according to the table of moves', async () => {
    await using opened = await open()
    const { db } = opened
    const id = await wait(opened)

    const moved = await setRunState(db, { id, to: 'finished', now })

    expect(moved).toBe(false)
    expect((await getRun(db, id))?.state).toBe('waiting')
  })
})
