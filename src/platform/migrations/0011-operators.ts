import type { Migration } from '../../database/database.ts'

/**
 * Who may use the Personnel page, every attempt of an identity sync while it runs and after, and what the page searches, filters and
 * sorts people by. `search_words` takes accents off names; "NFD" sets them apart from their letters first.
 */
export const operators: Migration = {
  name: '0011-operators',
  sql: `
    create table operators (
      id bigint generated always as identity primary key,
      name text not null unique,
      account_id bigint references accounts on delete cascade,
      password text not null,
      created_at timestamptz(3) not null
    );
    create index operators_account on operators (account_id);

    create table operator_sessions (
      hash text primary key,
      operator_id bigint not null references operators on delete cascade,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null
    );
    create index operator_sessions_operator on operator_sessions (operator_id);

    create table identity_sync_attempts (
      id bigint generated always as identity primary key,
      account_id bigint not null references accounts on delete cascade,
      trigger text not null check (trigger in ('schedule', 'operator')),
      started_by text,
      started_at timestamptz(3) not null,
      ended_at timestamptz(3),
      sync_id bigint references identity_syncs on delete cascade
    );
    create index identity_sync_attempts_account on identity_sync_attempts (account_id, id);
    create index identity_sync_attempts_sync on identity_sync_attempts (sync_id);
    insert into identity_sync_attempts (account_id, trigger, started_at, ended_at, sync_id)
      select account_id, trigger, started_at, started_at + duration_ms * interval '1 millisecond', id
      from identity_syncs order by id;

    create function search_text(first_name text, last_name text, email text) returns text
      language sql immutable parallel safe
      return lower(regexp_replace(
        normalize(
          left(coalesce(first_name, ''), 191) || ' ' || left(coalesce(last_name, ''), 191) || ' ' || left(email, 191), NFD),
        '[\\u0300-\\u036f]', '', 'g'));
    create function search_words(first_name text, last_name text, email text) returns tsvector
      language sql immutable parallel safe
      return array_to_tsvector(array_remove(
        regexp_split_to_array(search_text(first_name, last_name, email), '\\s+')
          || regexp_split_to_array(search_text(first_name, last_name, email), '[-\\s.,_@+/()'']+'),
        ''));
    alter table users add column words tsvector not null
      generated always as (search_words(first_name, last_name, email)) stored;
    create index users_words on users using gin (words);
    create index users_names on users
      (account_id, lower(coalesce(last_name, first_name, email)), lower(coalesce(first_name, '')), id);
    create index personnel_status on personnel (account_id, employment_status);
    create index personnel_by_hand on personnel (account_id) where status_updated_at is not null;
  `,
}
