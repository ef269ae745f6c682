import { type Kysely, sql } from 'kysely'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type { SeedAccount } from './account-document.ts'
import { idsByName } from './workspace-controls.ts'

type Policies = Pick<SeedAccount, 'policies'> & { readonly accountId: number; readonly now: Date }

/** Adds the versions that the policies of an account lack. The policies are there. */
export async function seedPolicyVersions(
  trx: Kysely<PlatformSchema>,
  { accountId, policies, now }: Policies,
): Promise<void> {
  const policyId = await idsByName(trx, 'policies', sql`account_id = ${accountId}`)
  const aYearOn = Temporal.PlainDate.from(now.toISOString().slice(0, 10)).add({ years: 1 }).toString()
  const rows = policies.map(({ name, version, renewalDate, requiresAcknowledgment }) => ({
    policy_id: policyId(name),
    version,
    renewal_date: renewalDate ?? aYearOn,
    requires_acknowledgment: requiresAcknowledgment,
    created_at: now,
    updated_at: now,
  }))
  await addRows(trx, 'policy_versions', rows)
}
