import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { claimDelivery, dueDeliveries, endDelivery, recordOutcomes, storeStep } from '../../src/store/deliveries.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import { takeOwner } from '../../src/store/owner.ts'
import { commitPlan, stagePeople } from '../../src/store/plans.ts'
import { claimRun, dueRuns } from '../../src/store/run-claims.ts'
import { addWaitingRun, ensureConnection, getRun, moveRun } from '../../src/store/runs.ts'
import type { StoreSchema } from '../../src/store/schema.ts'
import { databases } from '../helpers/databases.ts'

const now = new Date('2026-11-20T03:00:00.000Z')

describe.each(databases)('claims on $name', ({ place }) => {
  async function open() {
    await using opening = new AsyncDisposableStack()
    const { at } = opening.use(await place())
    const store = opening.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
    const me = opening.use(await takeOwner(store))
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
    await claimRun(db, { id: runId, owner: me, now })
    const record = { identityId: 'E1', firstName: 'Ana' }
    await stagePeople(db, runId, [
      {
        identityId: 'E1',
        entry: { wanted: record, inferred: false, deferredTo: null, asOf: now.toISOString(), absences: 0 },
        change: { kind: 'join', identityId: 'E1', record, fields: {}, inferred: false, carried: false },
        asOf: now.toISOString(),
        origin: { file: 'people.csv', line: 2 },
      },
    ])
    await moveRun(db, { id: runId, to: 'planned', now })
    await moveRun(db, { id: runId, to: 'delivering', now })
    await commitPlan(db, { runId, connection: 'acme', limits: { batchSize: 10, batchBytes: 1000 }, now })
    return runId
  }

  const outcome = {
    identityId: 'E1',
    state: 'confirmed',
    confirmed: { identityId: 'E1' },
    answer: { status: 201 },
  } as const

  test('a trigger that arrives while a run waits joins it, with what it asks for on top', async () => {
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

  test('of many that claim a run at once, one gets it', async () => {
    await using opened = await open()
    const { db, me } = opened
    const id = await wait(opened)

    const claims = await Promise.all(Array.from({ length: 8 }, () => claimRun(db, { id, owner: me, now })))

    expect(claims.filter(Boolean)).toHaveLength(1)
  })

  test('while a run of the connection is active the waiting one cannot be claimed', async () => {
    await using opened = await open()
    const { db, me } = opened
    await claimRun(db, { id: await wait(opened), owner: me, now })
    const second = await wait(opened)

    const claim = await claimRun(db, { id: second, owner: me, now })

    expect(claim).toBeNull()
    expect(await dueRuns(db)).toEqual([])
  })

  test('what a process that has ended was working on is due at once, under another job id', async () => {
    await using opened = await open()
    const { db, store } = opened
    const runId = await delivering(opened)
    const dead = await takeOwner(store)
    await claimDelivery(db, { runId, batch: 1, owner: dead })
    const whileAlive = await dueDeliveries(db, { now })
    await dead[Symbol.asyncDispose]()

    const afterwards = await dueDeliveries(db, { now })

    expect(whileAlive).toEqual([])
    expect(afterwards).toMatchObject([{ runId, batch: 1, kind: 'upsert', jobId: `${runId}-1-1` }])
  })

  test('a slower, older attempt can neither send a step nor write an outcome', async () => {
    await using opened = await open()
    const { db, me, store } = opened
    const runId = await delivering(opened)
    const dead = await takeOwner(store)
    const older = await claimDelivery(db, { runId, batch: 1, owner: dead })
    await dead[Symbol.asyncDispose]()
    const newer = await claimDelivery(db, { runId, batch: 1, owner: me })
    if (!older || !newer) throw new Error('both claims were meant to succeed')

    const late = [
      await storeStep(db, older, { identityIds: ['E1'], step: 'clearing' }),
      await recordOutcomes(db, older, { outcomes: [{ ...outcome, state: 'problem' }], sentAt: now, now }),
      await endDelivery(db, older, { requests: 1, dueAt: now, failure: null, now }),
    ]
    await recordOutcomes(db, newer, { outcomes: [outcome], sentAt: now, now })
    const ended = await endDelivery(db, newer, { requests: 1, dueAt: now, failure: null, now })

    expect(late).toEqual([false, false, null])
    expect(ended).toEqual({ remaining: 0, runState: 'finished' })
    expect(await getRun(db, runId)).toMatchObject({ state: 'finished', confirmed: 1, problems: 0 })
  })

  test('a batch that another attempt of this process works on is not claimed twice', async () => {
    await using opened = await open()
    const { db, me } = opened
    const runId = await delivering(opened)

    const claims = await Promise.all([1, 2, 3].map(() => claimDelivery(db, { runId, batch: 1, owner: me })))

    expect(claims.filter(Boolean)).toHaveLength(1)
  })

  test('a run moves only as the table of moves says', async () => {
    await using opened = await open()
    const { db } = opened
    const id = await wait(opened)

    const moved = await moveRun(db, { id, to: 'finished', now })

    expect(moved).toBe(false)
    expect((await getRun(db, id))?.state).toBe('waiting')
  })
})
