/** What finds the unchanged rows of the next export. */
export const exportIndexTables = `
-- An index of an export, by which the next one is read only where it differs: that of the accepted export, and those of plans that are
-- being made or wait for a decision.
create table export_indexes (
  run_id uuid primary key references runs (id) on delete cascade,
  connection text not null references connections (name),
  -- The run whose index this run read with; null: none. If another index is accepted in the meantime, this one is void.
  base uuid,
  accepted boolean not null default false,
  -- The index is the same as that of the base.
  is_same boolean not null default false,
  -- What the index says of the export as a whole, and a digest that only this installation can make; null until the plan is stored.
  head text,
  seal bytea
);
create unique index export_indexes_accepted on export_indexes (connection) where accepted;
create index export_indexes_of_connection on export_indexes (connection);

-- A piece of data fills a page. With a smaller target it would be cut again, and each piece would need an entry in an index.
create table export_index_parts (
  run_id uuid not null references export_indexes (run_id) on delete cascade,
  part integer not null,
  data bytea not null,
  primary key (run_id, part)
) with (toast_tuple_target = 8160);
-- The data are digests, which cannot be compressed.
alter table export_index_parts alter column data set storage external;

-- People about whom something was written after the index was made, by anything but the plan of the index. Their rows are read in any case.
create table changed_people (
  seq bigint generated always as identity primary key,
  connection text not null,
  identity_id text collate "C" not null,
  -- The newest run that knew of it when it began to read.
  run_id uuid
);
create index changed_people_of_connection on changed_people (connection);

-- "or replace", because a restore drops the tables and leaves the function.
create or replace function record_changed_person() returns trigger language plpgsql set search_path from current as $$
begin
  insert into changed_people (connection, identity_id)
  select coalesce(new.connection, old.connection), coalesce(new.identity_id, old.identity_id)
  where exists (select from export_indexes where connection = coalesce(new.connection, old.connection));
  return null;
end $$;
create trigger roster_changes_people after insert or update on roster for each row
  when (coalesce(current_setting('rollcall.accepts_index', true), '') <> 'on') execute function record_changed_person();
create trigger hold_backs_change_people after insert or update or delete on hold_backs for each row execute function record_changed_person();
create trigger stated_departures_change_people after insert or update or delete on stated_departures
  for each row execute function record_changed_person();
`
