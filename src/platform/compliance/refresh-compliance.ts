import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'
import { assignPolicies } from './assign-policies.ts'
import { deviceChecks } from './device-checks.ts'

type Refresh = {
  readonly accountId: number
  /** The people whose facts changed; all of the account if left out. */
  readonly personnelIds?: readonly number[]
  readonly at: Date
}

/**
 * Assigns policies to people and stores their compliance checks, as the facts in the same transaction are by now. Whoever writes such a
 * fact calls it: documents, devices, acknowledgements, employment, groups, what the company requires. The daily identity sync calls it for proofs
 * that expire.
 */
export async function refreshCompliance(trx: Kysely<PlatformSchema>, refresh: Refresh): Promise<void> {
  if (!(await hasRequirements(trx, refresh.accountId))) return
  await lockPeople(trx, refresh)
  const chosen = chosenPeople(refresh)
  await assignPolicies(trx, chosen, refresh.at)
  await storeChecks(trx, chosen, refresh.at)
}

/**
 * Locks people in the order of their ids, so that writers of several people never deadlock. Where an account requires nothing, nobody is
 * locked.
 */
export async function lockPeople(trx: Kysely<PlatformSchema>, refresh: Omit<Refresh, 'at'>): Promise<void> {
  if (!(await hasRequirements(trx, refresh.accountId))) return
  await sql`select id from personnel as person where ${chosenPeople(refresh)} order by id for no key update`.execute(
    trx,
  )
}

/** Whether an account requires more of its people than a background check: it describes its company, or assigns policies. */
async function hasRequirements(trx: Kysely<PlatformSchema>, accountId: number): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from companies where account_id = ${accountId})
      or exists (select from policies where account_id = ${accountId} and assigned_to <> 'NONE') as has
  `.execute(trx)
  return rows[0]?.has ?? false
}

function chosenPeople({ accountId, personnelIds }: Omit<Refresh, 'at'>): RawBuilder<unknown> {
  const ids = personnelIds ? sql`and person.id = any(${personnelIds}::bigint[])` : sql``
  return sql`person.account_id = ${accountId} ${ids}`
}

async function storeChecks(trx: Kysely<PlatformSchema>, chosen: RawBuilder<unknown>, at: Date): Promise<void> {
  await sql`
    update personnel
    set checks = fresh.checks, updated_at = greatest(updated_at, ${at}::timestamptz), changed_in = pg_current_xact_id()
    from (
      select person.id, coalesce(jsonb_object_agg(fact.type, jsonb_build_object(
        'status', case when fact.passes then 'PASS' else 'FAIL' end,
        'completedAt', to_char(fact.completed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'expiresAt', to_char(fact.last_day + 1, 'YYYY-MM-DD"T00:00:00.000Z"')
      )) filter (where fact.type is not null), '{}') as checks
      from personnel as person
      left join companies as company on company.account_id = person.account_id
      left join lateral (
        ${documentFacts(at)} union all ${deviceFacts} union all ${policyFact}
      ) as fact on true
      where ${chosen}
      group by person.id
    ) as fresh
    where personnel.id = fresh.id and personnel.checks <> fresh.checks
  `.execute(trx)
}

// A document proves something through its last day, in UTC.
function documentFacts(at: Date): RawBuilder<unknown> {
  return sql`
    select required.type, proof.id is not null as passes, proof.completed_at, proof.renewal_date as last_day
    from (values
      ('SECURITY_TRAINING', 'SEC_TRAINING', company.security_training is not null),
      ('HIPAA_TRAINING', 'HIPAA_TRAINING_EVIDENCE', company.hipaa_training <> 'NOT_REQUIRED'),
      ('IDENTITY_MFA', 'MFA_EVIDENCE', company.account_id is not null),
      ('OFFBOARDING', 'OFFBOARDING_EVIDENCE', company.account_id is not null)
    ) as required (type, document_type, is_required)
    left join lateral (
      select id, completed_at, renewal_date from documents
      where documents.user_id = person.user_id and documents.type = required.document_type
        and renewal_date >= (${at}::timestamptz at time zone 'UTC')::date
      order by renewal_date desc, id desc limit 1
    ) as proof on true
    where required.is_required and case required.type
      when 'OFFBOARDING' then person.employment_status like '%FORMER%'
      else person.compliance_status <> 'EXCLUDED' end`
}

// Every device of a person must pass, and a person without a device passes none of these checks.
const deviceFacts = sql`
  select kind.type,
    bool_and(coalesce((to_jsonb(device) ->> kind.setting)::boolean, false) or exists (
      select from documents where documents.device_id = device.id and documents.type = kind.document_type
    )), null, null
  from (values ${sql.join(
    deviceChecks.map(({ type, setting, document }) => sql`(${type}, ${setting}, ${document})`),
  )}) as kind (type, setting, document_type)
  left join devices as device on device.personnel_id = person.id
  where company.account_id is not null and person.compliance_status <> 'EXCLUDED'
  group by kind.type`

const policyFact = sql`
  select 'ACCEPTED_POLICIES', bool_and(accepted_at is not null),
    case when bool_and(accepted_at is not null) then max(accepted_at) end, null
  from assigned_policies as assigned
  join policy_versions as version on version.id = assigned.policy_version_id and version.requires_acknowledgment
  where assigned.user_id = person.user_id and assigned.is_assigned
  having count(*) > 0`
