import { type Selectable, sql } from 'kysely'
import { type ComplianceCheck, ComplianceCheckType } from '../../contract/platform/personnel.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

// Compliance checks have no table of their own. Their ids are computed: the person's id times 16, plus the position of the type.
const idsPerPerson = 16

/** How often each check runs, if it does not run every day. */
const frequencies: Partial<Record<ComplianceCheck['type'], ComplianceCheck['checkFrequency']>> = {
  BG_CHECK: 'ONCE',
  SECURITY_TRAINING: 'YEARLY',
  HIPAA_TRAINING: 'YEARLY',
  OFFBOARDING: 'ONCE',
}

/** Formats the compliance checks of these people, by personnel id: full compliance, the background check, and the stored checks. */
export async function complianceChecksOf(
  ctx: Pick<PlatformContext, 'db'>,
  people: readonly Selectable<PlatformSchema['personnel']>[],
): Promise<ReadonlyMap<number, ComplianceCheck[]>> {
  const backgroundChecks = await latestBackgroundChecks(
    ctx,
    people.map((person) => person.user_id),
  )
  return new Map(people.map((person) => [person.id, checksOf(person, backgroundChecks.get(person.user_id))]))
}

function checksOf(
  person: Selectable<PlatformSchema['personnel']>,
  backgroundCheck: LatestBackgroundCheck | undefined,
): ComplianceCheck[] {
  const { compliance_status: overall, background_checked: isChecked } = person
  const times = presentTimes(person)
  const completedAt = backgroundCheck ? `${backgroundCheck.filed_on}T00:00:00.000Z` : null
  const stored = ComplianceCheckType.options.flatMap((type) => {
    const check = person.checks[type]
    const isShown = check && (overall !== 'EXCLUDED' || type === 'OFFBOARDING')
    return isShown ? [{ type, ...check, lastCheckedAt: times.updatedAt }] : []
  })
  const completions = [completedAt, ...stored.map((check) => check.completedAt)].filter((at) => at !== null).sort()
  // Both computed checks are as new as the background check; they never expire.
  const computed = { expiresAt: null, lastCheckedAt: backgroundCheck?.created_at.toISOString() ?? null }
  const background = overall === 'EXCLUDED' ? overall : isChecked ? 'PASS' : 'FAIL'
  const results = [
    {
      type: 'FULL_COMPLIANCE',
      status: overall,
      completedAt: overall === 'FAIL' ? null : (completions.at(-1) ?? null),
      ...computed,
    },
    { type: 'BG_CHECK', status: background, completedAt, ...computed },
    ...stored,
  ] as const
  return results.map((result) => ({
    id: checkId(person.id, result.type),
    type: result.type,
    status: result.status,
    checkFrequency: frequencies[result.type] ?? 'DAILY',
    expiresAt: result.expiresAt,
    lastCheckedAt: result.lastCheckedAt,
    completionDate: result.completedAt,
    ...times,
  }))
}

/** In SQL: the statuses by type that `complianceChecksOf` returns for a row of `personnel` with the alias `person`. Keep both alike. */
export const shownStatuses = sql`(
  select jsonb_object_agg(shown.type, shown.status)
  from (
    values ('FULL_COMPLIANCE', person.compliance_status),
      ('BG_CHECK', case when person.compliance_status = 'EXCLUDED' then 'EXCLUDED' when person.background_checked then 'PASS' else 'FAIL' end)
    union all
    select type, stored ->> 'status' from jsonb_each(person.checks) as each (type, stored)
    where person.compliance_status <> 'EXCLUDED' or type = 'OFFBOARDING'
  ) as shown (type, status)
)`

function checkId(personId: number, type: ComplianceCheck['type']): number {
  return personId * idsPerPerson + ComplianceCheckType.options.indexOf(type)
}

type LatestBackgroundCheck = { readonly user_id: number; readonly filed_on: string; readonly created_at: Date }

/** The newest background check of each user. */
async function latestBackgroundChecks(
  { db }: Pick<PlatformContext, 'db'>,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, LatestBackgroundCheck>> {
  const rows = await db
    .selectFrom('background_checks')
    .distinctOn('user_id')
    .select(['user_id', 'filed_on', 'created_at'])
    .where('user_id', '=', anyOf(userIds))
    .orderBy('user_id')
    .orderBy('filed_on', 'desc')
    .orderBy('id', 'desc')
    .execute()
  return new Map(rows.map((row) => [row.user_id, row]))
}
