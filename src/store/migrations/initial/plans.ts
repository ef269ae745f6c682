/**
 * Plans. Their runs are no foreign keys: the check would cost a lookup for each row. All rows of a run are written under its lock.
 *
 * The comments in the SQL are part of the digest of the migration, and a store that was written with it refuses another one. Where they are inexact:
 * queries also read managers, names and e-mail addresses from `changes.record`. `changes_by_kind` leaves out joiners and updates because they are most
 * changes of a run. `plan_entries_deferred` finds the future leaving dates of a plan, which are recorded in `leavers`.
 */
export const planTables = `
-- What a plan would make of the roster, kept until the plan is accepted or dropped.
create table plan_entries (
  run_id uuid not null,
  identity_id text collate "C" not null,
  desired jsonb,
  inferred boolean not null,
  deferred_to text,
  cleared_date text,
  deferred_zone text,
  due_at timestamptz,
  held_departure jsonb,
  is_by_operator boolean not null default false,
  as_of timestamptz not null,
  employment_as_of timestamptz,
  field_times jsonb,
  absences integer not null,
  export_is_silent boolean not null default false,
  primary key (run_id, identity_id)
);
alter table plan_entries alter column desired set statistics 0, alter column field_times set statistics 0;
-- Every run looks for dates in held plans whose day has come.
create index plan_entries_due on plan_entries (due_at) where due_at is not null;
-- The clocks of leavers are started from the few people of a plan who have a date.
create index plan_entries_deferred on plan_entries (run_id, identity_id) where deferred_to is not null;

-- The changes of each run, and the outcome of each. A change is due as soon as it is planned. It is sent once its batch has a delivery, which
-- the accepted plan brings. It counts as confirmed once its batch has an answer.
create table changes (
  run_id uuid not null,
  identity_id text collate "C" not null,
  kind text not null,
  -- json and not jsonb, because the text is sent as it is stored. Only its leaving date is looked at.
  record json,
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
  -- What the change adds to the digest of its plan; null once its values were removed.
  digest text,
  -- The new roster entry follows from this change and from the time of the run's source, so it has no row in plan_entries. This holds for
  -- nearly every change of an export. It means nothing once the plan is accepted, and is never true in a held plan.
  is_entry boolean not null default false,
  primary key (run_id, identity_id)
);
alter table changes alter column record set statistics 0, alter column fields set statistics 0, alter column origin set statistics 0,
  alter column answer set statistics 0;
create index changes_by_person on changes (identity_id);
-- The kinds that guards judge, which are rare. A list of the other kinds reads all changes of its run.
create index changes_by_kind on changes (run_id, kind, identity_id) where kind not in ('join', 'update');
-- All changes that have a batch, and not only those that are due, so that writing an outcome moves no index entry.
create index changes_by_batch on changes (run_id, batch) where batch is not null;
create index changes_leaving on changes (run_id, identity_id) where separated_at is not null;
`
