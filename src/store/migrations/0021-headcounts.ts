import type { Migration } from '../../database/database.ts'

export const headcounts: Migration = {
  name: '0021-headcounts',
  sql: `
-- Raised by whatever changes who of the roster is wanted and who has left. Counting reads every row; who counts keeps what it found for a version.
alter table connections add column roster_version integer not null default 0;
`,
}
