import type { Migration } from '../../database/database.ts'

export const runs: Migration = {
  name: '0002-runs',
  sql: `
-- The processes at work. A process that the system has stopped keeps its sessions and their locks, so it has to show that it moves.
create table leases (
  id integer primary key,
  seen_at timestamptz not null,
  -- What a process of the daemon says of itself; null: a command.
  process jsonb
);

create table runs (
  id uuid primary key,
  connection text not null references connections (name),
  feed text not null default 'source',
  trigger text not null,
  options jsonb not null,
  state text not null,
  reason text,
  failure text,

  -- Every claim counts up the attempt, which fences what an older one writes.
  attempt integer not null default 0,
  lease integer,

  -- What was read, and the plan that was made of it.
  source json,
  mode text,
  as_of timestamptz,
  rows integer,
  records integer,
  fields json,
  end_keys json,
  warnings json,
  verification json,
  -- How many people were not served as the source says; null until that is known.
  unserved json,
  counts json,
  guards json,
  -- What the limits of people counted in the plan, by which later plans are measured; null where nothing was judged.
  people_counts json,
  -- How many people were known before the plan: how many there were on each day is told from that.
  known_people json,
  digest text,
  -- The digest of the connection's configuration, and of that with all else that people have said how to read its source.
  configuration text,
  basis text,
  -- What was accepted about the people of a held plan since it was made: an approval then has the plan made again.
  moved text,
  -- The held run of the people of this run that a guard stopped.
  set_aside uuid,
  -- The run of the changes of this held one that no guard put in doubt, and that went on at once.
  went_on uuid,

  -- The people who asked for the run: each with the name and with who that is for the rule of two people.
  requested_by json,
  -- Until when a held plan can be approved.
  expires_at timestamptz,

  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  decided_reason text,
  -- When the values of its changes were removed, because they are kept for a while only; keys and counts stay.
  values_removed_at timestamptz,
  -- When digests took the place of the values of its changes, because the connection keeps none.
  values_digested_at timestamptz
);
create unique index runs_one_active on runs (connection) where state in ('reading', 'planned', 'delivering');
create unique index runs_one_waiting on runs (connection, feed) where state = 'waiting';
-- Lists go from the newest to the oldest: all, those of a connection, and those of a connection in a state by a trigger.
create index runs_by_age on runs (created_at, id);
create index runs_of_connection on runs (connection, created_at, id);
create index runs_by_state on runs (connection, state, trigger, created_at, id);
create index runs_held on runs (connection) where state = 'held';
create index runs_of_roster on runs (connection, as_of) where feed = 'roster';
create index runs_with_values on runs (finished_at) where values_removed_at is null;
create index runs_failed on runs (connection, feed, created_at) where state = 'failed';
create index runs_read on runs (connection, feed, created_at) where digest is not null and state <> 'failed';

-- Rows and events of a run that could not become records, and cells that cost a record a field.
create table rejects (
  run_id uuid not null references runs (id) on delete cascade,
  seq bigint generated always as identity,
  line integer not null,
  column_name text,
  reason text not null,
  identity_id text,
  event text,
  cell_only boolean not null,
  may_leave boolean not null,
  fingerprint text not null,
  unlisted jsonb
);
create index rejects_by_run on rejects (run_id, seq);

-- What is wrong with the newest export of a connection, each fault once. It is known by its fingerprint in the next one, and stands
-- until an export is accepted without it.
create table standing_rejects (
  connection text not null references connections (name),
  fingerprint text not null,
  identity_id text collate "C",
  line integer not null,
  column_name text,
  -- What the cell was to fill, if that is a field with a time of its own.
  field text,
  reason text not null,
  source text,
  cell_only boolean not null,
  may_leave boolean not null,
  unlisted jsonb,
  -- How many rows have it: in the newest export that was read, and in the newest that was accepted.
  times integer not null,
  accepted_times integer not null default 0,
  -- False where a newer row of the same person counts.
  unserved boolean not null,
  -- The run that met it last.
  run_id uuid not null references runs (id),
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (connection, fingerprint)
);
create index standing_rejects_by_run on standing_rejects (run_id);
create index standing_rejects_leavers on standing_rejects (connection) where may_leave;

-- Values of closed lists that were accepted with a plan and that no list holds. Only other ones hold a plan again.
create table unlisted_values (
  connection text not null references connections (name),
  field text not null,
  value text not null,
  first_at timestamptz not null,
  primary key (connection, field, value)
);
`,
}
