import type { Migration } from '../../database/database.ts'

export const followedEntries: Migration = {
  name: '0025-followed-entries',
  sql: `
-- What would become of the roster follows from this change and from when its run's source was true, and stands in no plan entry. So it is
-- with nearly every change of an export. Means nothing once the plan is accepted, and is never true in a plan that is held.
alter table changes add column is_entry boolean not null default false;
`,
}
