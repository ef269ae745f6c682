import { belongsTo, id, listed, listIndexes, pairTable, times } from './columns.ts'

/** Custom connections. A CUSTOM connection has one resource with a schema, and workspaces. */
export const connectionTables = `
create table custom_connections (
  ${id},
  account_id ${belongsTo('accounts')},
  provider_type text not null check (provider_type in ('CUSTOM', 'MDM', 'HRIS')),
  client_alias text,
  description text,
  created_by_id bigint not null references users,
  ${listed}
);
${listIndexes('custom_connections', 'custom_connections', 'account_id')}
create index custom_connections_creator on custom_connections (created_by_id);

create table custom_resources (
  ${id},
  connection_id ${belongsTo('custom_connections')},
  name text not null,
  description text,
  schema jsonb not null,
  display_name_key text not null,
  ${times}
);
create index custom_resources_connection on custom_resources (connection_id);

${pairTable('connection_workspaces', ['connection_id', 'custom_connections'], ['workspace_id', 'workspaces'])}
`
