import type { Migration } from '../../database/database.ts'

export const holdBacks: Migration = {
  name: '0014-hold-backs',
  sql: `
-- People whose leaving is not acted on until a day, as an operator has said. It ends by itself on that day.
create table hold_backs (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  until text not null,
  reason text not null,
  held_by text not null,
  held_at timestamptz not null,
  primary key (connection, identity_id)
);
`,
}
