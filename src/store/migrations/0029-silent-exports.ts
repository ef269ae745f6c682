import type { Migration } from '../../database/database.ts'

export const silentExports: Migration = {
  name: '0029-silent-exports',
  sql: `
-- The newest accepted export does not say whether the person is employed: its time does not make older facts about them old.
alter table roster add column export_is_silent boolean not null default false;
alter table plan_entries add column export_is_silent boolean not null default false;
`,
}
