import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../audit/trail.ts'
import { laterKeys } from '../key-answers.ts'
import { removedReason } from '../removed-reason.ts'
import { desiredValue } from '../roster/names.ts'
import { rosterEntry } from '../roster/roster.ts'
import { dropUnapproved } from '../roster/unapproved-people.ts'
import { dropWaiting } from '../roster/waiting.ts'
import { lockActiveRun } from '../runs/claims.ts'
import type { Db } from '../schema.ts'
import { deleteUsersOf, lockUsersOf } from '../scim/resources.ts'
import { forgetInStatements } from '../statement/forget.ts'
import { withoutValues } from './retain.ts'

/** The person whose values are removed, and who requested it. */
type ForgetRequest = {
  readonly connection: string
  readonly identityId: string
  readonly reason: string
  readonly by: string
  /** The current day (`YYYY-MM-DD`). */
  readonly today: string
  readonly now: Date
}

/**
 * Removes the values of a person who has left or was retracted and has nothing left to deliver. The key and the leaving date stay:
 * without them the next export would make the person a joiner. Returns the number of changes whose values were removed. Sends nothing to
 * the platform.
 */
export async function forgetPerson(db: Db, forgetting: ForgetRequest): Promise<number> {
  const { connection, identityId, reason, by, now } = forgetting
  return await db.transaction().execute(async (tx) => {
    const active = await lockActiveRun(tx, connection)
    if (active !== null)
      throw new Failure('conflict', `run ${active} of "${connection}" is active; repeat this when it has ended`)
    await refuseUnlessGone(tx, forgetting)
    const keys = [identityId, ...(await laterKeys(tx, { connection, identityId }))]
    await refuseReturning(tx, forgetting, keys)

    // Their addresses are those of the roster.
    await removeFromFindings(tx, { connection, identityId })
    await sql`
      update roster set desired = ${onlyLeaving}, field_times = null, group_value = null, forgotten_at = ${now},
        retracted_reason = case when retracted_at is null then null else 'forgotten' end
      where connection = ${connection} and identity_id = ${identityId}`.execute(tx)
    await sql`
      delete from acknowledged using roster
      where acknowledged.connection = ${connection} and acknowledged.identity_id = ${identityId}
        and roster.connection = acknowledged.connection and roster.identity_id = acknowledged.identity_id
        and roster.retracted_at is null`.execute(tx)
    await sql`
      update plan_entries entry set desired = ${onlyLeaving}, field_times = null, group_value = null from runs
      where entry.identity_id = ${identityId} and runs.id = entry.run_id and runs.connection = ${connection}`.execute(
      tx,
    )
    const changed = await sql`
      update changes set ${withoutValues}, reason = null from runs
      where changes.identity_id = ${identityId} and runs.id = changes.run_id and runs.connection = ${connection}`.execute(
      tx,
    )
    await sql`
      update deliveries set answer = deliveries.answer - 'message', last_failure = null from runs, changes
      where changes.identity_id = ${identityId} and runs.id = changes.run_id and runs.connection = ${connection}
        and deliveries.run_id = changes.run_id and deliveries.batch = changes.batch`.execute(tx)
    await removeQuotes(tx, forgetting)
    await sql`delete from hold_backs where connection = ${connection} and identity_id = ${identityId}`.execute(tx)
    await sql`delete from stated_departures where connection = ${connection} and identity_id = ${identityId}`.execute(
      tx,
    )
    await sql`
      delete from run_accounts using runs
      where account -> 'person' ->> 'identityId' = ${identityId} and runs.id = run_accounts.run_id
        and runs.connection = ${connection}`.execute(tx)
    for (const key of keys) {
      await dropWaiting(tx, { connection, identityId: key })
      await dropUnapproved(tx, { connection, identityId: key })
    }
    await deleteUsersOf(tx, { connection, identityIds: keys, at: now })
    await sql`delete from problems where connection = ${connection} and identity_id = ${identityId}`.execute(tx)
    await forgetInStatements(tx, { connection, keys })
    const changes = Number(changed.numAffectedRows ?? 0n)
    await recordAuditEntry(tx, {
      act: 'person.forgotten',
      connection,
      by,
      identityId,
      details: { reason, changes },
      now,
    })
    return changes
  })
}

const onlyLeaving = sql`case when desired is null then null
  else jsonb_build_object('identityId', desired -> 'identityId', 'separatedAt', coalesce(desired -> 'separatedAt', 'null')) end`

async function refuseUnlessGone(tx: Db, { connection, identityId, today }: ForgetRequest): Promise<void> {
  const entry = await rosterEntry(tx, { connection, identityId })
  if (!entry) throw new Failure('not_found', `"${connection}" has no person ${identityId}`)
  const { rows } = await sql<{ runId: string }>`
    select runs.id as "runId" from runs join changes on changes.run_id = runs.id
    where runs.connection = ${connection} and runs.state = 'held' and changes.identity_id = ${identityId} limit 1`.execute(
    tx,
  )
  const [held] = rows
  if (held)
    throw new Failure('conflict', `person ${identityId} waits in the plan of run ${held.runId}: decide about it first`)
  if (entry.retracted) {
    if (entry.confirmed === null) return
    throw new Failure('conflict', `the platform has not confirmed yet that person ${identityId} was deleted`)
  }
  // Without the statement, the next export would bring the person back.
  if (entry.isByOperator && !entry.inferred)
    throw new Failure(
      'conflict',
      `HR still states person ${identityId} as employed, whose departure an operator states: have HR write it first`,
    )
  const leavingDate = entry.desired?.separatedAt ?? null
  if (leavingDate === null || leavingDate.slice(0, today.length) > today)
    throw new Failure('conflict', `person ${identityId} is employed: only people who have left can be forgotten`)
  // Both are the same object once the platform has acknowledged what HR states.
  if (entry.confirmed !== entry.desired)
    throw new Failure('conflict', `the platform has not acknowledged yet that person ${identityId} has left`)
}

/** A deleted user could no longer be deactivated by its sender, so a person whose return is under way is not forgotten. */
async function refuseReturning(
  tx: Db,
  { connection, identityId }: Pick<ForgetRequest, 'connection' | 'identityId'>,
  identityIds: readonly string[],
): Promise<void> {
  const returning = await lockUsersOf(tx, { connection, identityIds })
  if (returning === 'active')
    throw new Failure(
      'conflict',
      `the sender has person ${identityId} as an active user: deactivate the user there first`,
    )
  if (returning === 'waiting')
    throw new Failure('conflict', `a change of person ${identityId} waits to be planned: repeat this afterwards`)
}

/** Removes the findings about a person, and their addresses from those about others. */
async function removeFromFindings(
  tx: Db,
  { connection, identityId }: Pick<ForgetRequest, 'connection' | 'identityId'>,
): Promise<void> {
  await sql`
    delete from effective_findings
    where person_connection = ${connection} and identity_id = ${identityId}`.execute(tx)
  for (const list of ['emails', 'logins'])
    await sql`
      update effective_findings set evidence = jsonb_set(evidence, array['values', ${list}], (
          select coalesce(jsonb_agg(address), '[]') from jsonb_array_elements_text(evidence -> 'values' -> ${list}) as address
          where lower(address) <> all(own.addresses)))
      from (
        select array[lower(coalesce(${desiredValue('email')}, '')), lower(coalesce(${desiredValue('secondaryEmail')}, ''))] as addresses
        from roster where connection = ${connection} and identity_id = ${identityId}) as own
      where exists (
        select from jsonb_array_elements_text(evidence -> 'values' -> ${list}) as address
        where lower(address) = any(own.addresses))`.execute(tx)
}

/** Removes what faults and rejected events quote of the person. */
async function removeQuotes(tx: Db, { connection, identityId }: ForgetRequest): Promise<void> {
  await removeBodiesAbout(tx, { connection, identityId })
  await sql`
    delete from rejects using runs
    where rejects.identity_id = ${identityId} and runs.id = rejects.run_id and runs.connection = ${connection}`.execute(
    tx,
  )
  // The fault stays known, so that the guards do not see it as new in the next export.
  await sql`
    update known_faults set reason = ${removedReason}, cell = null
    where connection = ${connection} and identity_id = ${identityId}`.execute(tx)
}

/**
 * Removes the bodies of rejected events about this person only. An event with other people keeps its body, which a retry needs, and its
 * reason becomes the first one about another person.
 */
async function removeBodiesAbout(
  tx: Db,
  { connection, identityId }: Pick<ForgetRequest, 'connection' | 'identityId'>,
): Promise<void> {
  const ofOthers = sql`identity_id is distinct from ${identityId}`
  await sql`
    with own as (
      select event from rejects where identity_id = ${identityId}
      union select origin ->> 'event' from changes where identity_id = ${identityId}
    ), others as (
      select inbox.id, (
          select concat_ws(': ', 'item ' || line, column_name, reason) from rejects
          where event = inbox.id::text and ${ofOthers} order by seq limit 1) as reason,
        exists (
          select 1 from changes
          where run_id = inbox.run_id and origin ->> 'event' = inbox.id::text and ${ofOthers}) as "isChange"
      from inbox join own on own.event = inbox.id::text
      where connection = ${connection} and state = 'rejected'
    )
    update inbox set body = case when others.reason is not null or "isChange" then body end,
      reason = case when others.reason is not null or "isChange" then coalesce(others.reason, ${removedReason})
        else 'its body was removed with the person' end
    from others where inbox.id = others.id`.execute(tx)
}
