import type { Migration } from '../../database/database.ts'

export const connections: Migration = {
  name: '0001-connections',
  sql: `
create table connections (
  name text primary key,

  -- Which of the platform's connections this one feeds, and what that was looked up from.
  target_key text,
  target_id bigint,
  target_lease integer,
  lacks_update boolean not null default false,

  -- The newest accepted export of the source. Exports are counted, since the clocks of two daemons need not agree.
  accepted_source json,
  accepted_as_of timestamptz,
  accepted_fields json,
  accepted_rows integer,
  accepted_end json,
  exports_accepted integer not null default 0,

  -- Whether values of people are kept. Since when digests stand for them; null: they never did. Which key made these; and the key of the
  -- person up to whom the values of before have become digests, null once all have.
  keeps_values boolean not null default true,
  digests_since timestamptz,
  digest_key text,
  digested_to text collate "C",

  -- The digest of the configuration under which the newest plan was made, and who started the process that first planned by it.
  configuration text,
  configured_by text,

  blocked_status integer,
  blocked_code text,
  blocked_reason text,
  blocked_at timestamptz,
  probe_at timestamptz
);

-- The exports that were read and then accepted, or refused by a person. One is settled once it was moved or deleted as configured.
create table taken_sources (
  connection text not null references connections (name),
  version text not null,
  source json not null,
  outcome text not null,
  taken_at timestamptz not null,
  settled_at timestamptz,
  primary key (connection, version)
);
create index taken_sources_unsettled on taken_sources (connection) where settled_at is null;

-- What people said that values mean which the configuration does not list. Values are kept folded.
create table classed_values (
  connection text not null references connections (name),
  field text not null,
  value text not null,
  meaning text not null,
  classed_by text not null,
  classed_at timestamptz not null,
  primary key (connection, field, value)
);

-- The times of schedules that have been used, so that each makes one run.
create table slots (
  connection text not null,
  slot text not null,
  taken_at timestamptz not null,
  primary key (connection, slot)
);
`,
}
