import type { Migration } from '../../database/database.ts'

export const deliveries: Migration = {
  name: '0004-deliveries',
  sql: `
-- Whoever the platform has as HR wants them, which is nearly everybody, needs no second record. A row here says that the platform
-- acknowledged something else, or nothing yet.
create table behind (
  connection text not null,
  identity_id text collate "C" not null,
  confirmed jsonb,
  primary key (connection, identity_id)
);
insert into behind (connection, identity_id, confirmed)
select connection, identity_id, confirmed from roster where confirmed is distinct from wanted;
alter table roster drop column confirmed, drop column confirmed_at;

-- A request may have reached the platform and nobody knows: what it holds of the person is read back by the next run.
alter table roster add column uncertain boolean not null default false;
create index roster_uncertain on roster (connection) where uncertain;
-- A request that was given up may reach the platform later than those that followed it: then the person is uncertain.
alter table roster add column recheck_at timestamptz;
create index roster_recheck on roster (recheck_at) where recheck_at is not null;

-- What became of a batch as a whole. A change in state 'due' counts as confirmed once its batch has an answer.
alter table deliveries
  add column people integer not null default 0,
  add column confirmed integer not null default 0,
  add column refused integer not null default 0,
  add column answer jsonb,
  add column sent_at timestamptz,
  add column answered_at timestamptz,
  add column unsettled boolean not null default false,
  add column failures integer not null default 0,
  add column failing_since timestamptz,
  add column last_code text;
update deliveries set people = found.people, confirmed = found.confirmed, refused = found.refused, sent_at = found.sent_at
from (
  select run_id, batch, count(*) as people, count(*) filter (where state = 'confirmed') as confirmed,
    count(*) filter (where state = 'problem') as refused, min(sent_at) as sent_at
  from changes where batch is not null group by run_id, batch
) found
where found.run_id = deliveries.run_id and found.batch = deliveries.batch;

-- Whole, and not only of what is due, so that writing an outcome moves no index entry.
drop index changes_by_batch;
create index changes_by_batch on changes (run_id, batch) where batch is not null;

alter table connections add column blocked_code text;

-- The processes at work. One that is stopped keeps its sessions and their locks, so it has to show that it moves.
create table leases (
  id integer primary key,
  seen_at timestamptz not null
);

-- Batches taken over from a process that may still move: once it has, or has ended, its people are read back.
create table takeovers (
  run_id uuid not null references runs (id) on delete cascade,
  batch integer not null,
  lease integer not null,
  primary key (run_id, batch, lease)
);

-- The budget of requests, counted by rate-limiter-flexible, whose table this is. Not worth keeping over a crash.
create unlogged table request_budget (
  key text primary key,
  points integer not null default 0,
  expire bigint
);
`,
}
