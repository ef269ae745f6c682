import { type Kysely, sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import type { PlatformSchema } from '../../../src/platform/core/schema.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { newControlCompany } from '../helpers/control-company.ts'
import { newInventory } from '../helpers/inventories.ts'
import { newPeople } from '../helpers/people.ts'
import { base64Picture } from '../helpers/pictures.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

type WriteTarget = {
  readonly table: 'controls' | 'workspaces' | 'custom_connections' | 'devices'
  readonly id: number
  readonly write: () => Promise<{ status: unknown }>
}

async function control(opened: TestPlatform) {
  const company = await newControlCompany(opened, 'Acme')
  const params = { workspaceId: company.workspaceId, controlId: company.controls['OWN-1'] ?? 0 }
  return { ...company, params, table: 'controls', id: params.controlId } as const
}

// Only a database with several connections lets a request arrive between a deletion and its commit.
test.each<[string, (opened: TestPlatform) => Promise<WriteTarget>]>([
  [
    'a note',
    async (opened) => {
      const { client, params, ...target } = await control(opened)
      return { ...target, write: () => client.createControlNote({ params, body: { comment: 'Late.' } }) }
    },
  ],
  [
    'an owner',
    async (opened) => {
      const { client, users, params, ...target } = await control(opened)
      return { ...target, write: () => client.addControlOwner({ params, body: { ownerId: users.ben ?? 0 } }) }
    },
  ],
  [
    'a control',
    async (opened) => {
      const { client, workspaceId } = await control(opened)
      const body = { name: 'Late', description: 'Late.', code: 'LATE-1' }
      const write = () => client.createControl({ params: { workspaceId }, body })
      return { table: 'workspaces', id: workspaceId, write }
    },
  ],
  [
    'a document of a device',
    async (opened) => {
      const { client, report } = await newInventory(opened)
      const { id } = await report({})
      const body = { type: 'ANTIVIRUS_EVIDENCE' as const, base64File: base64Picture('proof.png') }
      return { table: 'devices', id, write: () => client.createDeviceDocument({ params: { deviceId: id }, body }) }
    },
  ],
  [
    'a batch of identities',
    async (opened) => {
      const people = await newPeople((await opened.newAccount()).client)
      const write = () => people.send({ identityId: 'late' })
      return { table: 'custom_connections', id: people.params.connectionId, write }
    },
  ],
])('%s for a row that is being deleted is 404', async (_what, prepare) => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { table, id, write } = await prepare(opened)
  const { db } = opened.platform.database

  const { writing } = await db.transaction().execute(async (trx) => {
    await trx.deleteFrom(table).where('id', '=', id).execute()
    const late = write()
    await waitForBlocked(db)
    return { writing: late }
  })

  expect((await writing).status).toBe(404)
})

async function waitForBlocked(db: Kysely<PlatformSchema>): Promise<void> {
  await vi.waitFor(
    async () => {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0
      `.execute(db)
      expect(rows).toHaveLength(1)
    },
    { timeout: 60_000, interval: 20 },
  )
}
