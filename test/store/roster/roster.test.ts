import { expect, test } from 'vitest'
import { rosterEntries } from '../../../src/store/roster/roster.ts'
import type { Db } from '../../../src/store/schema.ts'

test('no query is made for nobody', async () => {
  const unusedDb = {} as Db

  const entries = await rosterEntries(unusedDb, { connection: 'acme', identityIds: [] })

  expect(entries).toEqual(new Map())
})
