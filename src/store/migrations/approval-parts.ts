import type { Migration } from '../../database/database.ts'

/** Parts of held plans that were approved, and the group of each person. */
export const approvalParts: Migration = {
  name: '0003-approval-parts',
  sql: `
-- The held run from which an approver split this run off.
alter table runs add column part_of_run_id uuid;
create index runs_parts on runs (part_of_run_id) where part_of_run_id is not null;

-- The group of a person, as the last accepted export states it. It stays here. null: none is known.
alter table roster add column group_value text;
alter table plan_entries add column group_value text;
-- The group when the plan was made, so that a held plan keeps its groups.
alter table changes add column group_value text;
`,
}
