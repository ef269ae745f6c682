import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../src/store/schema.ts'
import {
  beginWriting,
  endWriting,
  type SettingsChange,
  savedChange,
  storeWaitingChange,
  takeBack,
  waitingChange,
} from '../../src/store/settings-changes.ts'
import { databases } from '../helpers/servers/databases.ts'

const now = new Date('2026-11-20T08:00:00Z')
const file = '/etc/rollcall/rollcall.yaml'
const someChange = (): SettingsChange => ({
  ...{ id: randomUUID(), connection: 'hr', file, before: 'old', after: 'new' },
  ...{ by: 'ana', principal: 'token:ana', at: now, expiresAt: null },
})

test.for(databases)(
  'on $name, of two processes one replaces a file, and one approves a change',
  async ({ createDatabase }) => {
    await using at = await createDatabase()
    await using store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
    const { db } = store
    const waiting = { ...someChange(), expiresAt: new Date('2026-11-21T08:00:00Z') }
    await storeWaitingChange(db, waiting)

    const approvals = [await beginWriting(db, waiting, now), await beginWriting(db, waiting, now)]
    const beside = await beginWriting(db, someChange(), now)
    const meanwhile = await savedChange(db, waiting)
    await takeBack(db, waiting)
    const again = await waitingChange(db, { connection: 'hr', now })
    await beginWriting(db, waiting, now)
    await endWriting(db, waiting)
    const takenBackLate = await takeBack(db, waiting)

    expect([...approvals, beside]).toEqual([true, false, false])
    expect(meanwhile).toBeNull()
    expect(again).toEqual(waiting)
    expect(takenBackLate).toBe(false)
    expect((await savedChange(db, waiting))?.id).toBe(waiting.id)
  },
)
