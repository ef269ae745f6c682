import { belongsTo, listIndexes, times } from './columns.ts'

/**
 * The index of the search: for each person what a search compares and shows. Searches bring it up to date when it is older than a few
 * seconds. What costs time to compute is generated, so that only people who changed cost it. `moved_in` is the transaction that last changed the name or the start, so that a walk in that order finds who moved.
 */
export const personnelSearchTable = `
create table personnel_search (
  id bigint primary key references personnel on delete cascade,
  account_id ${belongsTo('accounts')},
  user_id bigint not null,
  employment_status text not null,
  started_at timestamptz(3),
  separated_at timestamptz(3),
  status_updated_at timestamptz(3),
  not_human_reason text,
  reason_provider_id bigint,
  ${times},
  email text not null,
  first_name text,
  last_name text,
  job_title text,
  name text not null generated always as (
    fold_case(coalesce(last_name, first_name, email) || ' ' || coalesce(first_name, ''))
  ) stored,
  -- Whoever has no start comes last.
  start_date timestamptz(3) not null generated always as (
    coalesce(started_at, timestamptz '9999-12-31 00:00:00+00')
  ) stored,
  words tsvector not null generated always as (
    search_words(first_name, last_name, email) || search_words(job_title, null, '')
  ) stored,
  -- The status of each check, by type.
  checks jsonb not null,
  group_ids bigint[] not null,
  idp_connection_id bigint,
  hris_connection_id bigint,
  changed_in xid8 not null default pg_current_xact_id(),
  moved_in xid8
);
${listIndexes('personnel_search', 'personnel_search', 'account_id')}
create index personnel_search_name on personnel_search (account_id, name, id);
create index personnel_search_start on personnel_search (account_id, start_date, id);
create index personnel_search_words on personnel_search using gin (words);
create index personnel_search_groups on personnel_search using gin (group_ids);
`
