import type { Kysely } from 'kysely'
import type { Identity } from '../contract/hris-user-identities.ts'
import type { Submission } from './identity-items.ts'
import { type Merged, mergeIdentities } from './identity-merge.ts'
import type { PlatformSchema } from './schema.ts'

export type Outcome = { readonly statusCode: 200 | 201; readonly data: Identity | null }

/** Somebody else wrote one of the records between its reading and its writing. */
class Overtaken extends Error {}

/** Each time that a transaction is overtaken, another one has succeeded; so many at once would be no accident. */
const mostAttempts = 100

/**
 * Creates, updates and restores the records of one batch whose keys are distinct, and answers by key. One statement, whatever
 * its size. To be run inside of `untilNotOvertaken`, in a transaction that ends when it throws.
 */
export async function applyBatch(
  trx: Kysely<PlatformSchema>,
  { connectionId, submissions, now }: { connectionId: number; submissions: readonly Submission[]; now: Date },
): Promise<ReadonlyMap<string, Outcome>> {
  if (submissions.length === 0) return new Map()
  const merged = await mergeIdentities(trx, { connectionId, submissions, now })
  return new Map(merged.map((row) => [row.identity_id, outcomeOf(row)]))
}

/** Runs a transaction again while others write the same records in between. */
export async function untilNotOvertaken<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction()
    } catch (error) {
      if (!(error instanceof Overtaken) || attempt === mostAttempts) throw error
    }
  }
}

function outcomeOf(row: Merged): Outcome {
  if (!row.changed) return { statusCode: 200, data: null }
  if (row.id === null) throw new Overtaken()
  return {
    statusCode: row.created ? 201 : 200,
    data: {
      id: row.id,
      identityId: row.identity_id,
      email: row.email,
      secondaryEmail: row.secondary_email,
      firstName: row.first_name,
      lastName: row.last_name,
      jobTitle: row.job_title,
      managerId: row.manager_id,
      managerName: row.manager_name,
      startedAt: instant(row.started_at),
      separatedAt: instant(row.separated_at),
      isContractor: row.is_contractor,
      createdAt: new Date(row.created_at).toISOString(),
      updatedAt: new Date(row.updated_at).toISOString(),
    },
  }
}

function instant(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString()
}
