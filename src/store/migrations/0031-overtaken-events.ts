import type { Migration } from '../../database/database.ts'

export const overtakenEvents: Migration = {
  name: '0031-overtaken-events',
  sql: `
-- Which events have no effect on whom, because newer facts were known. They go with their event.
create table overtaken_events (
  event bigint not null references inbox (id) on delete cascade,
  identity_id text not null,
  reason text not null,
  primary key (event, identity_id)
);
create index overtaken_events_person on overtaken_events (identity_id);
`,
}
