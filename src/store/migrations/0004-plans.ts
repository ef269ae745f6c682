import type { Migration } from '../../database/database.ts'

export const plans: Migration = {
  name: '0004-plans',
  sql: `
-- What a plan would make of the roster, kept until the plan is accepted or dropped.
create table plan_entries (
  run_id uuid not null references runs (id) on delete cascade,
  identity_id text collate "C" not null,
  wanted jsonb,
  inferred boolean not null,
  deferred_to text,
  cleared_date text,
  deferred_zone text,
  due_at timestamptz,
  held_leaving jsonb,
  as_of timestamptz not null,
  employment_as_of timestamptz,
  field_times jsonb,
  absences integer not null,
  traits jsonb,
  to_digest boolean not null default false,
  primary key (run_id, identity_id)
);

-- The changes of each run, and what became of each of them. A change in state 'due' counts as confirmed once its batch has an answer.
create table changes (
  run_id uuid not null references runs (id) on delete cascade,
  identity_id text collate "C" not null,
  kind text not null,
  -- As text, since it is sent as it is stored; only its leaving date is looked at.
  record json,
  -- The record lacks fields whose values are not kept: the platform has them.
  partial boolean not null default false,
  separated_at text,
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
  -- Digests stand for the values.
  digested boolean not null default false,
  primary key (run_id, identity_id)
);
create index changes_by_person on changes (identity_id);
-- The kinds by which people are judged, which are few among many. Of the others a list goes through the changes of its run.
create index changes_by_kind on changes (run_id, kind, identity_id) where kind not in ('join', 'update');
-- Of all changes that have a batch, and not only of those that are due, so that writing an outcome moves no index entry.
create index changes_by_batch on changes (run_id, batch) where batch is not null;
`,
}
