import type { Migration } from '../../database/database.ts'

export const waitingRows: Migration = {
  name: '0030-waiting-rows',
  sql: `
-- Rows of exports that take effect on a later day. Those of a plan carry its run, those of accepted plans none.
create table waiting_rows (
  seq bigint generated always as identity primary key,
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  run_id uuid references runs (id) on delete cascade,
  -- Of a plan's row without \`sighting\`: what waits for the person up to this day ends with the plan; null: all of it.
  effective_on date,
  due_at timestamptz,
  sighting jsonb
);
create index waiting_rows_due on waiting_rows (due_at) where run_id is null;
create index waiting_rows_of_person on waiting_rows (connection, identity_id);
create index waiting_rows_of_run on waiting_rows (run_id) where run_id is not null;
`,
}
