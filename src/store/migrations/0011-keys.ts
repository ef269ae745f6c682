import type { Migration } from '../../database/database.ts'

export const keys: Migration = {
  name: '0011-keys',
  sql: `
-- What people said of two keys: they name one person, whom the platform has under the former one, or two people.
create table key_answers (
  connection text not null references connections (name),
  former text collate "C" not null,
  identity_id text collate "C" not null,
  same boolean not null,
  answered_by text not null,
  answered_at timestamptz not null,
  primary key (connection, former, identity_id)
);
-- A key names one person.
create unique index key_answers_same on key_answers (connection, identity_id) where same;

-- The pairs of keys of a plan that look like one person each, kept for as long as the plan waits.
create table key_pairs (
  run_id uuid not null references runs (id) on delete cascade,
  former text collate "C" not null,
  identity_id text collate "C" not null,
  in_common text not null,
  clear boolean not null,
  primary key (run_id, former, identity_id)
);
`,
}
