import type { Migration } from '../../database/database.ts'

/** What one person proposes about a stated departure that applies, and departures that only the platform had after a restore. */
export const departureProposals: Migration = {
  name: '0004-departure-proposals',
  sql: `
-- A change of the departure that waits for a second person, until proposed_until. Without proposed_date it is a withdrawal.
-- is_learned: after a restore only the platform had this departure, so that nobody knows who stated it. Such a row never applies.
alter table stated_departures add column proposed_date text, add column proposed_by text, add column proposed_principal text,
  add column proposed_reason text, add column proposed_until timestamptz, add column is_learned boolean not null default false;
`,
}
