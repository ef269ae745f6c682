/** Events of webhooks. */
export const inboxTables = `
-- Events as they were received. A body is removed as soon as it is no longer needed. The rest of the row recognises a repetition.
create table inbox (
  id bigint generated always as identity primary key,
  connection text not null references connections (name),
  dedup_key text not null,
  event_id text,
  signed_at timestamptz,
  received_at timestamptz not null,
  body bytea,
  state text not null,
  run_id uuid,
  reason text,
  -- The event waits for the held run, although the plan of that run does not contain it.
  joined boolean not null default false,
  -- When a rejected event with a future date takes effect. It is read again then.
  retry_at timestamptz,
  unique (connection, dedup_key),
  check (state not in ('pending', 'held') or body is not null)
);
create index inbox_pending on inbox (connection, id) where state = 'pending';
create index inbox_rejected on inbox (connection, id) where state = 'rejected';
create index inbox_of_connection on inbox (connection, id);
create index inbox_taken on inbox (run_id) where state = 'pending' and run_id is not null;
create index inbox_held on inbox (connection, run_id) where state = 'held';
create index inbox_retried on inbox (retry_at) where state = 'rejected' and retry_at is not null;

-- Events without effect on a person, because newer facts about the person were known. The rows are removed with their event.
create table overtaken_events (
  event bigint not null references inbox (id) on delete cascade,
  identity_id text not null,
  reason text not null,
  primary key (event, identity_id)
);
create index overtaken_events_person on overtaken_events (identity_id);
`
