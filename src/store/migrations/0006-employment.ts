import type { Migration } from '../../database/database.ts'

export const employment: Migration = {
  name: '0006-employment',
  sql: `
-- When somebody last said whether a person is employed, which may be earlier than the rest became true; null where nobody has.
alter table roster add column employment_as_of timestamptz;
update roster set employment_as_of = as_of;
alter table plan_entries add column employment_as_of timestamptz;
update plan_entries set employment_as_of = as_of;

-- The newest accepted export has spoken about everybody who was known by then: whose row came before it was counted. A number, since
-- the clocks of two daemons need not agree.
alter table connections add column exports_accepted integer not null default 0;
update connections set exports_accepted = 1 where accepted_as_of is not null;
alter table roster add column exports_before integer not null default 0;

-- A held plan is void once something was accepted about its people, so that no times are compared when it is approved.
alter table changes drop column as_of;
`,
}
