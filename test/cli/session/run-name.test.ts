import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Control } from '../../../src/cli/session/control-client.ts'
import { requireRunId } from '../../../src/cli/session/run-name.ts'
import { runNameOperations } from '../../../src/contract/control/run-names.ts'
import { runNameHandlers } from '../../../src/daemon/control/run-names.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { localCalls } from '../../../src/http/client/calls.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import type { SyncContext } from '../../../src/sync/context/context.ts'
import { databases, type TestDatabase } from '../../helpers/servers/databases.ts'
import { storeRun } from '../../helpers/stored-runs.ts'

const ids = {
  first: 'ab12cd34-1111-4111-8111-111111111111',
  second: 'ab12cd34-2222-4222-8222-222222222222',
  held: 'ab12ffff-3333-4333-8333-333333333333',
  other: '0000aaaa-4444-4444-8444-444444444444',
}

describe.each(databases)('a run on $name', ({ createDatabase }) => {
  let at: TestDatabase
  let store: Database<StoreSchema>
  let named: (name: string, connection?: string) => Promise<string>
  beforeAll(async () => {
    at = await createDatabase()
    store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
    for (const connection of ['acme', 'globex']) await ensureConnection(store.db, connection)
    const on = (day: number) => ({ at: new Date(Date.UTC(2026, 10, day)) })
    await storeRun(store.db, { id: ids.first, state: 'finished', ...on(1) })
    await storeRun(store.db, { id: ids.second, state: 'failed', ...on(2) })
    await storeRun(store.db, { id: ids.held, state: 'held', ...on(3) })
    await storeRun(store.db, { id: ids.other, state: 'held', connection: 'globex', ...on(4) })
    // What finding runs needs of the context is the store alone.
    const context = { sync: { store } as unknown as SyncContext }
    const calls = localCalls(runNameOperations, runNameHandlers, context)
    named = (name, connection) => requireRunId(calls as Control, name, { connection })
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await at[Symbol.asyncDispose]()
  })

  test.each([
    ['its id', ids.first, undefined, ids.first],
    ['the first signs of its id', 'ab12f', undefined, ids.held],
    ['the same in capitals', 'AB12F', undefined, ids.held],
    ['a part of its id that includes a hyphen', 'ab12cd34-2', undefined, ids.second],
    ['the newest', 'last', undefined, ids.other],
    ['the newest of a connection', 'last', 'acme', ids.held],
    ['the one before the newest', 'last-1', undefined, ids.held],
    ['the third of a connection', 'last-2', 'acme', ids.first],
    ['the held one of a connection', '@held', 'globex', ids.other],
  ])('is found by %s', async (_what, name, connection, id) => {
    expect(await named(name, connection)).toBe(id)
  })

  test.each([
    ['abcd', 'not_found', 'there is no run whose id begins with abcd'],
    ['ab12-', 'not_found', 'there is no run whose id begins with ab12-'],
    ['last-4', 'not_found', 'there is no run that "last-4" could mean'],
    ['ab1', 'usage', '"ab1" is no name of a run: give an id or at least its first four signs, last, last-1 or @held'],
    [
      '@lost',
      'usage',
      '"@lost" is no name of a run: give an id or at least its first four signs, last, last-1 or @held',
    ],
    ['%00', 'usage', '"%00" is no name of a run: give an id or at least its first four signs, last, last-1 or @held'],
  ])('is not found by %s', async (name, code, message) => {
    await expect(named(name)).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  test('is never guessed: several are listed, in a form that tells them apart', async () => {
    await expect(named('@held')).rejects.toMatchObject({
      code: 'usage',
      message: `several runs are held: name one of them
  0000aaaa  globex  held  2026-11-04 00:00 UTC
  ab12ffff  acme    held  2026-11-03 00:00 UTC`,
    })
    await expect(named('ab12cd')).rejects.toMatchObject({
      message: `several runs begin with ab12cd: give more of the id
  ${ids.second}  acme  failed    2026-11-02 00:00 UTC
  ${ids.first}  acme  finished  2026-11-01 00:00 UTC`,
    })
  })
})
