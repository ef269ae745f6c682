import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import type { PlannedPerson } from '../../../src/identity/decide/planned.ts'
import { changeTo } from '../../../src/identity/difference.ts'
import { planDigest } from '../../../src/identity/digest.ts'
import type { IdentityRecord } from '../../../src/identity/record.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { stagedDigest } from '../../../src/store/plans/plans.ts'
import { type ClaimedRun, claimRun } from '../../../src/store/runs/claims.ts'
import { addWaitingRun, ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { type Lease, takeLease } from '../../../src/store/workers/leases.ts'
import { Overtaken } from '../../../src/sync/context/overtaken.ts'
import { type Stage, storeStage } from '../../../src/sync/plan/stage.ts'
import { databases, emptyTables } from '../../helpers/servers/databases.ts'

const now = new Date('2026-11-20T03:00:00.000Z')
/** More than are written together. */
const many = 4500
const limits = { batchSize: 1000, batchBytes: 1_000_000 }

const leaving = { confirmed: { identityId: 'E3', firstName: 'Ana' }, inferred: false, carried: false }

describe.each(databases)('a plan that is staged on $name', ({ createDatabase }) => {
  let lifetime: AsyncDisposableStack
  let store: Database<StoreSchema>
  let lease: Lease

  beforeAll(async () => {
    lifetime = new AsyncDisposableStack()
    const { at } = lifetime.use(await createDatabase())
    store = lifetime.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
  })

  beforeEach(async () => {
    await emptyTables(store, 'rollcall')
    await ensureConnection(store.db, 'acme')
  })

  afterAll(() => lifetime.disposeAsync())

  /** An attempt at a run that is read; the process of the one before it has ended. */
  async function attempt(runId?: string): Promise<ClaimedRun> {
    await using stack = new AsyncDisposableStack()
    lease = stack.use(await takeLease(store))
    const id =
      runId ??
      (await addWaitingRun(store.db, { connection: 'acme', feed: 'source', trigger: 'operator', options: {}, now }))
    const claim = await claimRun(store.db, { id, lease, now })
    if (claim === null) throw new Error('the run cannot be claimed')
    return claim
  }

  const joiner = (key: string, firstName = 'Ana', fields: Partial<IdentityRecord> = {}): PlannedPerson => {
    const record = { identityId: key, firstName, ...fields }
    return {
      identityId: key,
      entry: {
        desired: record,
        inferred: false,
        deferredTo: null,
        clearedDate: null,
        deferredZone: null,
        heldDeparture: null,
        isByOperator: false,
        asOf: now.toISOString(),
        employmentAsOf: now.toISOString(),
        exportIsSilent: false,
        fieldTimes: { jobTitle: now.toISOString() },
        absences: 0,
      },
      change: {
        kind: 'join',
        identityId: key,
        record,
        fields: { firstName: { from: null, to: firstName } },
        inferred: false,
        carried: false,
      },
      origin: { file: 'people.csv', line: 2 },
    }
  }

  async function staged(stage: Stage): Promise<string[]> {
    const texts: string[] = []
    for await (const page of stage.changes())
      for (const { change } of page)
        texts.push(`${change.identityId} ${change.kind === 'retract' ? change.reason : change.record.firstName}`)
    return texts
  }

  const entries = async () =>
    (await store.db.selectFrom('plan_entries').select(['identity_id', 'desired']).orderBy('identity_id').execute()).map(
      ({ identity_id: key, desired }) => `${key} ${desired?.firstName}`,
    )

  test('contains what was staged for each person, whatever the texts contain', async () => {
    const claim = await attempt()
    const stage = storeStage(store.db, claim, limits)
    const odd = joiner('E\t1\\', 'Zoë "\\N"\n李', { separatedAt: '2026-11-19T00:00:00.000Z', jobTitle: null })
    const retracted: PlannedPerson = {
      identityId: 'E2',
      entry: null,
      change: { kind: 'retract', identityId: 'E2', reason: 'a\ttest', carried: true },
      origin: null,
    }

    await stage.put([odd, retracted])

    const pages = await Array.fromAsync(stage.changes())
    expect(pages.flat()).toEqual([
      { change: odd.change, origin: odd.origin },
      { change: retracted.change, origin: null },
    ])
    const { rows } = await sql`
      select desired, as_of, employment_as_of, field_times, due_at, held_departure, absences from plan_entries`.execute(
      store.db,
    )
    expect(rows).toEqual([
      {
        desired: odd.entry?.desired,
        as_of: now,
        employment_as_of: now,
        field_times: { jobTitle: now.toISOString() },
        due_at: null,
        held_departure: null,
        absences: 0,
      },
    ])
    const { rows: dates } = await sql`
      select identity_id, separated_at, inferred, state from changes order by identity_id`.execute(store.db)
    expect(dates).toEqual([
      {
        identity_id: odd.identityId,
        separated_at: '2026-11-19T00:00:00.000Z',
        inferred: false,
        state: 'due',
      },
      { identity_id: 'E2', separated_at: null, inferred: false, state: 'due' },
    ])
  })

  test('stores the fields of a joiner once, in the record, if they follow from it', async () => {
    const stage = storeStage(store.db, await attempt(), limits)
    const fields = { separatedAt: '2026-11-19T00:00:00.000Z', jobTitle: null }
    const desired = { identityId: 'E1', firstName: 'Ana', ...fields }
    const follows = changeTo(desired, { confirmed: null, inferred: true, carried: false })
    const others = [joiner('E2', 'Bob', fields).change, changeTo({ ...desired, identityId: 'E3' }, leaving)]

    await stage.put(
      [follows, ...others].flatMap((change) =>
        change ? [{ identityId: change.identityId, entry: null, change, origin: null }] : [],
      ),
    )

    const read = (await Array.fromAsync(stage.changes())).flat().map(({ change }) => change)
    expect(read).toEqual([follows, ...others])
    const { rows } = await sql<{ text: string }>`
      select identity_id || ' ' || kind || ' ' || (fields is not null) as text from changes order by identity_id`.execute(
      store.db,
    )
    expect(rows.map((row) => row.text)).toEqual(['E1 join false', 'E2 join true', 'E3 leave true'])
  })

  test('has the digest of its changes, page by page, even if it was staged without digests', async () => {
    const claim = await attempt()
    const stage = storeStage(store.db, claim, limits)
    const people = ['E3', 'E1', 'É2', 'E5', 'E4'].map((key) => joiner(key, `Zoë \\ "${key}"`, { separatedAt: null }))
    await stage.put(people)
    const changes = (await Array.fromAsync(stage.changes())).flat().map(({ change }) => change)

    const digests = [await stage.digest(), await stagedDigest(store.db, claim.run.id, { pageSize: 2 })]
    await sql`update changes set digest = null where identity_id = 'E3'`.execute(store.db)
    digests.push(await stage.digest())

    expect(changes).toHaveLength(5)
    expect(new Set([...digests, planDigest(changes)]).size).toBe(1)
    expect(await storeStage(store.db, await attempt(claim.run.id), limits).digest()).toBe(digests[0])
  })

  test('ignores people who are staged again, and takes the others', async () => {
    const stage = storeStage(store.db, await attempt(), limits)
    await stage.put([joiner('E1'), joiner('E2')])
    await staged(stage)

    await stage.put([joiner('E2', 'Bob'), joiner('E3'), joiner('E3', 'Bob')])

    expect(await staged(stage)).toEqual(['E1 Ana', 'E2 Ana', 'E3 Ana'])
    expect(await entries()).toEqual(['E1 Ana', 'E2 Ana', 'E3 Ana'])
  })

  test('loses dropped people, also before they were written, and takes them again', async () => {
    const stage = storeStage(store.db, await attempt(), limits)
    await stage.put([joiner('E1'), joiner('E2'), joiner('E3')])

    await stage.drop(['E2', 'E3'])
    await stage.put([joiner('E3', 'Bob')])

    expect(await staged(stage)).toEqual(['E1 Ana', 'E3 Bob'])
    expect(await entries()).toEqual(['E1 Ana', 'E3 Bob'])
  })

  test('contains all people of an export, in key order, in whatever order they are put', async () => {
    const stage = storeStage(store.db, await attempt(), limits)
    const keys = Array.from({ length: many }, (_, index) => `E${String(index).padStart(5, '0')}`)

    for (const key of keys.toReversed()) await stage.put([joiner(key)])

    expect(await staged(stage)).toEqual(keys.map((key) => `${key} Ana`))
    expect(await entries()).toHaveLength(many)
  })

  test('takes the next people while two portions wait to be written, and then waits', async () => {
    const claim = await attempt()
    const stage = storeStage(store.db, claim, limits)
    const keys = Array.from({ length: many }, (_, index) => `E${String(index).padStart(5, '0')}`)
    const people = keys.map((key) => joiner(key))
    const putting: Promise<void>[] = []
    let isTaken = false

    // Nothing of the run is written until this ends.
    await store.db.transaction().execute(async (tx) => {
      await tx.selectFrom('runs').select('id').where('id', '=', claim.run.id).forUpdate().execute()
      await stage.put(people.slice(0, 1000))
      await stage.put(people.slice(1000, 2000))
      const rest = stage.put(people.slice(2000)).then(() => {
        isTaken = true
      })
      putting.push(rest)
      await tx.selectFrom('runs').select('id').execute()
      expect(isTaken).toBe(false)
    })
    await Promise.all(putting)

    expect(await staged(stage)).toEqual(keys.map((key) => `${key} Ana`))
  })

  test('takes nothing from an overtaken attempt, and throws', async () => {
    const claim = await attempt()
    const former = storeStage(store.db, claim, limits)
    await former.put([joiner('E1', 'former')])
    const stage = storeStage(store.db, await attempt(claim.run.id), limits)
    await stage.put([joiner('E2', 'newer')])

    const late = Array.from({ length: many }, (_, index) => joiner(`E${index + 1}`, 'former'))
    const put = (async () => {
      for (let portion = 0; portion < 3; portion++) await former.put(late)
    })()

    await expect(put).rejects.toThrow(Overtaken)
    await expect(former.drop(['E2'])).rejects.toThrow(Overtaken)
    await expect(staged(former)).rejects.toThrow(Overtaken)
    expect(await staged(stage)).toEqual(['E2 newer'])
    expect(await entries()).toEqual(['E2 newer'])
  })

  test('fails if its people cannot be written', async () => {
    const stage = storeStage(store.db, await attempt(), limits)
    await stage.put([joiner('E1'), { ...joiner('E2'), change: null, origin: null }])
    await stage.put([joiner('E\u00003')])

    await expect(staged(stage)).rejects.toMatchObject({ code: '22021' })
    await expect(staged(stage)).rejects.toMatchObject({ code: '22021' })
  })
})
