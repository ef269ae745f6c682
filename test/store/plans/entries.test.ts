import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import type { DesiredState } from '../../../src/identity/decide/decide.ts'
import type { PlannedPerson } from '../../../src/identity/decide/planned.ts'
import { changeTo } from '../../../src/identity/difference.ts'
import type { IdentityRecord } from '../../../src/identity/record.ts'
import { acceptLeavers } from '../../../src/store/leavers/record-departures.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { writeOutEntries } from '../../../src/store/plans/entries.ts'
import { commitPlan, stagePeople } from '../../../src/store/plans/plans.ts'
import { addWaitingRun, ensureConnection } from '../../../src/store/runs/runs.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { databases } from '../../helpers/servers/databases.ts'

const days = ['2026-11-20T03:00:00.000Z', '2026-11-21T03:00:00.000Z'] as const

/** Ana joins and gets another title, Bob joins and leaves, Cid joins with a date in the past, and Dan comes back on the second day. */
const nights: readonly (readonly IdentityRecord[])[] = [
  [
    { identityId: 'ana', jobTitle: 'Engineer', separatedAt: null },
    { identityId: 'bob', firstName: 'Bob\t"\\', separatedAt: null },
    { identityId: 'cid', firstName: null, separatedAt: '2026-11-01T00:00:00.000Z' },
    { identityId: 'dan', firstName: 'Dan', separatedAt: '2026-11-02T00:00:00.000Z' },
  ],
  [
    { identityId: 'ana', jobTitle: 'Lead', separatedAt: null },
    { identityId: 'bob', firstName: 'Bob\t"\\', separatedAt: '2026-11-21T00:00:00.000Z' },
    { identityId: 'dan', firstName: 'Dan', separatedAt: null },
  ],
]

describe.each(databases)('entries that follow from changes, on $name', ({ createDatabase }) => {
  test('have the same effect on the roster as stored ones, also if they are stored later', async () => {
    const written = await roster({ follows: false })
    const followed = await roster({ follows: true })
    const writtenOut = await roster({ follows: true, waits: true })

    expect(written.entries).toEqual([4, 3])
    expect(followed.entries).toEqual([0, 0])
    expect(writtenOut.entries).toEqual([4, 3])
    expect(followed.roster).toEqual(written.roster)
    expect(writtenOut.roster).toEqual(written.roster)
    expect(written.roster.map((night) => night.people.length)).toEqual([4, 4])
    expect(written.roster[1]?.behind).toHaveLength(3)
  })

  /** The roster after two nights, and how many own entries the plans had when they were accepted. */
  async function roster({ follows, waits = false }: { follows: boolean; waits?: boolean }) {
    await using where = await createDatabase()
    await using store = await openDatabase<StoreSchema>({ at: where.at, schemas: ['rollcall'], migrations })
    const { db } = store
    await ensureConnection(db, 'acme')
    const stored = { roster: [] as Awaited<ReturnType<typeof everything>>[], entries: [] as number[] }
    const known = new Map<string, IdentityRecord>()
    for (const [night, records] of nights.entries()) {
      const asOf = days[night] ?? ''
      const now = new Date(asOf)
      const runId = await planned(db, now)
      const people = records.map((record) => personOf(record, known.get(record.identityId) ?? null, { asOf, follows }))
      await stagePeople(db, runId, people)
      if (waits) await writeOutEntries(db, runId)
      const { rows } = await sql<{ count: number }>`select count(*)::int as count from plan_entries`.execute(db)
      stored.entries.push(rows[0]?.count ?? -1)
      const limits = { batchSize: 50, batchBytes: 1_000_000 }
      await acceptLeavers(db, { runId, connection: 'acme', timeZone: 'UTC', now })
      await commitPlan(db, { runId, connection: 'acme', limits, speaksOfAbsent: true, now })
      stored.roster.push(await everything(db))
      await sql`update deliveries set state = 'done', answer = '{"status": 200}'`.execute(db)
      await sql`update runs set state = 'finished'`.execute(db)
      for (const record of records) known.set(record.identityId, record)
    }
    return stored
  }

  async function planned(db: Db, now: Date): Promise<string> {
    const runId = await addWaitingRun(db, { connection: 'acme', feed: 'source', trigger: 'operator', options: {}, now })
    await sql`update runs set state = 'planned', mode = 'snapshot', as_of = ${now} where id = ${runId}`.execute(db)
    return runId
  }

  function personOf(
    desired: IdentityRecord,
    confirmed: IdentityRecord | null,
    { asOf, follows }: { asOf: string; follows: boolean },
  ): PlannedPerson {
    const none = {
      deferredTo: null,
      deferredZone: null,
      clearedDate: null,
      heldDeparture: null,
      isByOperator: false,
      fieldTimes: null,
    }
    const times = { asOf, employmentAsOf: asOf, exportIsSilent: false, absences: 0 }
    const entry: DesiredState = { desired, inferred: false, ...none, ...times }
    const change = changeTo(desired, { confirmed, inferred: false, carried: false })
    return { identityId: desired.identityId, entry, change, origin: { file: 'people.csv', line: 2 }, follows }
  }

  async function everything(db: Db) {
    const { rows: people } = await sql`select * from roster order by identity_id`.execute(db)
    const { rows: behind } = await sql`select identity_id, confirmed from out_of_sync order by 1`.execute(db)
    const { rows: clocks } = await sql`
      select identity_id, effective_on, stated_at, ended_as from leavers order by 1, 2, 3`.execute(db)
    return { people, behind, clocks }
  }
})
