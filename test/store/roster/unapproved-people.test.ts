import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/migrate.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { unapprovedPeople as added } from '../../../src/store/migrations/unapproved-people.ts'
import { unapprovedPeople } from '../../../src/store/roster/unapproved-people.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { createEmptyPostgresDatabase } from '../../helpers/servers/databases.ts'

type PlannedRun = {
  readonly id: number
  readonly state: string
  readonly partOf?: number
  readonly people: readonly string[]
  readonly holdsLeftOut?: boolean
  readonly source?: boolean
}

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

test('an update keeps whom plans that are known hold for a part that was approved', async () => {
  await using database = await createEmptyPostgresDatabase()
  const before = migrations.slice(0, migrations.indexOf(added))
  await using store = await openDatabase<StoreSchema>({ at: database.at, schemas: ['rollcall'], migrations: before })
  const { db } = store
  await sql`insert into connections (name) values ('acme')`.execute(db)
  const runs: PlannedRun[] = [
    { id: 1, state: 'superseded', people: ['OLD'] },
    { id: 2, state: 'finished', partOf: 1, people: ['C'] },
    { id: 3, state: 'finished', source: true, people: ['C2'] },
    { id: 4, state: 'cancelled', people: ['A', 'B'] },
    { id: 5, state: 'finished', partOf: 4, people: ['D'] },
    { id: 6, state: 'rejected', people: ['E', 'F'], holdsLeftOut: true },
    { id: 7, state: 'held', people: ['H'] },
    { id: 8, state: 'finished', people: ['B'] },
  ]
  for (const { id, state, partOf, people, holdsLeftOut, source } of runs) {
    const guards = holdsLeftOut ? [{ name: 'leftUnapproved', ok: false, limit: 0, actual: 2 }] : []
    const at = new Date(Date.UTC(2026, 10, id))
    await sql`
      insert into runs (id, connection, feed, trigger, options, state, guards, as_of, source, part_of_run_id, created_at)
      values (${idOf(id)}, 'acme', 'source', 'schedule', '{}', ${state}, ${JSON.stringify(guards)}, ${at},
        ${source ? '{}' : null},
        ${partOf ? idOf(partOf) : null}, ${at})`.execute(db)
    for (const key of people)
      await sql`insert into changes (run_id, identity_id, kind, state) values (${idOf(id)}, ${key}, 'leave', 'due')`.execute(
        db,
      )
  }

  await migrate(store.pool, migrations, { schema: 'rollcall', location: store.location })

  expect([...(await unapprovedPeople(db, 'acme')).keys()].sort()).toEqual(['A', 'E', 'F'])
})
