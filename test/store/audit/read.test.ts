import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { excerptPage } from '../../../src/store/audit/excerpt.ts'
import { newestEntries } from '../../../src/store/audit/read.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'

test('entries that cannot be read are shown as such, whatever the filter', async () => {
  await using testDatabase = await createPostgresDatabase()
  await using store = await openDatabase<StoreSchema>({ at: testDatabase.at, schemas: ['rollcall'], migrations })
  const good = JSON.stringify({
    id: 'a',
    at: '2026-11-20T01:00:00.000Z',
    act: 'run.held',
    by: 'ana',
    connection: 'acme',
  })
  const texts = [good, '{"id":"b","at":"2026-11-20T02', 'null', '{"at":7,"by":"ana"}', good.replace('"a"', '"e"')]
  const rows = texts.map((entry, at) => ({ ordinal: String(at + 1), entry, hash: 'h' }))
  await store.db.insertInto('audit_trail').values(rows).execute()
  const actsOf = async (filter: Parameters<typeof newestEntries>[1]) => {
    const { entries } = await newestEntries(store.db, filter, { before: undefined, limit: 50, withinMs: 5000 })
    return entries.map(({ ordinal, act }) => `${ordinal} ${act}`)
  }

  const unreadable = ['4 entry.unreadable', '3 entry.unreadable', '2 entry.unreadable']
  expect(await actsOf({})).toEqual(['5 run.held', ...unreadable, '1 run.held'])
  expect(await actsOf({ by: 'ben' })).toEqual(unreadable)
  expect(await actsOf({ from: new Date('2026-11-21T00:00:00.000Z') })).toEqual(unreadable)
})

test('an entry of another shape is shown as unreadable, with the time at which it was signed, and exported', async () => {
  await using testDatabase = await createPostgresDatabase()
  await using store = await openDatabase<StoreSchema>({ at: testDatabase.at, schemas: ['rollcall'], migrations })
  const good = { id: 'a', at: '2026-11-20T01:00:00.000Z', act: 'run.held', by: 'ana', connection: 'acme' }
  const { connection: _, ...without } = good
  const others = [{}, 5, without, { ...good, identityId: 7 }, { ...good, runId: 7 }, { ...good, details: 'text' }]
  const texts = [good, ...others].map((value) => JSON.stringify(value))
  const rows = texts.map((entry, at) => ({ ordinal: String(at + 1), entry, hash: 'h' }))
  await store.db.insertInto('audit_trail').values(rows).execute()
  const head = { key: 'k', previous: '0', hash: 'h', at: '2026-11-20T01:00:05.000Z', signature: 's' }
  await store.db
    .insertInto('audit_checkpoints')
    .values({ ...head, ordinal: String(texts.length) })
    .execute()

  const page = { before: undefined, limit: 50, withinMs: 5000 }
  const { entries } = await newestEntries(store.db, { connection: 'acme' }, page)
  const { lines } = await excerptPage(store.db, { after: 0, filter: { act: 'run.approved' } })

  const shown = entries.map(({ ordinal, act, at }) => [ordinal, act, at])
  const signed = [7, 6, 5, 4, 3, 2].map((ordinal) => [ordinal, 'entry.unreadable', '2026-11-20T01:00:05.000Z'])
  expect(shown).toEqual([...signed, [1, 'run.held', good.at]])
  expect(lines.flatMap((line) => (line.kind === 'entry' ? [line.ordinal] : []))).toEqual([2, 3, 4, 5, 6, 7])
})
