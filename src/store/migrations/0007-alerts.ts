import type { Migration } from '../../database/database.ts'

export const alerts: Migration = {
  name: '0007-alerts',
  sql: `
-- What is wrong with a connection, and how far operators were notified of it. The row says which notification is next: that the
-- condition was raised, until that was sent once; then that it is over, or a reminder.
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
  absent_since timestamptz,
  cleared_at timestamptz,

  next_at timestamptz,
  claimed_until timestamptz,
  notifications integer not null default 0,
  attempts integer not null default 0,
  notified_at timestamptz,
  last_failure text
);
create unique index alerts_one_open on alerts (connection, kind) where cleared_at is null;
create index alerts_due on alerts (next_at) where next_at is not null;
`,
}
