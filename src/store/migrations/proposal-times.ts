import type { Migration } from '../../database/database.ts'

/** When a person proposed to change a stated departure. */
export const proposalTimes: Migration = {
  name: '0006-proposal-times',
  sql: `
alter table stated_departures add column proposed_at timestamptz;
update stated_departures set proposed_at = stated_at where proposed_by is not null;
`,
}
