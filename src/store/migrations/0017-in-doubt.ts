import type { Migration } from '../../database/database.ts'

export const inDoubt: Migration = {
  name: '0017-in-doubt',
  sql: `
-- People who were delivered after a request about them that was given up and may still reach the platform. They are read back until the
-- platform has answered the same several times in a row after no such request can arrive any more.
create table in_doubt (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  -- The run of the newest such request, and when it was given up.
  run_id uuid not null references runs (id) on delete cascade,
  since timestamptz not null,
  -- When the person is read back next.
  due_at timestamptz not null,
  -- How many answers in a row were the same since no such request can arrive any more.
  answers integer not null default 0,
  primary key (connection, identity_id)
);
create index in_doubt_due on in_doubt (due_at);
create index in_doubt_by_run on in_doubt (run_id);
`,
}
