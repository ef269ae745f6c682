import type { Migration } from '../../database/database.ts'

export const runAccounts: Migration = {
  name: '0013-run-accounts',
  sql: `
-- What a run about named people accounts for beyond its plan, such as the rows of a person and how each was read. Of each connection
-- only the newest are kept.
create table run_accounts (
  run_id uuid primary key references runs (id) on delete cascade,
  account jsonb not null
);
`,
}
