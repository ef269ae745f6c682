/** What exports held, and where everybody was when a population statement was made. */
export const statementTables = `
-- What the export of a run held, counted where the connector delivers it, and how the plan treats its rows. The keys stay until the plan is
-- accepted or dropped; null: they are those of the accepted export.
create table intakes (
  run_id uuid primary key references runs (id) on delete cascade,
  counts json not null,
  digest text not null,
  keys bytea
);

-- The keys that the newest accepted export states, as HR writes them. treatment: why no row of the key is used, or that the
-- one that is used deletes the person; null: one is used.
create table stated_keys (
  connection text not null,
  identity_id text collate "C" not null,
  treatment text,
  primary key (connection, identity_id)
);
-- The export that stated_keys holds. list_digest: the SHA-256 of the sorted digests of the keys, each with a line end; null
-- until it is needed.
create table stated_exports (
  connection text primary key references connections (name),
  run_id uuid references runs (id) on delete set null,
  as_of timestamptz not null,
  digest text not null,
  list_digest text
);

-- The population statement of a connection after each accepted run.
create table statements (
  id bigint generated always as identity primary key,
  connection text not null references connections (name),
  run_id uuid not null references runs (id) on delete cascade,
  made_at timestamptz not null,
  adds_up boolean not null,
  content json not null,
  -- Depends on everybody's part. If it is that of the statement before, nobody has moved.
  people_digest text not null
);
create index statements_of_connection on statements (connection, id);
create index statements_by_run on statements (run_id);

-- In which part each key was, from the first statement that has it so until the next one that does not; null: still. Unchanged nights
-- write nothing.
create table accounted_people (
  connection text not null,
  identity_id text collate "C" not null,
  -- Whether HR states the key, and whether the newest accepted export does.
  stated boolean not null,
  exported boolean not null,
  part text not null,
  -- employed or left, as the platform has the person; null: the platform does not have them.
  on_platform text,
  detail text,
  since bigint not null,
  until bigint,
  primary key (connection, identity_id, since)
);
create index accounted_people_current on accounted_people (connection, identity_id) where until is null;
create index accounted_people_since on accounted_people (connection, since);
create index accounted_people_until on accounted_people (connection, until) where until is not null;
`
