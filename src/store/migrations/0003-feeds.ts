import type { Migration } from '../../database/database.ts'

export const feeds: Migration = {
  name: '0003-feeds',
  sql: `
alter table connections add column accepted_source json;
alter table connections add column accepted_rows integer;
alter table connections add column accepted_end json;

alter table runs add column feed text not null default 'source';
alter table runs add column mode text;
alter table runs add column warnings json;
alter table runs add column end_keys json;
drop index runs_one_waiting;
create unique index runs_one_waiting on runs (connection, feed) where state = 'waiting';

-- When the fact behind a change was true: a plan that was held while something newer was learned leaves that person out.
alter table changes add column as_of timestamptz;
alter table rejects add column event text;
alter table rejects add column seq bigint generated always as identity;
drop index rejects_by_run;
create index rejects_by_run on rejects (run_id, seq);

-- What a connection's source has been read from, once accepted or refused by a person.
create table taken_sources (
  connection text not null references connections (name),
  version text not null,
  source json not null,
  outcome text not null,
  taken_at timestamptz not null,
  settled_at timestamptz,
  primary key (connection, version)
);
create index taken_sources_unsettled on taken_sources (connection) where settled_at is null;
`,
}
