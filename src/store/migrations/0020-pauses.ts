import type { Migration } from '../../database/database.ts'

export const pauses: Migration = {
  name: '0020-pauses',
  sql: `
-- The newest pause of each connection, in which it takes in nothing new by itself.
create table pauses (
  connection text primary key references connections (name),
  since timestamptz not null,
  -- When it is over by itself; null: when a person ends it.
  until timestamptz,
  reason text not null,
  paused_by text not null,
  -- When a person ended it.
  ended_at timestamptz
);
`,
}
