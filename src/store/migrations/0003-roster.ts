import type { Migration } from '../../database/database.ts'

export const roster: Migration = {
  name: '0003-roster',
  sql: `
create table roster (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  wanted jsonb,
  inferred boolean not null default false,
  -- A leaving date that waits for its day, the zone in which that day begins, and the instant at which it does.
  deferred_to text,
  cleared_date text,
  deferred_zone text,
  due_at timestamptz,
  -- A leaving that an operator holds back until a day, which then is when it is due.
  held_leaving jsonb,

  -- When the newest fact was true, and when the newest one about employment was, which may be earlier; null: there was none.
  as_of timestamptz not null,
  employment_as_of timestamptz,
  -- The times of fields, by name, that are before as_of.
  field_times jsonb,
  -- The newest accepted export has spoken about everyone whose row was there before it was counted.
  exports_before integer not null default 0,
  absences integer not null default 0,

  retracted_reason text,
  retracted_at timestamptz,

  -- When a person had the values removed of someone who has left. The key stays, so that no later export makes a joiner of them.
  forgotten_at timestamptz,

  -- What the person can be known again by under another key, as digests, where values are not kept.
  traits jsonb,
  -- Values that are to become digests as soon as the platform has acknowledged them.
  to_digest boolean not null default false,

  -- A request may have reached the platform, and its outcome is not known: the next run reads back what the platform holds.
  uncertain boolean not null default false,
  primary key (connection, identity_id)
);
create index roster_due on roster (due_at) where due_at is not null;
create index roster_to_digest on roster (connection, identity_id) where to_digest;
create index roster_uncertain on roster (connection) where uncertain;

-- What the platform acknowledged last of people of whom HR then wanted something else; null: nothing yet. People whom the platform
-- has as wanted, which are nearly all, need no second record and have no row. A batch that is taken as a whole says so once: a row
-- whose run sent such a batch no longer counts, and is removed later.
create table acknowledged (
  connection text not null,
  identity_id text collate "C" not null,
  confirmed jsonb,
  run_id uuid,
  primary key (connection, identity_id)
);
`,
}
