import type { Migration } from '../../database/database.ts'

export const sourceHeaders: Migration = {
  name: '0019-source-headers',
  sql: `
-- The columns of an export as a run read them, and which of them each field was taken from. Only of exports whose header was understood:
-- what stands first in any other may be a row of people.
create table source_headers (
  run_id uuid primary key references runs (id) on delete cascade,
  headers json not null,
  columns json not null
);

create index runs_of_source on runs (connection, created_at, id) where feed = 'source';
`,
}
