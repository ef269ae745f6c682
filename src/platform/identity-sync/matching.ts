import { type Kysely, sql } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'

/**
 * Fills the temporary tables `sync_users`, and `sync_identities` with the account's live HR records and their users. The user of a
 * record is the one with its e-mail address; otherwise the user of its last match; otherwise the only user with its names; otherwise
 * a new one.
 */
export async function matchIdentities(trx: Kysely<PlatformSchema>, accountId: number, at: Date): Promise<void> {
  await collectIdentities(trx, accountId)
  await collectUsers(trx, accountId)
  await matchByAddress(trx)
  await matchByPreviousUser(trx)
  await matchByNames(trx)
  await createUsers(trx, accountId, at)
  await matchByAddress(trx)
  await storeMatches(trx)
}

// A user needs an e-mail address. A record without one gets an address from its id in a domain that can never exist.
async function collectIdentities(trx: Kysely<PlatformSchema>, accountId: number): Promise<void> {
  await sql`
    create temp table sync_identities (
      id bigint primary key, connection_id bigint not null, user_id bigint, address text not null, has_address boolean not null,
      first_name text, last_name text, started_at timestamptz(3), separated_at timestamptz(3), is_contractor boolean
    ) on commit drop
  `.execute(trx)
  await sql`
    insert into sync_identities
    select identity.id, identity.connection_id, null,
      coalesce(identity.email, 'identity-' || identity.id || '@no-address.invalid'), identity.email is not null,
      identity.first_name, identity.last_name, identity.started_at, identity.separated_at, identity.is_contractor
    from hris_user_identities as identity
    join custom_connections as connection on connection.id = identity.connection_id
    where connection.account_id = ${accountId} and connection.provider_type = 'HRIS' and identity.deleted_at is null
  `.execute(trx)
  await sql`analyze sync_identities`.execute(trx)
}

// A copy of the account's users, whose size the planner knows also if most of them are new.
async function collectUsers(trx: Kysely<PlatformSchema>, accountId: number): Promise<void> {
  await sql`
    create temp table sync_users (
      id bigint primary key, address text not null, first_name text, last_name text, is_person boolean not null
    ) on commit drop
  `.execute(trx)
  await sql`
    insert into sync_users
    select id, fold_case(email), first_name, last_name, origin <> 'api_key' from users where account_id = ${accountId}
  `.execute(trx)
  await sql`analyze sync_users`.execute(trx)
}

async function matchByAddress(trx: Kysely<PlatformSchema>): Promise<void> {
  await sql`
    update sync_identities as identity
    set user_id = known.id
    from sync_users as known
    where identity.user_id is null and known.is_person and known.address = fold_case(identity.address)
  `.execute(trx)
}

// An address can change, or pass to another person: the record that has it now comes before the one that had it.
async function matchByPreviousUser(trx: Kysely<PlatformSchema>): Promise<void> {
  await sql`
    update sync_identities as identity
    set user_id = before.user_id
    from identity_matches as before
    where identity.user_id is null and before.identity_row_id = identity.id
      and not exists (select from sync_identities as other where other.user_id = before.user_id)
  `.execute(trx)
}

async function matchByNames(trx: Kysely<PlatformSchema>): Promise<void> {
  await sql`
    with namesakes as (
      select first_name, last_name, min(id) as user_id
      from sync_users
      where is_person and first_name is not null and last_name is not null
      group by first_name, last_name
      having count(*) = 1
    ), open as (
      select first_name, last_name, min(id) as id
      from sync_identities
      where user_id is null and first_name is not null and last_name is not null
      group by first_name, last_name
      having count(*) = 1
    )
    update sync_identities as identity
    set user_id = namesakes.user_id
    from open join namesakes using (first_name, last_name)
    where identity.id = open.id
      and not exists (select from sync_identities as other where other.user_id = namesakes.user_id)
  `.execute(trx)
}

async function createUsers(trx: Kysely<PlatformSchema>, accountId: number, at: Date): Promise<void> {
  await sql`
    with newcomers as (
      select distinct on (fold_case(address)) id, address, first_name, last_name
      from sync_identities
      where user_id is null
      order by fold_case(address), id
    ), created as (
      insert into users (account_id, email, first_name, last_name, origin, created_at, updated_at)
      select ${accountId}::bigint, address, first_name, last_name, 'identity_sync', ${at}::timestamptz, ${at}::timestamptz
      from newcomers
      order by id
      on conflict (account_id, fold_case(email)) do nothing
      returning id, email, first_name, last_name
    )
    insert into sync_users select id, fold_case(email), first_name, last_name, true from created
  `.execute(trx)
  await sql`analyze sync_users`.execute(trx)
}

async function storeMatches(trx: Kysely<PlatformSchema>): Promise<void> {
  await sql`
    insert into identity_matches (identity_row_id, user_id)
    select id, user_id from sync_identities where user_id is not null order by id
    on conflict (identity_row_id) do update set user_id = excluded.user_id
      where identity_matches.user_id <> excluded.user_id
  `.execute(trx)
}
