import type { Migration } from '../../database/database.ts'

export const records: Migration = {
  name: '0022-records',
  sql: `
-- The resource of a CUSTOM connection, which takes its records.
alter table connections add column target_resource integer;
-- The session that was asked to be completed: its records are the live ones if the platform says that it is active.
alter table deliveries add column session text;
-- The run whose source this one was planned from, of another connection.
alter table runs add column rides_with uuid;
create index runs_rides_with on runs (rides_with) where rides_with is not null;
`,
}
