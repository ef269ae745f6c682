import { belongsTo, id, listed, listIndexes, pairTable, times, uuid } from './columns.ts'

/** Audits of workspaces with their auditors, controls and requests. */
export const auditTables = `
create table auditors (
  ${id},
  ${uuid},
  account_id ${belongsTo('accounts')},
  name text not null,
  email text not null
);
create unique index auditors_email on auditors (account_id, fold_case(email));

create table audits (
  ${id},
  ${uuid},
  workspace_id ${belongsTo('workspaces')},
  framework_type text not null,
  audit_type text not null check (audit_type in ('FULL_AUDIT', 'DOWNLOAD_ONLY_AUDIT')),
  is_internal boolean not null,
  status text not null check (status in ('PREPARING', 'ACTIVE', 'COMPLETED')),
  start_date date not null,
  end_date date not null check (end_date >= start_date),
  completed_at timestamptz(3) check ((completed_at is not null) = (status = 'COMPLETED')),
  ${listed},
  unique (workspace_id, framework_type, start_date, end_date)
);
${listIndexes('audits', 'audits', 'workspace_id')}

${pairTable('audit_auditors', ['audit_id', 'audits'], ['auditor_id', 'auditors'])}

${pairTable('audit_internal_auditors', ['audit_id', 'audits'], ['user_id', 'users'])}

${pairTable('audit_controls', ['audit_id', 'audits'], ['control_id', 'controls'])}

create table audit_requests (
  ${id},
  audit_id ${belongsTo('audits')},
  code text not null,
  title text not null,
  description text,
  status text not null check (status in ('OUTSTANDING', 'IN_REVIEW', 'ACCEPTED', 'CHANGES_REQUESTED')),
  ${listed},
  unique (audit_id, code)
);
${listIndexes('audit_requests', 'audit_requests', 'audit_id')}
create index audit_requests_status on audit_requests (audit_id, status, created_at, id);

${pairTable('audit_request_owners', ['request_id', 'audit_requests'], ['user_id', 'users'])}

${pairTable('audit_request_controls', ['request_id', 'audit_requests'], ['control_id', 'controls'])}

create table audit_request_messages (
  ${id},
  request_id ${belongsTo('audit_requests')},
  message text not null,
  sent_by_email text,
  ${times}
);
create index audit_request_messages_request on audit_request_messages (request_id, id);
`
