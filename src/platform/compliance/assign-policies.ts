import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'

/**
 * Assigns the newest version of each policy to whom it is for among the chosen people, and takes away what is for somebody else by now. An
 * acknowledged version keeps its row, so that it counts again when it is assigned again.
 */
export async function assignPolicies(
  trx: Kysely<PlatformSchema>,
  chosen: RawBuilder<unknown>,
  at: Date,
): Promise<void> {
  const desired = sql`(${desiredVersions(chosen)}) as desired`
  const isDesired = sql`(assigned.user_id, assigned.policy_version_id) in (select user_id, version_id from ${desired})`
  const isChosen = sql`assigned.user_id in (select user_id from personnel as person where ${chosen})`
  const changed = sql`updated_at = greatest(updated_at, ${at}::timestamptz), changed_in = pg_current_xact_id()`
  await sql`
    insert into assigned_policies (user_id, policy_id, policy_version_id, is_assigned, source_type, created_at, updated_at)
    select user_id, policy_id, version_id, true, 'UNKNOWN', ${at}::timestamptz, ${at}::timestamptz from ${desired}
    where not exists (
      select from assigned_policies as assigned
      where assigned.user_id = desired.user_id and assigned.policy_version_id = desired.version_id
    )
    order by user_id, policy_id
  `.execute(trx)
  await sql`
    update assigned_policies as assigned set is_assigned = not is_assigned, ${changed}
    where ${isChosen} and accepted_at is not null and is_assigned <> (${isDesired})
  `.execute(trx)
  await sql`
    delete from assigned_policies as assigned where ${isChosen} and accepted_at is null and not (${isDesired})
  `.execute(trx)
}

const isInGroup = sql`exists (
  select from policy_groups as owner join group_members as member on member.group_id = owner.group_id
  where owner.policy_id = policy.id and member.person_id = person.id
)`

function desiredVersions(chosen: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select person.user_id, policy.id as policy_id, version.id as version_id
    from personnel as person
    join policies as policy on policy.account_id = person.account_id and (policy.assigned_to = 'ALL' or policy.assigned_to = 'GROUP' and ${isInGroup})
      and (policy.employment_statuses is null or person.employment_status = any(policy.employment_statuses))
    join lateral (
      select id from policy_versions where policy_id = policy.id order by version desc limit 1
    ) as version on true
    where ${chosen} and person.compliance_status <> 'EXCLUDED'`
}
