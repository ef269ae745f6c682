/** What identity systems pushed over SCIM, as they may read it again. */
export const scimTables = `
-- One row for each connection that is pushed over SCIM. A change locks it, so that changes of a connection happen one after the other.
create table scim_connections (
  connection text primary key references connections (name),
  -- The time of the newest change. Times only move forward, so that an earlier change never overtakes a later one.
  changed_at timestamptz not null
);

create table scim_resources (
  connection text not null references scim_connections (connection),
  kind text not null,
  id uuid not null,
  -- The order in which lists show the resources.
  ordinal bigint generated always as identity,
  -- The userName of a user, the displayName of a group, in lower case.
  name text not null,
  external_id text,
  -- The key of the person, as the mapping read it last. Null for groups.
  identity_id text,
  is_active boolean not null,
  version integer not null,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  body jsonb not null,
  primary key (connection, kind, id)
);
create unique index scim_resources_by_user_name on scim_resources (connection, name) where kind = 'User';
create index scim_resources_by_name on scim_resources (connection, kind, name);
create index scim_resources_by_external_id on scim_resources (connection, kind, external_id);
create index scim_resources_by_person on scim_resources (connection, identity_id) where kind = 'User';
create index scim_resources_in_order on scim_resources (connection, kind, ordinal);

create table scim_members (
  connection text not null,
  group_id uuid not null,
  member text not null,
  display text,
  ordinal bigint generated always as identity,
  primary key (connection, group_id, member)
);
create index scim_members_by_member on scim_members (connection, member);
`
