import { belongsTo, id, listed, listIndexes, times } from './columns.ts'

/**
 * Records of CUSTOM connections and their sessions. The records of the active session are live; without one, the records with an empty
 * session id are. A session goes live by its status alone. Keys have the collation "C", so that every writer locks the rows of a batch in
 * the same order.
 */
export const recordTables = `
create table custom_data_sessions (
  ${id},
  resource_id ${belongsTo('custom_resources')},
  session_id text collate "C" not null,
  status text not null check (status in ('IN_PROGRESS', 'ACTIVE', 'CANCELED', 'ARCHIVED')),
  activated_at timestamptz(3),
  canceled_at timestamptz(3),
  ${listed},
  unique (resource_id, session_id)
);
create unique index custom_data_sessions_in_progress on custom_data_sessions (resource_id) where status = 'IN_PROGRESS';
create unique index custom_data_sessions_active on custom_data_sessions (resource_id) where status = 'ACTIVE';
${listIndexes('custom_data_sessions', 'custom_data_sessions', 'resource_id')}
${listIndexes('custom_data_sessions_status', 'custom_data_sessions', 'resource_id, status')}

create table custom_data_records (
  ${id},
  resource_id ${belongsTo('custom_resources')},
  session_id text collate "C" not null default '',
  record_id text collate "C" not null,
  attributes jsonb not null,
  ${times},
  created_in xid8 not null default pg_current_xact_id(),
  changed_in xid8 not null default pg_current_xact_id(),
  unique (resource_id, session_id, record_id)
);
${listIndexes('custom_data_records', 'custom_data_records', 'resource_id, session_id')}
`
