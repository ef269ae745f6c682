import type { Kysely } from 'kysely'
import type { Identity } from '../contract/hris-user-identities.ts'
import type { Submission } from './identity-items.ts'
import { mergeIdentities, type Written } from './identity-merge.ts'
import type { PlatformSchema } from './schema.ts'

export type Outcome = { readonly statusCode: 200 | 201; readonly data: Identity | null }

const unchanged: Outcome = { statusCode: 200, data: null }

/** Creates, updates and restores the records of one batch whose keys are distinct, and answers by key. One statement, whatever its size. */
export async function applyBatch(
  trx: Kysely<PlatformSchema>,
  { connectionId, submissions, now }: { connectionId: number; submissions: readonly Submission[]; now: Date },
): Promise<ReadonlyMap<string, Outcome>> {
  if (submissions.length === 0) return new Map()
  const written = await mergeIdentities(trx, { connectionId, submissions, now })
  const byKey = new Map(written.map((row) => [row.identity_id, row]))
  const moments = momentsAround(now)
  return new Map(submissions.map((submission) => [submission.identityId, outcomeOf(submission, byKey, moments)]))
}

function outcomeOf(
  { identityId, values }: Submission,
  written: ReadonlyMap<string, Written>,
  moment: (milliseconds: number | null) => string,
): Outcome {
  const instant = (milliseconds: number | null) => (milliseconds === null ? null : moment(milliseconds))
  const row = written.get(identityId)
  if (row === undefined) return unchanged
  return {
    statusCode: row.created_at === null ? 201 : 200,
    data: {
      id: row.id,
      identityId,
      email: row.email,
      secondaryEmail: row.secondary_email,
      firstName: row.first_name,
      lastName: row.last_name,
      jobTitle: row.job_title,
      managerId: row.manager_id,
      managerName: row.manager_name,
      startedAt: instant(row.started_at),
      isContractor: row.is_contractor,
      ...values,
      separatedAt: row.created_at === null ? (values.separatedAt ?? null) : instant(row.separated_at),
      createdAt: moment(row.created_at),
      updatedAt: moment(row.updated_at),
    },
  }
}

/** Writes moments; null, and most others in an answer, are the present one. */
function momentsAround(now: Date): (milliseconds: number | null) => string {
  const [nowMs, nowText] = [now.getTime(), now.toISOString()]
  return (milliseconds) => {
    if (milliseconds === null) return nowText
    // Seconds are no whole numbers, and what they are multiplied to may miss the millisecond by a hair.
    const whole = Math.round(milliseconds)
    return whole === nowMs ? nowText : new Date(whole).toISOString()
  }
}
