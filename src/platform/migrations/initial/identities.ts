import { belongsTo, id, times } from './columns.ts'

/** HR identity records. Keys have the collation "C", so that every writer locks the rows of a batch in the same order. */
export const identityTables = `
create table hris_user_identities (
  ${id},
  connection_id ${belongsTo('custom_connections')},
  identity_id text collate "C" not null,
  email text,
  secondary_email text,
  first_name text,
  last_name text,
  job_title text,
  manager_id text,
  manager_name text,
  started_at timestamptz(3),
  separated_at timestamptz(3),
  is_contractor boolean,
  ${times},
  deleted_at timestamptz(3),
  changed_in xid8 not null default pg_current_xact_id(),
  -- Bitmask of the fields that the last write named; the batch upsert reads it for each record.
  written_fields integer not null default 0,
  unique (connection_id, identity_id)
);
create index hris_user_identities_created on hris_user_identities (connection_id, created_at, id) where deleted_at is null;
create index hris_user_identities_updated on hris_user_identities (connection_id, updated_at, id) where deleted_at is null;
`
