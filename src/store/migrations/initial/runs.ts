/** Processes, runs, and what a run leaves behind besides its plan. */
export const runTables = `
-- The processes at work. A process that the system has stopped keeps its sessions and their locks, so each renews its lease.
create table leases (
  id integer primary key,
  seen_at timestamptz not null,
  -- How a process of the daemon describes itself; null: a command.
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

  -- Every claim raises the attempt. Writes of an older attempt are refused.
  attempt integer not null default 0,
  lease integer,

  -- What was read, and the plan that was made from it.
  source json,
  mode text,
  as_of timestamptz,
  rows integer,
  records integer,
  fields json,
  end_keys json,
  warnings json,
  verification json,
  -- How many people differ on the platform from what the source says; null until that is known.
  blocked_people json,
  counts json,
  guards json,
  -- How many people each limit counted in the plan. Later plans are measured by these. Null if nothing was judged.
  people_counts json,
  -- How many people were known before the plan. The number of people on each day is derived from this.
  known_people json,
  digest text,
  -- The digest of the connection's configuration. basis: the same with everything that operators decided about how to read the source.
  configuration text,
  basis text,
  -- Why an approval makes the plan again: facts about people of this held plan were accepted after it was made.
  outdated_reason text,
  -- The held run with the people of this run that a guard stopped.
  held_part_run_id uuid,
  -- The run with the changes of this held run that no guard stopped. It was delivered at once.
  passed_part_run_id uuid,

  -- The people who asked for the run: each with a name and with the principal that the rule of two people compares.
  requested_by json,
  -- Until when a held plan can be approved.
  expires_at timestamptz,

  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  decided_reason text,
  -- When the values of its changes were removed because their retention ended. Keys and counts stay.
  values_removed_at timestamptz,
  -- The run of another connection that read the source of this one.
  linked_run_id uuid
);
create unique index runs_one_active on runs (connection) where state in ('reading', 'planned', 'delivering');
create unique index runs_one_waiting on runs (connection, feed) where state = 'waiting';
-- Lists are ordered from the newest to the oldest: all runs, those of a connection, and those of a connection by state and trigger.
create index runs_by_age on runs (created_at, id);
create index runs_of_connection on runs (connection, created_at, id);
create index runs_by_state on runs (connection, state, trigger, created_at, id);
create index runs_held on runs (connection) where state = 'held';
create index runs_of_roster on runs (connection, as_of) where feed = 'roster';
create index runs_of_source on runs (connection, created_at, id) where feed = 'source';
create index runs_with_values on runs (finished_at) where values_removed_at is null;
create index runs_failed on runs (connection, feed, created_at) where state = 'failed';
create index runs_read on runs (connection, feed, created_at) where digest is not null and state <> 'failed';
create index runs_linked on runs (linked_run_id) where linked_run_id is not null;

-- The columns of an export as a run read them, and the column of each field. Only exports whose header was understood have a row: the
-- first line of any other may be a person.
create table source_headers (
  run_id uuid primary key references runs (id) on delete cascade,
  headers json not null,
  columns json not null
);

-- What a run about named people reports besides its plan, such as the rows of a person and how each was read. Each connection keeps only
-- the newest.
create table run_accounts (
  run_id uuid primary key references runs (id) on delete cascade,
  account jsonb not null
);
`
