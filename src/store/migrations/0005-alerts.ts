import type { Migration } from '../../database/database.ts'

export const alerts: Migration = {
  name: '0005-alerts',
  sql: `
-- What is wrong with a connection, and how far somebody was told. Which telling is next follows from the row: that it was raised, until
-- that was told once; then that it is over, or a reminder.
create table alerts (
  id uuid primary key,
  connection text not null references connections (name),
  kind text not null,
  code text,
  reason text not null,
  since timestamptz not null,
  people integer,
  leavers integer,
  run_id uuid,
  raised_at timestamptz not null,
  gone_at timestamptz,
  cleared_at timestamptz,
  next_at timestamptz,
  claimed_until timestamptz,
  tellings integer not null default 0,
  attempts integer not null default 0,
  told_at timestamptz,
  last_failure text
);
create unique index alerts_one_open on alerts (connection, kind) where cleared_at is null;
create index alerts_untold on alerts (next_at) where next_at is not null;

create index runs_held on runs (connection) where state = 'held';
create index runs_failed on runs (connection, feed, created_at) where state = 'failed';
create index runs_read on runs (connection, feed, created_at) where digest is not null and state <> 'failed';
`,
}
