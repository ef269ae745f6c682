import { belongsTo, id, uuid } from './columns.ts'

/** Events of the account. Only the account is a foreign key, because the object of an event may be deleted later. */
export const eventTables = `
create table events (
  ${id},
  ${uuid},
  account_id ${belongsTo('accounts')},
  type text not null,
  category text not null,
  source text not null check (source in ('PUBLIC_API', 'APP', 'SCHEDULED')),
  description text not null,
  request_description text,
  user_id bigint,
  connection_id bigint,
  workspace_id bigint,
  metadata jsonb not null,
  created_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id()
);
create index events_created on events (account_id, created_at, id);
create index events_type on events (account_id, type, created_at, id);
create index events_category on events (account_id, category, created_at, id);
create index events_connection on events (account_id, connection_id, created_at, id);
create index events_user on events (account_id, user_id, created_at, id);
create index events_source on events (account_id, source, created_at, id);
create index events_workspace on events (account_id, workspace_id, created_at, id) where workspace_id is not null;
`
