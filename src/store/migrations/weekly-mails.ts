import type { Migration } from '../../database/database.ts'

/** Which weekly summary was mailed last. */
export const weeklyMails: Migration = {
  name: '0009-weekly-mails',
  sql: `
-- The weekly summaries; at most one row.
create table weekly_mails (
  one boolean primary key default true check (one),
  -- The slot of the schedule that was mailed last, or the first one.
  slot text not null,
  -- A process sends until then; afterwards another one may.
  claimed_until timestamptz,
  attempts integer not null default 0,
  retry_at timestamptz,
  sent_at timestamptz,
  -- Since when no mail got through to everybody, and why the last attempt did not; null: it did.
  failing_since timestamptz,
  last_failure text
);
`,
}
