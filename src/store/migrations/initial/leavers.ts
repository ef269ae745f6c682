/** The clock of each departure. */
export const leaverTables = `
-- Keys, times and what the platform shows, and no personal value. A row outlives the values of its run. A person who returns and leaves
-- again has two rows, of which at most one is open.
create table leavers (
  id bigint generated always as identity primary key,
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  -- The plan that states the departure, and that sends it once it is accepted.
  run_id uuid not null,

  -- The last day of employment, and the end of that day in the time zone of the source.
  effective_on text collate "C" not null,
  effective_at timestamptz not null,
  inferred boolean not null,
  -- The person had left already when HR first named them.
  joined_as_leaver boolean not null,
  -- The dates that were stated before, each with the time until which it applied.
  previous_dates jsonb not null default '[]',

  stated_at timestamptz not null,
  -- The operator who stated the departure before HR did; null: HR did.
  stated_by text,
  first_seen_at timestamptz not null,
  accepted_at timestamptz,
  sent_at timestamptz,
  acknowledged_at timestamptz,

  -- What the platform's personnel showed, and when they are read next.
  visible_at timestamptz,
  check_at timestamptz,
  checks integer not null default 0,
  checked_at timestamptz,
  platform_status text,
  finding text,
  finding_detail text,

  ended_at timestamptz,
  ended_as text,
  check ((ended_at is null) = (ended_as is null))
);
create unique index leavers_one_open on leavers (connection, identity_id) where ended_at is null;
create index leavers_unacknowledged on leavers (run_id) where acknowledged_at is null and ended_at is null;
create index leavers_to_check on leavers (check_at) where check_at is not null;
create index leavers_by_day on leavers (connection, effective_on);
create index leavers_by_person on leavers (connection, identity_id);
`
