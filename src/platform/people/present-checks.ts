import { type Selectable, sql } from 'kysely'
import { type ComplianceCheck, ComplianceCheckType } from '../../contract/platform/personnel.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

// Checks have no rows. Their ids are computed from the person's id, with room for every type.
const idsPerPerson = 16

/** How often each check runs, if it does not run every day. */
const frequencies: Partial<Record<ComplianceCheck['type'], ComplianceCheck['checkFrequency']>> = {
  BG_CHECK: 'ONCE',
  SECURITY_TRAINING: 'YEARLY',
  HIPAA_TRAINING: 'YEARLY',
  OFFBOARDING: 'ONCE',
}

/** The compliance checks of these people by personnel id: the background check, and what else is demanded of them. */
export async function complianceChecksOf(
  ctx: Pick<PlatformContext, 'db'>,
  people: readonly Selectable<PlatformSchema['personnel']>[],
): Promise<ReadonlyMap<number, ComplianceCheck[]>> {
  const latest = await latestChecks(
    ctx,
    people.map((person) => person.user_id),
  )
  return new Map(people.map((person) => [person.id, checksOf(person, latest.get(person.user_id))]))
}

function checksOf(person: Selectable<PlatformSchema['personnel']>, done: Done | undefined): ComplianceCheck[] {
  const { compliance_status: full, background_checked: isChecked } = person
  const completedAt = done ? `${done.filed_on}T00:00:00.000Z` : null
  const stored = ComplianceCheckType.options.flatMap((type) => {
    const check = person.checks[type]
    return check && (full !== 'EXCLUDED' || type === 'OFFBOARDING') ? [{ type, ...check }] : []
  })
  const moments = [completedAt, ...stored.map((check) => check.completedAt)].filter((moment) => moment !== null).sort()
  const results = [
    { type: 'FULL_COMPLIANCE', status: full, completedAt: full === 'FAIL' ? null : (moments.at(-1) ?? null) },
    { type: 'BG_CHECK', status: full === 'EXCLUDED' ? full : isChecked ? 'PASS' : 'FAIL', completedAt },
    ...stored,
  ] as const
  const { updatedAt } = presentTimes(person)
  return results.map((result) => ({
    id: checkId(person.id, result.type),
    type: result.type,
    status: result.status,
    checkFrequency: frequencies[result.type] ?? 'DAILY',
    expiresAt: 'expiresAt' in result ? result.expiresAt : null,
    lastCheckedAt: 'expiresAt' in result ? updatedAt : (done?.created_at.toISOString() ?? null),
    completionDate: result.completedAt,
    ...presentTimes(person),
  }))
}

/** The statuses that `complianceChecksOf` shows of a row `person` of the table `personnel`, by type, in SQL: both have the same rules. */
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

type Done = { readonly user_id: number; readonly filed_on: string; readonly created_at: Date }

async function latestChecks(
  { db }: Pick<PlatformContext, 'db'>,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, Done>> {
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
