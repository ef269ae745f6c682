import { type Kysely, type Selectable, sql } from 'kysely'
import type { GroupCompact } from '../../contract/platform/groups.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Reader = Pick<PlatformContext, 'db' | 'accountId'>

const isActive = sql`person.employment_status in ('CURRENT_EMPLOYEE', 'CURRENT_CONTRACTOR')`

/** The number of active people in the scope of each of these workspaces that has a scope. */
export async function countsByWorkspace(
  db: Kysely<PlatformSchema>,
  workspaceIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await sql<{ workspace_id: number; people: number }>`
    select scope.workspace_id, count(distinct person.id)::int as people
    from workspace_groups as scope
    left join group_members as member on member.group_id = scope.group_id
    left join personnel as person on person.id = member.person_id and ${isActive}
    where scope.workspace_id = ${anyOf(workspaceIds)}
    group by scope.workspace_id
  `.execute(db)
  return new Map(rows.map((row) => [row.workspace_id, row.people]))
}

/** The number of active people in any group of the account. */
export async function countGrouped({ db, accountId }: Reader): Promise<number> {
  const { rows } = await sql<{ people: number }>`
    select count(distinct person.id)::int as people
    from group_members as member join personnel as person on person.id = member.person_id
    where person.account_id = ${accountId} and ${isActive}
  `.execute(db)
  return rows[0]?.people ?? 0
}

/** The groups of the account among `ids`, by id. */
export async function groupsOf(
  { db, accountId }: Reader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, GroupCompact>> {
  const rows = await db
    .selectFrom('personnel_groups')
    .innerJoin('identity_providers as provider', 'provider.id', 'personnel_groups.provider_id')
    .selectAll('personnel_groups')
    .select('provider.client_type')
    .where('personnel_groups.account_id', '=', accountId)
    .where('personnel_groups.id', '=', anyOf(ids))
    .execute()
  return new Map(rows.map((row) => [row.id, presentGroup(row)]))
}

function presentGroup(
  row: Selectable<PlatformSchema['personnel_groups']> & { readonly client_type: string },
): GroupCompact {
  return {
    id: row.id,
    name: row.name,
    externalId: row.external_id,
    source: row.client_type,
    connectionId: row.provider_id,
    ...presentTimes(row),
  }
}
