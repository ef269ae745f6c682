import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { formerRows } from '../../../src/store/runs/claims.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { storeRun } from '../../helpers/stored-runs.ts'

describe.each(databases)('the rows that a connection had the last time, on $name', ({ createDatabase }) => {
  test('are those of its newest run that read the source', async () => {
    await using at = await createDatabase()
    await using store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
    const { db } = store
    const stored = async (connection: string, day: number, rows: number | null) => {
      await ensureConnection(db, connection)
      const run = { connection, state: 'finished', trigger: 'operator', at: new Date(Date.UTC(2026, 10, day)) } as const
      const id = await storeRun(db, run)
      await db.updateTable('runs').set({ rows }).where('id', '=', id).execute()
      return id
    }
    const first = await stored('globex', 1, null)
    await stored('acme', 1, 20)
    await stored('acme', 2, 30)
    const now = await stored('acme', 3, null)

    const rowCounts = await formerRows(db, [now, first])

    expect(Object.fromEntries(rowCounts)).toEqual({ [now]: 30, [first]: null })
  })
})
