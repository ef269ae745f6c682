import type { Migration } from '../../database/database.ts'

/** Since when the file of a change is being replaced; of these there is one for each file at a time. */
export const settingsWrites: Migration = {
  name: '0011-settings-writes',
  sql: `
alter table settings_changes add column writing_since timestamptz;
create unique index settings_changes_writing on settings_changes (file) where writing_since is not null;
`,
}
