import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type ComplianceCheck, ComplianceCheckType } from '../../contract/platform/personnel.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** The checks of a person, with how often each is made. Full compliance means that all others pass; there is one other so far. */
const checks = [
  { type: 'FULL_COMPLIANCE', checkFrequency: 'DAILY' },
  { type: 'BG_CHECK', checkFrequency: 'ONCE' },
] as const

// Checks have no rows of their own. Their ids are made of the person's, with room for every type there is.
const idsPerPerson = 16

/** The condition for people whose full compliance has one of these statuses. */
export function withCompliance(statuses: readonly string[]): RawBuilder<unknown> {
  return sql`compliance_status = any(${statuses}::text[])`
}

/** The compliance checks of these people, by personnel entry. */
export async function complianceChecksOf(
  ctx: Pick<PlatformContext, 'db'>,
  people: readonly Selectable<PlatformSchema['personnel']>[],
): Promise<ReadonlyMap<number, ComplianceCheck[]>> {
  const latest = await latestChecks(
    ctx,
    people.map((person) => person.user_id),
  )
  return new Map(
    people.map((person) => {
      const done = latest.get(person.user_id)
      const shared = {
        status: person.compliance_status,
        expiresAt: null,
        lastCheckedAt: done?.created_at.toISOString() ?? null,
        completionDate: done ? `${done.filed_on}T00:00:00.000Z` : null,
        createdAt: person.created_at.toISOString(),
        updatedAt: person.updated_at.toISOString(),
      }
      return [person.id, checks.map((check) => ({ id: checkId(person.id, check.type), ...check, ...shared }))]
    }),
  )
}

function checkId(personId: number, type: ComplianceCheck['type']): number {
  return personId * idsPerPerson + ComplianceCheckType.options.indexOf(type)
}

type Done = { readonly user_id: number; readonly filed_on: string; readonly created_at: Date }

async function latestChecks(
  { db }: Pick<PlatformContext, 'db'>,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, Done>> {
  if (userIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('background_checks')
    .distinctOn('user_id')
    .select(['user_id', 'filed_on', 'created_at'])
    .where('user_id', 'in', userIds)
    .orderBy('user_id')
    .orderBy('filed_on', 'desc')
    .orderBy('id', 'desc')
    .execute()
  return new Map(rows.map((row) => [row.user_id, row]))
}
