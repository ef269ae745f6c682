import { sql } from 'kysely'
import { undeliveredCodes } from '../../contract/failures.ts'
import { clockBound } from '../has-come.ts'
import { markInDoubt } from '../in-doubt.ts'
import type { PeopleKeys } from '../keys.ts'
import { hasExpired } from '../runs/runs.ts'
import type { Db } from '../schema.ts'
import type { ClaimedDelivery } from './claim.ts'

/** How long the platform may fail before the people concerned count as undelivered. */
export const patienceMs = 15 * 60_000
/** How long after a run gave up waiting for people the next one tries them again. */
export const retryAfterMs = 60 * 60_000

/** True if a batch has been failing for a while. A failure that begins in the future was noted before the clock was set back. */
export function isOverdue(failingSince: Date | null, now: Date): boolean {
  return failingSince !== null && Math.abs(now.getTime() - failingSince.getTime()) >= patienceMs
}

/** True in SQL for a row of `problems` of a person whom the platform did not refuse: it failed. */
export const isUndelivered = sql<boolean>`exists (
  select 1 from changes where changes.run_id = problems.run_id and changes.identity_id = problems.identity_id
    and changes.answer ->> 'code' = any(${[...undeliveredCodes]}))`

/** Those of these people whom an earlier run has closed as undelivered. */
export async function knownUndelivered(db: Db, { connection, identityIds }: PeopleKeys): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select identity_id as id from problems
    where connection = ${connection} and identity_id = any(${identityIds}) and ${isUndelivered}`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** Puts people of a batch in doubt who are about to be closed. Afterwards nothing would, if the process ended with its attempt under way. */
export async function markUndeliveredInDoubt(
  db: Db,
  { runId, batch }: ClaimedDelivery,
  { identityIds, now }: { identityIds: readonly string[]; now: Date },
): Promise<void> {
  await markInDoubt({ runId, batch, now, where: sql`changes.identity_id = any(${identityIds})` }).execute(db)
}

/**
 * The connections with undelivered people whom no run has tried for a while, and none is about to. A held plan of the roster has them in it:
 * another one would take its place, also under the eyes of who decides about it.
 */
export async function connectionsWithUndelivered(db: Db, now: Date): Promise<string[]> {
  const before = new Date(now.getTime() - retryAfterMs)
  const { rows } = await sql<{ connection: string }>`
    select connection from problems where ${isUndelivered}
    group by connection
    having (max(last_at) <= ${before} or max(last_at) > ${clockBound(before)}) and not exists (
      select 1 from runs where runs.connection = problems.connection
        and (state in ('waiting', 'reading', 'planned', 'delivering')
          or (feed = 'roster' and state = 'held' and not ${hasExpired(now)})
          or (feed = 'roster' and created_at between ${before} and ${clockBound(before)})))`.execute(db)
  return rows.map(({ connection }) => connection)
}
