import type { Migration } from '../../database/database.ts'

export const platformOutages: Migration = {
  name: '0032-platform-outages',
  sql: `
-- Since when requests to the platform fail, and why: null as soon as one was answered. It stands beside the budget, which every request reads.
alter table request_budget add column failing_since timestamptz, add column failing_reason text,
  add column failing_is_away boolean;
`,
}
