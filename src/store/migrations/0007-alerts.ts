import type { Migration } from '../../database/database.ts'

export const alerts: Migration = {
  name: '0007-alerts',
  sql: `
-- What is wrong with a connection. A connection that was never read can have an alert too, so that no other table has to know it.
create table alerts (
  id uuid primary key,
  connection text not null,
  kind text not null,
  code text,
  reason text not null,
  since timestamptz not null,
  people integer,
  leavers integer,
  run_id uuid,

  raised_at timestamptz not null,
  absent_since timestamptz,
  cleared_at timestamptz
);
create unique index alerts_one_open on alerts (connection, kind) where cleared_at is null;

-- How far one channel was notified of an alert. The row says which notification is next: that the condition was raised, until that
-- was sent once; then that it is over, or a reminder. Nothing is due any more where next_at is null.
create table notifications (
  alert_id uuid not null references alerts (id) on delete cascade,
  channel text not null,
  next_at timestamptz,
  claimed_until timestamptz,
  sent integer not null default 0,
  attempts integer not null default 0,
  -- The code that was sent last: another one is reported again.
  sent_code text,
  notified_at timestamptz,
  last_failure text,
  -- The recipients that did not take the message that the others took; null: all of them are still to get it.
  left_to text[],
  primary key (alert_id, channel)
);
create index notifications_due on notifications (channel, next_at) where next_at is not null;

-- The messages of the last day, by which a channel's limit is measured.
create table alert_messages (
  channel text not null,
  sent_at timestamptz not null,
  summary boolean not null
);
create index alert_messages_by_time on alert_messages (channel, sent_at);
`,
}
