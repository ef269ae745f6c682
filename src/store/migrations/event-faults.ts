import type { Migration } from '../../database/database.ts'

/** What HR has to correct in events that cannot be read. */
export const eventFaults: Migration = {
  name: '0008-event-faults',
  sql: `
-- For the hand-over to HR: why a row or event cannot be used, and what the column takes.
alter table rejects add column cause text, add column expected text;
-- When a mail to HR listed the faults of a rejected event.
alter table inbox add column mailed_at timestamptz;
`,
}
