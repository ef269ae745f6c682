import { type Kysely, sql } from 'kysely'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { leadingRecordFirst } from '../identity-sync/identity-sync.ts'
import { shownStatuses } from './present-checks.ts'

/** The maximum age of what a search shows. */
export const maxLagMs = 5000

type Update = { readonly at: number; readonly done: Promise<void>; isRunning: boolean }
type Reader = Pick<PlatformContext, 'db' | 'accountId' | 'now'>

/** The last update of each account's index by this process. */
const updates = new WeakMap<Kysely<PlatformSchema>, Map<number, Update>>()

/** Brings the search index of the account up to date if this process last did so more than `maxLagMs` ago. */
export async function updateIndexIfOld(reader: Reader): Promise<void> {
  const { db, accountId, now } = reader
  const at = now().getTime()
  const byAccount = updates.getOrInsertComputed(db, () => new Map())
  const last = byAccount.get(accountId)
  // A clock that was set back must not keep an old index.
  if (last && at >= last.at && at - last.at < maxLagMs) return last.done
  if (!last?.isRunning) return beginUpdate(byAccount, reader)
  // One update at a time: more would wait for its lock, each with a connection of the database.
  await Promise.allSettled([last.done])
  const next = byAccount.get(accountId)
  // Whatever began while this search waited is new enough for it.
  return next === undefined || next === last ? beginUpdate(byAccount, reader) : next.done
}

async function beginUpdate(byAccount: Map<number, Update>, { db, accountId, now }: Reader): Promise<void> {
  const update: Update = { at: now().getTime(), done: updateIndex(db, accountId, now()), isRunning: true }
  byAccount.set(accountId, update)
  try {
    await update.done
  } catch (error) {
    if (byAccount.get(accountId) === update) byAccount.delete(accountId)
    throw error
  } finally {
    update.isRunning = false
  }
}

const writtenColumns = [
  ...['id', 'account_id', 'user_id', 'employment_status', 'started_at', 'separated_at', 'status_updated_at'],
  ...['not_human_reason', 'reason_provider_id', 'created_at', 'updated_at', 'email', 'first_name', 'last_name'],
  ...['job_title', 'checks', 'group_ids', 'idp_connection_id', 'hris_connection_id'],
]
const columnsOf = (prefix: string) => sql.raw(writtenColumns.map((name) => `${prefix}.${name}`).join(', '))
const columns = sql.raw(writtenColumns.join(', '))
/** The columns that decide the position of a person in the orders by name and by start. */
const positionOf = (prefix: string) =>
  sql.raw(['email', 'first_name', 'last_name', 'started_at'].map((name) => `${prefix}.${name}`).join(', '))

// One process at a time updates the index of an account, so that two never wait for rows of each other.
async function updateIndex(db: Kysely<PlatformSchema>, accountId: number, at: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(hashtext('personnel_search'), ${accountId}::int)`.execute(trx)
    await sql`
      insert into personnel_search (${columns})
      select ${columnsOf('person')} from (${indexedPeople(accountId, at)}) as person
      left join personnel_search as stored on stored.id = person.id
      where stored.id is null or (${columnsOf('stored')}) is distinct from (${columnsOf('person')})
      order by person.id
      on conflict (id) do update set (${columns}) = row(${columnsOf('excluded')}), changed_in = pg_current_xact_id(),
        moved_in = case when (${positionOf('personnel_search')}) is distinct from (${positionOf('excluded')})
          then pg_current_xact_id() else personnel_search.moved_in end
    `.execute(trx)
  })
}

/** A query for what the index holds of the people of an account. */
function indexedPeople(accountId: number, at: Date) {
  return sql`
    select person.id, person.account_id, person.user_id, person.employment_status, person.started_at, person.separated_at,
      person.status_updated_at, person.not_human_reason, person.reason_provider_id, person.created_at, person.updated_at,
      users.email, users.first_name, users.last_name, coalesce(record.job_title, users.job_title) as job_title,
      ${shownStatuses} as checks, coalesce(membership.group_ids, '{}') as group_ids, membership.provider_id as idp_connection_id,
      record.connection_id as hris_connection_id
    from personnel as person
    join users on users.id = person.user_id
    left join (${leadingRecords(accountId, at)}) as record on record.user_id = person.user_id
    left join (
      select member.person_id, array_agg(owner.id order by owner.id) as group_ids, min(owner.provider_id) as provider_id
      from group_members as member join personnel_groups as owner on owner.id = member.group_id
      where owner.account_id = ${accountId}
      group by member.person_id
    ) as membership on membership.person_id = person.id
    where person.account_id = ${accountId}`
}

function leadingRecords(accountId: number, at: Date) {
  return sql`
    select distinct on (user_id) user_id, connection_id, job_title
    from (
      select match.user_id, identity.connection_id, identity.id, identity.job_title, identity.started_at, identity.separated_at
      from identity_matches as match
      join hris_user_identities as identity on identity.id = match.identity_row_id and identity.deleted_at is null
      join custom_connections as connection on connection.id = identity.connection_id
      where connection.account_id = ${accountId}
    ) as matched
    order by user_id, ${leadingRecordFirst(at)}`
}
