import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import {
  acceptedIndex,
  acceptIndex,
  beginIndex,
  storeIndex,
  storeIndexPart,
} from '../../../src/store/plans/export-index.ts'
import { addWaitingRun, ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { databases } from '../../helpers/servers/databases.ts'

describe.each(databases)('an index of an export, on $name', ({ createDatabase }) => {
  test('has its parts as stored, of any length, each piece in its own row', async () => {
    await using at = await createDatabase()
    await using database = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
    const { db } = database
    await ensureConnection(db, 'acme')
    const now = new Date()
    const request = {
      connection: 'acme',
      feed: 'source',
      trigger: 'operator',
      options: {},
      requestedBy: [],
      now,
    } as const
    const runId = await addWaitingRun(db, request)
    const parts = [1, 7999, 8000, 8001, 16_000, 100_003].map((bytes) =>
      Buffer.from(Array.from({ length: bytes }, (_, byte) => (byte * 7919) % 256)),
    )

    await db.transaction().execute((tx) => beginIndex(tx, { runId, connection: 'acme' }))
    for (const [part, data] of parts.entries()) await storeIndexPart(db, { runId, part, data })
    await db.transaction().execute(async (tx) => {
      await storeIndex(tx, runId, { head: '{}', seal: Buffer.from('seal') })
      await acceptIndex(tx, { runId, connection: 'acme' }, async () => {})
    })

    const index = await acceptedIndex(db, 'acme')
    const readParts: Buffer[] = []
    await index?.eachPart((part) => readParts.push(Buffer.from(part)))
    expect(readParts.map((part, nth) => part.equals(parts[nth] ?? Buffer.alloc(0)))).toEqual(parts.map(() => true))
    expect(index?.bytesAtMost).toBeGreaterThanOrEqual(parts.reduce((sum, { length }) => sum + length, 0))
    const { rows } = await sql<{ cut: number }>`
      select pg_relation_size(reltoastrelid)::int as cut from pg_class where oid = 'export_index_parts'::regclass`.execute(
      db,
    )
    expect(rows).toEqual([{ cut: 0 }])
  })
})
