/** Alerts and the messages about them. */
export const alertTables = `
-- What is wrong with a connection. The connection is no foreign key: one that was never read can have an alert too.
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

-- What a channel was notified of. The next notification says that the condition was raised, until that was sent once; after that it is a
-- reminder, or says that the condition is over. Nothing is due if next_at is null.
create table notifications (
  alert_id uuid not null references alerts (id) on delete cascade,
  channel text not null,
  next_at timestamptz,
  claimed_until timestamptz,
  sent integer not null default 0,
  attempts integer not null default 0,
  -- The code that was sent last. Another code is reported again.
  sent_code text,
  notified_at timestamptz,
  last_failure text,
  primary key (alert_id, channel)
);
create index notifications_due on notifications (channel, next_at) where next_at is not null;

-- The messages of the last day. The limit of a channel counts them.
create table alert_messages (
  channel text not null,
  sent_at timestamptz not null
);
create index alert_messages_by_time on alert_messages (channel, sent_at);
`
