import { belongsTo, id, listed, listIndexes, pairTable } from './columns.ts'

/**
 * Identity providers with their groups, and the groups in the scopes of workspaces. The ids of providers begin at a billion, because the API
 * has one kind of connection ids, and custom connections count from 1.
 */
export const groupTables = `
create table identity_providers (
  id bigint generated always as identity (start with 1000000001) primary key,
  account_id ${belongsTo('accounts')},
  client_type text not null,
  name text not null,
  ${listed},
  unique (account_id, name)
);

create table personnel_groups (
  ${id},
  account_id ${belongsTo('accounts')},
  provider_id ${belongsTo('identity_providers')},
  external_id text not null,
  name text not null,
  ${listed},
  unique (provider_id, external_id)
);
${listIndexes('personnel_groups', 'personnel_groups', 'account_id')}

${pairTable('group_members', ['group_id', 'personnel_groups'], ['person_id', 'personnel'])}

create table workspace_groups (
  ${id},
  workspace_id ${belongsTo('workspaces')},
  group_id ${belongsTo('personnel_groups')},
  ${listed},
  unique (workspace_id, group_id)
);
${listIndexes('workspace_groups', 'workspace_groups', 'workspace_id')}
create index workspace_groups_group on workspace_groups (group_id);
`
