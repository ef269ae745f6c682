import type { Migration } from '../../database/database.ts'

export const exportIndexes: Migration = {
  name: '0024-export-indexes',
  sql: `
-- What the exports of a connection leave behind, so that the next one need not be read where it says the same: that of the accepted one,
-- and those of plans that are being made or wait for a decision.
create table export_indexes (
  run_id uuid primary key references runs (id) on delete cascade,
  connection text not null references connections (name),
  -- The run whose index the reading went by; null: none. Another one that is accepted meanwhile makes this one void.
  base uuid,
  accepted boolean not null default false,
  -- The index as it is the same as that of the base.
  is_same boolean not null default false,
  -- What it says of the export as a whole, and a digest that only this installation can make; null as long as the plan is not stored.
  head text,
  seal bytea
);
create unique index export_indexes_accepted on export_indexes (connection) where accepted;
create index export_indexes_of_connection on export_indexes (connection);

create table export_index_parts (
  run_id uuid not null references export_indexes (run_id) on delete cascade,
  part integer not null,
  data bytea not null,
  primary key (run_id, part)
);
-- Digests cannot be compressed.
alter table export_index_parts alter column data set storage external;

-- People of whom something was written since, other than by the plan that left the index behind: their rows are read whatever it says.
create table unsettled (
  seq bigint generated always as identity primary key,
  connection text not null,
  identity_id text collate "C" not null,
  -- The newest run that knew of it when it began to read.
  run_id uuid
);
create index unsettled_of_connection on unsettled (connection);

create or replace function note_unsettled() returns trigger language plpgsql set search_path from current as $$
begin
  insert into unsettled (connection, identity_id)
  select coalesce(new.connection, old.connection), coalesce(new.identity_id, old.identity_id)
  where exists (select from export_indexes where connection = coalesce(new.connection, old.connection));
  return null;
end $$;
create trigger roster_unsettled after insert or update on roster for each row
  when (coalesce(current_setting('rollcall.settling', true), '') <> 'on') execute function note_unsettled();
create trigger hold_backs_unsettled after insert or update or delete on hold_backs for each row execute function note_unsettled();
`,
}
