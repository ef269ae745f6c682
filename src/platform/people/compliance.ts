import type { Selectable } from 'kysely'
import { type ComplianceCheck, ComplianceCheckType } from '../../contract/platform/personnel.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** The compliance checks of a person. Full compliance means that all others pass; so far there is one other. */
const checks = [
  { type: 'FULL_COMPLIANCE', checkFrequency: 'DAILY' },
  { type: 'BG_CHECK', checkFrequency: 'ONCE' },
] as const

// Checks have no rows. Their ids are computed from the person's id, with room for every type.
const idsPerPerson = 16

/** The compliance checks of these people by personnel id. */
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
        ...presentTimes(person),
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
