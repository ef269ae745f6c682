import type { Migration } from '../../database/database.ts'

/** The people who were left out when a part of their plan was approved. */
export const unapprovedPeople: Migration = {
  name: '0012-unapproved-people',
  sql: `
-- People of a held plan without whom a part of it was approved. A guard holds every later change of theirs.
create table unapproved_people (
  connection text not null,
  identity_id text collate "C" not null,
  -- Their change makes them leavers. A change that leaves them employed does not approve that.
  departs boolean not null,
  -- The held run, and the time of its facts: an older fact does not end the row.
  run_id uuid not null,
  as_of timestamptz not null,
  -- The run whose source states the person without a change. The row ends when its plan is accepted.
  ended_by uuid,
  primary key (connection, identity_id)
);
create index runs_split_off on runs (held_part_run_id) where held_part_run_id is not null;

-- Until now the runs told who was left out: since the newest export that was accepted as a whole, plans of which a part was approved, and
-- those that were held for its people. Their verdict names only some, so that others of such a plan are taken too.
insert into unapproved_people (connection, identity_id, departs, run_id, as_of)
select distinct on (runs.connection, changes.identity_id)
  runs.connection, changes.identity_id, departs, runs.id, coalesce(runs.as_of, runs.created_at)
from runs join changes on changes.run_id = runs.id
  cross join lateral (select changes.kind in ('leave', 'correct') or changes.kind = 'join' and changes.separated_at is not null as departs) of_change
where runs.state in ('held', 'rejected', 'superseded', 'cancelled') and runs.feed in ('source', 'webhook', 'roster') and not changes.carried
  and (departs or runs.mode = 'snapshot')
  and (exists (select from runs part where part.part_of_run_id = runs.id)
    or case json_typeof(runs.guards) when 'array' then exists (select from json_array_elements(runs.guards) guard
      where guard ->> 'name' = 'leftUnapproved' and guard ->> 'ok' = 'false') end)
  and not exists (
    select from runs later
    where later.connection = runs.connection and later.created_at > runs.created_at and later.part_of_run_id is null
      and later.state in ('delivering', 'finished', 'finished_with_problems', 'unchanged')
      and (later.feed = 'source' and later.source is not null or exists (
        select from changes accepted
        where accepted.run_id = later.id and accepted.identity_id = changes.identity_id and not accepted.carried)))
order by runs.connection, changes.identity_id, runs.created_at desc;
`,
}
