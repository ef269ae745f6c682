import type { Migration } from '../../database/database.ts'

export const recentAttempts: Migration = {
  name: '0033-recent-attempts',
  sql: `
-- When the last attempts at the batch began, the newest first. An attempt that got something through, or was told to wait, empties it.
alter table deliveries add column recent_attempts timestamptz[] not null default '{}';
`,
}
