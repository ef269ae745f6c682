/** Custom connections. Those of type CUSTOM have one resource with its schema, and workspaces. */
export const connectionTables = `
create table custom_connections (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  provider_type text not null check (provider_type in ('CUSTOM', 'MDM', 'HRIS')),
  client_alias text,
  description text,
  created_by_id bigint not null references users,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id()
);
create index custom_connections_created on custom_connections (account_id, created_at, id);
create index custom_connections_updated on custom_connections (account_id, updated_at, id);
create index custom_connections_creator on custom_connections (created_by_id);

create table custom_resources (
  id bigint generated always as identity primary key,
  connection_id bigint not null references custom_connections on delete cascade,
  name text not null,
  description text,
  schema jsonb not null,
  display_name_key text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index custom_resources_connection on custom_resources (connection_id);

create table connection_workspaces (
  connection_id bigint not null references custom_connections on delete cascade,
  workspace_id bigint not null references workspaces on delete cascade,
  primary key (connection_id, workspace_id)
);
create index connection_workspaces_workspace on connection_workspaces (workspace_id);
`
