import type { Migration } from '../../database/database.ts'

export const inbox: Migration = {
  name: '0006-inbox',
  sql: `
-- Events as they came in. A body is removed as soon as it is of no more use; the rest of the row recognises a repetition.
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
  -- Waits behind the held run, whose plan does not hold it.
  joined boolean not null default false,
  unique (connection, dedup_key),
  check (state not in ('pending', 'held') or body is not null)
);
create index inbox_pending on inbox (connection, id) where state = 'pending';
create index inbox_rejected on inbox (connection, id) where state = 'rejected';
create index inbox_of_connection on inbox (connection, id);
create index inbox_taken on inbox (run_id) where state = 'pending' and run_id is not null;
create index inbox_held on inbox (connection, run_id) where state = 'held';
`,
}
