import type { Migration } from '../../database/database.ts'

export const writePath: Migration = {
  name: '0023-write-path',
  sql: `
-- A change is due as soon as it is planned: a batch is sent once there is a delivery for it, which the accepted plan brings.
update changes set state = 'due' where state = 'planned';

-- What the change adds to the digest of its plan; null where it was planned before there was this column, or its values were removed.
alter table changes add column digest text;

-- A reference costs a look at its run or connection for each row. All rows of a run are written under the lock of that run, and those of a
-- connection under the lock of the connection.
alter table changes drop constraint changes_run_id_fkey;
alter table plan_entries drop constraint plan_entries_run_id_fkey;
alter table roster drop constraint roster_connection_fkey;

-- No plan of a statement rests on what is in a document, and comparing thousands of them is most of what ANALYZE costs.
alter table roster alter column wanted set statistics 0, alter column held_leaving set statistics 0,
  alter column field_times set statistics 0, alter column traits set statistics 0;
alter table acknowledged alter column confirmed set statistics 0;
alter table plan_entries alter column wanted set statistics 0, alter column field_times set statistics 0,
  alter column traits set statistics 0;
alter table changes alter column record set statistics 0, alter column fields set statistics 0, alter column origin set statistics 0,
  alter column answer set statistics 0;

-- The dates in held plans whose day has come are looked for with every run.
create index plan_entries_due on plan_entries (due_at) where due_at is not null;
-- The clocks of leavers are started from the few people of a plan who have a date.
create index plan_entries_deferred on plan_entries (run_id, identity_id) where deferred_to is not null;
create index changes_leaving on changes (run_id, identity_id) where separated_at is not null;
`,
}
