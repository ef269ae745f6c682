import type { Migration } from '../../database/database.ts'

export const employment: Migration = {
  name: '0006-employment',
  sql: `
-- When somebody last said whether a person is employed, which may be earlier than the rest became true; null where nobody has.
alter table roster add column employment_as_of timestamptz;
update roster set employment_as_of = as_of;
alter table plan_entries add column employment_as_of timestamptz;
update plan_entries set employment_as_of = as_of;
`,
}
