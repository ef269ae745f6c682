import type { Migration } from '../../database/database.ts'

/** The changes of a plan by leaving date and by group, so that a page of a large plan is found by an index. */
export const planOrders: Migration = {
  name: '0007-plan-orders',
  sql: `
drop index changes_leaving;
create index changes_leaving on changes (run_id, separated_at collate "C", identity_id) where separated_at is not null;
create index changes_by_group on changes (run_id, group_value, identity_id) where group_value is not null;
`,
}
