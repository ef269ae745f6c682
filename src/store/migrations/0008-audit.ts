import type { Migration } from '../../database/database.ts'

export const audit: Migration = {
  name: '0008-audit',
  sql: `
-- What was done, each act as the text that its place in the chain is counted from. Rows are added and never changed.
create table audit_trail (
  id bigint generated always as identity primary key,
  entry text not null
);
`,
}
