import { type Kysely, type RawBuilder, sql } from 'kysely'
import { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { Failure } from '../../errors.ts'
import { pluralize } from '../../web/words.ts'
import { lockPeople, refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type Actor, storeEvent, storeEventsOf, type WriteContext } from '../events/store-events.ts'
import {
  type AttemptStart,
  beginAttempt,
  deleteAttempt,
  endAttempt,
  isSyncedFor,
  lockAttempt,
  type SlotQuery,
} from './attempts.ts'
import { matchIdentities } from './matching.ts'
import type { SyncResult } from './sync-result.ts'

type SyncOptions = AttemptStart & {
  /** Called as soon as the sync has its lock and certainly runs. */
  readonly onBegin?: () => void
  /** The scheduled time. Fails with `conflict` if a sync for it has finished. */
  readonly slot?: Date
}

/**
 * Updates the personnel of an account from its live identity records, in one transaction of set-based statements.
 * It leaves fields alone that were set by hand. Fails with `conflict` while another sync of the account runs.
 */
export async function syncIdentities(db: Kysely<PlatformSchema>, options: SyncOptions): Promise<SyncResult> {
  const attempt = await beginAttempt(db, options)
  try {
    return await syncOnce(db, attempt, options)
  } catch (error) {
    if (error instanceof Failure && error.code === 'conflict') await deleteAttempt(db, attempt)
    // If the database is lost, the first error tells the reason and the attempt counts as interrupted.
    else await endAttempt(db, attempt, options.now()).catch(() => undefined)
    throw error
  }
}

async function syncOnce(db: Kysely<PlatformSchema>, attempt: number, options: SyncOptions): Promise<SyncResult> {
  const { accountId, now, onBegin, slot } = options
  const began = performance.now()
  return db.transaction().execute(async (trx) => {
    if (!(await lockForSync(trx, accountId))) {
      throw new Failure(
        'conflict',
        `an identity sync of account ${accountId} is already running; try again when it has ended`,
      )
    }
    // Another process may have finished this sync in the meantime.
    if (slot && (await isAlreadySynced(trx, accountId, { slot, now: now() })))
      throw new Failure('conflict', `account ${accountId} has been synced for ${slot.toISOString()} already`)
    await lockAttempt(trx, attempt)
    onBegin?.()
    const at = now()
    await lockHrisConnections(trx, accountId)
    await matchIdentities(trx, accountId, at)
    await chooseLeadingRecords(trx, at)
    await updateUsersFromHr(trx, at)
    const created = await addPersonnel(trx, accountId, at)
    await findChanges(trx, accountId)
    await lockPeople(trx, { accountId })
    const changed = await updatePersonnel(trx, at)
    await refreshCompliance(trx, { accountId, at })
    const by = { accountId, actor: actorOf(options), at }
    await recordStatuses(trx, by)
    const result = await storeResult(trx, options, { at, began, created, changed })
    await recordSync(trx, by, result)
    await endAttempt(trx, attempt, now(), result.id)
    return result
  })
}

async function isAlreadySynced(trx: Kysely<PlatformSchema>, accountId: number, query: SlotQuery): Promise<boolean> {
  const { rows } = await sql<{ met: boolean }>`
    select ${isSyncedFor(sql`${accountId}::bigint`, query)} as met
  `.execute(trx)
  return rows[0]?.met ?? false
}

/** Locks the account against other syncs until the transaction ends; returns false if another sync has the lock. */
export async function lockForSync(trx: Kysely<PlatformSchema>, accountId: number): Promise<boolean> {
  const { rows } = await sql`
    select id from accounts where id = ${accountId} for no key update skip locked
  `.execute(trx)
  return rows.length === 1
}

// Deleting a connection also deletes its records and their matches. Locking the connections first prevents a deadlock with that.
async function lockHrisConnections(trx: Kysely<PlatformSchema>, accountId: number): Promise<void> {
  await sql`
    select id from custom_connections where account_id = ${accountId} and provider_type = 'HRIS' order by id for key share
  `.execute(trx)
}

/**
 * The order of several records of one person: current before ended, started before future, then the latest start, then the older
 * connection.
 */
export function leadingRecordFirst(at: Date): RawBuilder<unknown> {
  return sql`
    coalesce(separated_at <= ${at}::timestamptz, false), coalesce(started_at > ${at}::timestamptz, false),
    started_at desc nulls last, connection_id, id
  `
}

async function chooseLeadingRecords(trx: Kysely<PlatformSchema>, at: Date): Promise<void> {
  await sql`
    create temp table sync_people (
      user_id bigint primary key, address text not null, has_address boolean not null, first_name text, last_name text,
      started_at timestamptz(3), separated_at timestamptz(3), status text not null
    ) on commit drop
  `.execute(trx)
  await sql`
    insert into sync_people
    select distinct on (user_id) user_id, address, has_address, first_name, last_name, started_at, separated_at,
      case
        when is_contractor is null then 'UNKNOWN'
        when separated_at <= ${at}::timestamptz then case when is_contractor then 'FORMER_CONTRACTOR' else 'FORMER_EMPLOYEE' end
        when started_at > ${at}::timestamptz then 'FUTURE_HIRE'
        when is_contractor then 'CURRENT_CONTRACTOR'
        else 'CURRENT_EMPLOYEE'
      end
    from sync_identities
    where user_id is not null
    order by user_id, ${leadingRecordFirst(at)}
  `.execute(trx)
  await sql`analyze sync_people`.execute(trx)
}

// Names come from HR. The e-mail address does only if the sync created the user, and only if no other user has the address.
async function updateUsersFromHr(trx: Kysely<PlatformSchema>, at: Date): Promise<void> {
  await sql`
    with desired as (
      select users.id,
        coalesce(person.first_name, users.first_name) as first_name,
        coalesce(person.last_name, users.last_name) as last_name,
        case when users.origin = 'identity_sync' and person.has_address and other.id is null
              and row_number() over (partition by fold_case(person.address) order by users.id) = 1
          then person.address else users.email end as email
      from sync_people as person
      join users on users.id = person.user_id
      left join sync_users as other on other.address = fold_case(person.address) and other.id <> users.id
    )
    update users
    set first_name = desired.first_name, last_name = desired.last_name, email = desired.email,
        updated_at = greatest(users.updated_at, ${at}::timestamptz), changed_in = pg_current_xact_id()
    from desired
    where users.id = desired.id
      and (users.first_name, users.last_name, users.email) is distinct from (desired.first_name, desired.last_name, desired.email)
  `.execute(trx)
}

async function addPersonnel(trx: Kysely<PlatformSchema>, accountId: number, at: Date): Promise<number> {
  return affectedRows(
    await sql`
    insert into personnel (account_id, user_id, employment_status, started_at, separated_at, created_at, updated_at)
    select ${accountId}::bigint, user_id, status, started_at, separated_at, ${at}::timestamptz, ${at}::timestamptz
    from sync_people
    where not exists (select from personnel where personnel.user_id = sync_people.user_id)
    order by user_id
  `.execute(trx),
  )
}

// People who differ from HR's record, and people without a record: these become UNKNOWN and keep their dates.
async function findChanges(trx: Kysely<PlatformSchema>, accountId: number): Promise<void> {
  await sql`
    create temp table sync_changes (
      id bigint not null, before text not null, status text not null,
      started_at timestamptz(3), separated_at timestamptz(3)
    ) on commit drop
  `.execute(trx)
  await sql`
    insert into sync_changes
    select personnel.id, personnel.employment_status, coalesce(person.status, 'UNKNOWN'),
      case when person.user_id is null then personnel.started_at else person.started_at end,
      case when person.user_id is null then personnel.separated_at else person.separated_at end
    from personnel
    left join sync_people as person on person.user_id = personnel.user_id
    where personnel.account_id = ${accountId} and (
      personnel.status_updated_at is null and personnel.employment_status <> coalesce(person.status, 'UNKNOWN')
      or person.user_id is not null and (
        not personnel.started_by_hand and personnel.started_at is distinct from person.started_at
        or not personnel.separated_by_hand and personnel.separated_at is distinct from person.separated_at
      )
    )
  `.execute(trx)
  await sql`analyze sync_changes`.execute(trx)
}

// The update reads each row again: somebody may have edited it by hand since the changes were found.
async function updatePersonnel(trx: Kysely<PlatformSchema>, at: Date): Promise<number> {
  return affectedRows(
    await sql`
    update personnel
    set employment_status = case when status_updated_at is null then change.status else employment_status end,
        not_human_reason = case when status_updated_at is null then null else not_human_reason end,
        reason_provider_id = case when status_updated_at is null then null else reason_provider_id end,
        started_at = case when started_by_hand then personnel.started_at else change.started_at end,
        separated_at = case when separated_by_hand then personnel.separated_at else change.separated_at end,
        updated_at = greatest(updated_at, ${at}::timestamptz), changed_in = pg_current_xact_id()
    from sync_changes as change
    where personnel.id = change.id
  `.execute(trx),
  )
}

function actorOf({ trigger, startedBy }: SyncOptions): Actor {
  return trigger === 'schedule'
    ? { kind: 'schedule', job: 'identity sync' }
    : { kind: 'operator', name: startedBy ?? null, command: 'sync-identities' }
}

// The event of the sync counts new people. Otherwise the first sync of a company would fill the list of events.
async function recordStatuses(trx: Kysely<PlatformSchema>, by: WriteContext): Promise<void> {
  await storeEventsOf(trx, by, {
    type: 'EMPLOYMENT_STATUS_UPDATED',
    kind: 'personnel',
    subjects: sql`
      select id, 'The employment status of person ' || id || ' changed from ' || before || ' to ' || status as description
      from sync_changes as change join personnel using (id)
      where before <> status and status_updated_at is null
    `,
  })
}

type SyncWork = { readonly at: Date; readonly began: number; readonly created: number; readonly changed: number }

async function storeResult(
  trx: Kysely<PlatformSchema>,
  { accountId, trigger }: SyncOptions,
  { at, began, created, changed }: SyncWork,
): Promise<SyncResult> {
  const counts = await statusCounts(trx, accountId)
  const identities = await countIdentities(trx)
  const durationMs = Math.round(performance.now() - began)
  const row = await trx
    .insertInto('identity_syncs')
    .values({
      account_id: accountId,
      trigger,
      started_at: at,
      duration_ms: durationMs,
      identities,
      created,
      changed,
      counts: JSON.stringify(counts),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id: row.id, trigger, startedAt: at.toISOString(), durationMs, identities, created, changed, counts }
}

async function recordSync(
  trx: Kysely<PlatformSchema>,
  by: WriteContext,
  { id, identities, created, changed }: SyncResult,
): Promise<void> {
  await storeEvent(trx, by, {
    type: 'USER_IDENTITY_PERSONNEL_SYNCED',
    description: `Identity sync read ${pluralize(identities, 'HR record')}: ${pluralize(created, 'person was', 'people were')} created and ${changed} changed`,
    target: { kind: 'identitySync', id },
  })
}

async function statusCounts(trx: Kysely<PlatformSchema>, accountId: number): Promise<SyncResult['counts']> {
  const rows = await trx
    .selectFrom('personnel')
    .select(['employment_status', sql<number>`count(*)::int`.as('people')])
    .where('account_id', '=', accountId)
    .groupBy('employment_status')
    .execute()
  const countByStatus = new Map(rows.map((row) => [row.employment_status, row.people]))
  const counts = EmploymentStatus.options.map((status) => [status, countByStatus.get(status) ?? 0])
  return Object.fromEntries(counts) as SyncResult['counts']
}

async function countIdentities(trx: Kysely<PlatformSchema>): Promise<number> {
  const { rows } = await sql<{ total: number }>`select count(*)::int as total from sync_identities`.execute(trx)
  return rows[0]?.total ?? 0
}

function affectedRows({ numAffectedRows = 0n }: { numAffectedRows?: bigint }): number {
  return Number(numAffectedRows)
}
