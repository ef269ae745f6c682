import type { Migration } from '../../database/database.ts'

/** Until when facts of HR do not confirm a stated departure, after a restore. */
export const restoredStatements: Migration = {
  name: '0005-restored-statements',
  sql: `
-- After a restore the departure was on the platform, and the store does not know why. Facts of HR up to unconfirmed_until do not confirm it.
alter table stated_departures add column unconfirmed_until timestamptz;
update stated_departures set unconfirmed_until = stated_at where is_learned;
`,
}
