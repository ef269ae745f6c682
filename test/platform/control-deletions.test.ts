import { type Kysely, sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import type { PlatformSchema } from '../../src/platform/schema.ts'
import { postgresPlace } from '../helpers/databases.ts'
import { type ControlCompany, newControlCompany } from './control-company.ts'
import { openTestPlatform } from './platforms.ts'

type Write = (
  company: ControlCompany,
  params: { workspaceId: number; controlId: number },
) => Promise<{ status: unknown }>

// Only a database with several connections lets a request arrive between a deletion and its commit.
test.each<[string, 'controls' | 'workspaces', Write]>([
  ['a note', 'controls', ({ client }, params) => client.createControlNote({ params, body: { comment: 'Late.' } })],
  [
    'an owner',
    'controls',
    ({ client, users }, params) => client.addControlOwner({ params, body: { ownerId: users.ben ?? 0 } }),
  ],
  [
    'a control',
    'workspaces',
    ({ client }, { workspaceId }) =>
      client.createControl({ params: { workspaceId }, body: { name: 'Late', description: 'Late.', code: 'LATE-1' } }),
  ],
])('%s for what is just being deleted is 404', async (_what, table, write) => {
  await using opened = await openTestPlatform(postgresPlace)
  const company = await newControlCompany(opened, 'Acme')
  const { db } = opened.platform.database
  const params = { workspaceId: company.workspaceId, controlId: company.controls['OWN-1'] ?? 0 }
  const id = table === 'controls' ? params.controlId : params.workspaceId

  const { writing } = await db.transaction().execute(async (trx) => {
    await trx.deleteFrom(table).where('id', '=', id).execute()
    const late = write(company, params)
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
    { timeout: 20_000, interval: 20 },
  )
}
