import type { Migration } from '../../database/database.ts'

/** Since when each person waits who was left out when a part of their plan was approved. */
export const leftOutSince: Migration = {
  name: '0013-left-out-since',
  sql: `
-- When a person was first left out. A later plan that holds them again does not change it.
alter table unapproved_people add column since timestamptz;
update unapproved_people set since = coalesce(
  (select min(part.decided_at) from runs part where part.part_of_run_id = unapproved_people.run_id),
  (select created_at from runs where runs.id = unapproved_people.run_id),
  as_of);
alter table unapproved_people alter column since set not null;
`,
}
