import type { Migration } from '../../database/database.ts'

/** Changes of a connection's settings in the console: those that wait for a second person, and the newest one that was saved. */
export const settingsChanges: Migration = {
  name: '0010-settings-changes',
  sql: `
create table settings_changes (
  id uuid primary key,
  connection text not null,
  file text not null,
  before text not null,
  after text not null,
  changed_by text not null,
  principal text not null,
  changed_at timestamptz not null,
  expires_at timestamptz
);
`,
}
