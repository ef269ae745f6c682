/** Connections with what belongs to each of them, and the installation that the store is of. */
export const connectionTables = `
create table connections (
  name text primary key,

  -- The connection of the platform that this one feeds: the key that names it in the configuration, and the id that the platform gave.
  target_key text,
  target_id bigint,
  target_lease integer,
  lacks_update boolean not null default false,

  -- The newest accepted export of the source. Exports are counted, because the clocks of two daemons may differ.
  accepted_source json,
  accepted_as_of timestamptz,
  accepted_fields json,
  accepted_rows integer,
  accepted_end json,
  exports_accepted integer not null default 0,

  -- The digest of the configuration that made the newest plan, and who started the process that first planned with it.
  configuration text,
  configured_by text,

  blocked_status integer,
  blocked_code text,
  blocked_reason text,
  blocked_at timestamptz,
  probe_at timestamptz,

  -- Raised by every change of who is desired and who has left. Counting people reads every row, so a count is kept for a version.
  roster_version integer not null default 0,
  -- The resource of a CUSTOM connection, which takes its records.
  target_resource integer
);

-- The exports that were read and then accepted, or rejected by a person. archived_at: when the export was moved or deleted as configured.
create table decided_sources (
  connection text not null references connections (name),
  version text not null,
  source json not null,
  outcome text not null,
  decided_at timestamptz not null,
  archived_at timestamptz,
  -- When the source last listed this export. While the source lists it, it could be read again.
  listed_at timestamptz,
  primary key (connection, version)
);
create index decided_sources_to_archive on decided_sources (connection) where archived_at is null;

-- Values that the configuration does not list, as operators classified them. Values are stored with their case folded.
create table classified_values (
  connection text not null references connections (name),
  field text not null,
  value text not null,
  meaning text not null,
  classified_by text not null,
  classified_at timestamptz not null,
  primary key (connection, field, value)
);

-- The times of schedules that were used, so that each makes one run.
create table slots (
  connection text not null,
  slot text not null,
  taken_at timestamptz not null,
  primary key (connection, slot)
);

-- The newest pause of each connection. A paused connection starts no run by itself.
create table pauses (
  connection text primary key references connections (name),
  since timestamptz not null,
  -- When it ends by itself; null: when a person ends it.
  until timestamptz,
  reason text not null,
  paused_by text not null,
  -- When a person ended it.
  ended_at timestamptz
);

-- The installation that this store belongs to. Its data folder knows the same id. There is one row.
create table installation (
  one boolean primary key default true check (one),
  id uuid not null,
  made_at timestamptz not null,
  -- Where the store was moved to. A store that was moved is no longer used.
  moved_to text,
  moved_at timestamptz
);

-- Connections whose store was restored from a backup. Before the next plan, each reads from the platform what happened since.
create table restored_connections (
  connection text primary key references connections (name),
  known_until timestamptz not null,
  restored_at timestamptz not null
);
`
