import { type Kysely, sql } from 'kysely'
import { findGroup, provideProvider, setGroup } from '../company/set-group.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { operatorActor } from '../events/store-events.ts'
import type { SeedPolicy, SeedProvider, SeedWorkspace } from './account-document.ts'

type SeedContext = { readonly accountId: number; readonly now: Date }

/** Adds the identity providers and groups that the account lacks. Their members must exist. */
export async function seedGroups(
  trx: Kysely<PlatformSchema>,
  { accountId, now }: SeedContext,
  providers: readonly SeedProvider[] = [],
): Promise<void> {
  const by = { accountId, actor: operatorActor('seed'), at: now }
  for (const provider of providers) {
    const providerId = await provideProvider(trx, provider, by)
    for (const group of provider.groups) {
      if ((await findGroup(trx, providerId, group.externalId)) === undefined) await setGroup(trx, providerId, group, by)
    }
  }
}

/** Adds the groups that the policies for groups lack. The policies and groups are there. */
export async function seedPolicyGroups(
  trx: Kysely<PlatformSchema>,
  { accountId }: SeedContext,
  policies: readonly SeedPolicy[],
): Promise<void> {
  for (const { name, groups } of policies.filter(({ assignedTo }) => assignedTo === 'GROUP')) {
    await sql`
      insert into policy_groups (policy_id, group_id)
      select policy.id, owner.id
      from policies as policy
      join personnel_groups as owner on owner.account_id = policy.account_id and owner.external_id = any(${groups}::text[])
      where policy.account_id = ${accountId} and policy.name = ${name} and policy.assigned_to = 'GROUP'
      order by owner.id
      on conflict do nothing
    `.execute(trx)
  }
}

/** Gives scopes to workspaces that have none. */
export async function seedScopes(
  trx: Kysely<PlatformSchema>,
  { accountId, now }: SeedContext,
  workspaces: readonly SeedWorkspace[],
): Promise<void> {
  for (const { name, scope = [] } of workspaces) {
    const { rows } = await sql<{ workspace_id: number; group_id: number }>`
      select workspace.id as workspace_id, owner.id as group_id
      from workspaces as workspace
      join personnel_groups as owner on owner.account_id = workspace.account_id and owner.external_id = any(${scope}::text[])
      where workspace.account_id = ${accountId} and workspace.name = ${name}
        and not exists (select from workspace_groups where workspace_id = workspace.id)
      order by owner.id
    `.execute(trx)
    await addRows(
      trx,
      'workspace_groups',
      rows.map((row) => ({ ...row, created_at: now, updated_at: now })),
    )
  }
}
