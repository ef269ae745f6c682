import type { Migration } from '../../database/database.ts'

export const eventTimes: Migration = {
  name: '0028-event-times',
  sql: `
-- When what an event says takes effect. It is rejected until then, and read again by itself.
alter table rejects add column retry_at timestamptz;
alter table inbox add column retry_at timestamptz;
create index inbox_retried on inbox (retry_at) where state = 'rejected' and retry_at is not null;
`,
}
