import type { Migration } from '../../database/database.ts'

export const store: Migration = {
  name: '0001-store',
  sql: `
create table connections (
  name text primary key,
  target_key text,
  target_id bigint,
  lacks_update boolean not null default false,
  accepted_as_of timestamptz,
  accepted_fields json,
  blocked_status integer,
  blocked_reason text,
  blocked_at timestamptz,
  probe_at timestamptz,
  resolver integer
);

create table runs (
  id uuid primary key,
  connection text not null references connections (name),
  trigger text not null,
  state text not null,
  options jsonb not null,
  attempt integer not null default 0,
  lease integer,
  source json,
  as_of timestamptz,
  rows integer,
  records integer,
  counts json,
  guards json,
  digest text,
  fields json,
  verification json,
  reason text,
  failure text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  decided_by text,
  decided_at timestamptz
);
create unique index runs_one_active on runs (connection) where state in ('reading', 'planned', 'delivering');
create unique index runs_one_waiting on runs (connection) where state = 'waiting';
create index runs_by_age on runs (created_at desc, id);

create table roster (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  wanted jsonb,
  inferred boolean not null default false,
  deferred_to text,
  as_of timestamptz not null,
  absences integer not null default 0,
  confirmed jsonb,
  confirmed_at timestamptz,
  retracted_reason text,
  retracted_at timestamptz,
  primary key (connection, identity_id)
);

-- What a plan would make of the roster, kept until the plan is accepted or dropped.
create table plan_entries (
  run_id uuid not null references runs (id) on delete cascade,
  identity_id text collate "C" not null,
  wanted jsonb,
  inferred boolean not null,
  deferred_to text,
  as_of timestamptz not null,
  absences integer not null,
  primary key (run_id, identity_id)
);

create table changes (
  run_id uuid not null references runs (id) on delete cascade,
  identity_id text collate "C" not null,
  kind text not null,
  record jsonb,
  fields jsonb,
  inferred boolean not null default false,
  carried boolean not null default false,
  reason text,
  origin jsonb,
  batch integer,
  state text not null,
  step text,
  requests integer not null default 0,
  sent_at timestamptz,
  answered_at timestamptz,
  answer jsonb,
  primary key (run_id, identity_id)
);
create index changes_by_person on changes (identity_id);
create index changes_by_batch on changes (run_id, batch) where state = 'due';

create table deliveries (
  run_id uuid not null references runs (id) on delete cascade,
  batch integer not null,
  kind text not null,
  state text not null,
  due_at timestamptz not null,
  attempts integer not null default 0,
  lease integer,
  requests integer not null default 0,
  last_failure text,
  primary key (run_id, batch)
);
create index deliveries_due on deliveries (due_at) where state = 'due';

create table rejects (
  run_id uuid not null references runs (id) on delete cascade,
  line integer not null,
  column_name text,
  reason text not null,
  identity_id text
);
create index rejects_by_run on rejects (run_id, line);

create table problems (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  run_id uuid not null references runs (id),
  kind text not null,
  status integer,
  message text not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  times integer not null default 1,
  primary key (connection, identity_id)
);

create table slots (
  connection text not null,
  slot text not null,
  taken_at timestamptz not null,
  primary key (connection, slot)
);
`,
}
