import { sql } from 'kysely'
import { undeliveredCodes } from '../../contract/failures.ts'
import { clockBound } from '../has-come.ts'
import { markInDoubt } from '../in-doubt.ts'
import type { PeopleKeys } from '../keys.ts'
import { isSplitOff } from '../runs/held-runs.ts'
import { hasExpired } from '../runs/runs.ts'
import type { Db } from '../schema.ts'
import type { ClaimedDelivery } from './claim.ts'

/** How long deliveries may fail before the people are reported as undelivered. */
export const patienceMs = 15 * 60_000
/** When the next run retries people that a run gave up on. */
export const retryAfterMs = 60 * 60_000

/** Whether a batch has been failing for a while. A failure in the future was recorded before the clock was set back. */
export function isOverdue(failingSince: Date | null, now: Date): boolean {
  return failingSince !== null && Math.abs(now.getTime() - failingSince.getTime()) >= patienceMs
}

/** In SQL, whether a problem is a failure of the platform and not a refusal. */
export const isUndelivered = sql<boolean>`exists (
  select 1 from changes where changes.run_id = problems.run_id and changes.identity_id = problems.identity_id
    and changes.answer ->> 'code' = any(${[...undeliveredCodes]}))`

/** Those of these people that an earlier run closed as undelivered. */
export async function knownUndelivered(db: Db, { connection, identityIds }: PeopleKeys): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select identity_id as id from problems
    where connection = ${connection} and identity_id = any(${identityIds}) and ${isUndelivered}`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** Puts people of a batch in doubt before they are closed. If the process ended after that, nothing else would. */
export async function markUndeliveredInDoubt(
  db: Db,
  { runId, batch }: ClaimedDelivery,
  { identityIds, now }: { identityIds: readonly string[]; now: Date },
): Promise<void> {
  await markInDoubt({ runId, batch, now, where: sql`changes.identity_id = any(${identityIds})` }).execute(db)
}

/**
 * The connections with undelivered people that no run has tried for a while or is about to try. A held plan of the roster contains them,
 * unless it has only people who were split off: a new one would replace it while an operator looks at it.
 */
export async function connectionsWithUndelivered(db: Db, now: Date): Promise<string[]> {
  const before = new Date(now.getTime() - retryAfterMs)
  const { rows } = await sql<{ connection: string }>`
    select connection from problems where ${isUndelivered}
    group by connection
    having (max(last_at) <= ${before} or max(last_at) > ${clockBound(before)}) and not exists (
      select 1 from runs where runs.connection = problems.connection
        and (state in ('waiting', 'reading', 'planned', 'delivering')
          or (feed = 'roster' and state = 'held' and not ${hasExpired(now)} and not ${isSplitOff})
          or (feed = 'roster' and created_at between ${before} and ${clockBound(before)})))`.execute(db)
  return rows.map(({ connection }) => connection)
}
