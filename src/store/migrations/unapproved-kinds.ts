import type { Migration } from '../../database/database.ts'

/** Which change of each person waits who was left out when a part of their plan was approved. */
export const unapprovedKinds: Migration = {
  name: '0014-unapproved-kinds',
  sql: `
-- A row for each kind of change that was left out, with \`leave\` for other leaving dates too.
alter table unapproved_people drop constraint unapproved_people_pkey;
alter table unapproved_people add column kind text,
  -- The departure followed from nothing but the absence of the person.
  add column is_of_missing boolean not null default false,
  -- The leaving date that waited for its day when the change was left out. Not known of those who wait already.
  add column deferred_to text,
  -- The newest run that plans the change again.
  add column held_by uuid;
update unapproved_people waiting set kind = case changes.kind when 'correct' then 'leave' else changes.kind end,
  is_of_missing = changes.inferred and changes.origin is null
from changes where changes.run_id = waiting.run_id and changes.identity_id = waiting.identity_id;
update unapproved_people set kind = case when departs then 'leave' else 'update' end where kind is null;
-- A departure that was left out earlier than another change of the same person.
delete from unapproved_people where kind = 'retract' and not departs;
insert into unapproved_people (connection, identity_id, departs, run_id, as_of, since, kind)
select connection, identity_id, departs, run_id, as_of, since, 'leave' from unapproved_people where departs and kind not in ('leave', 'join');
delete from unapproved_people where kind = 'retract';
alter table unapproved_people drop column departs, alter column kind set not null, add primary key (connection, identity_id, kind);
create index unapproved_people_held on unapproved_people (held_by) where held_by is not null;
create index unapproved_people_ended on unapproved_people (ended_by) where ended_by is not null;
update unapproved_people waiting set held_by = changes.run_id
from changes join runs on runs.id = changes.run_id
where runs.state in ('planned', 'held') and runs.connection = waiting.connection and changes.identity_id = waiting.identity_id and not changes.carried
  and waiting.kind = case changes.kind when 'correct' then 'leave' else changes.kind end;
`,
}
