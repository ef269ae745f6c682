/** Audits of workspaces, who audits, what is audited, and what the auditors ask for. */
export const auditTables = `
create table auditors (
  id bigint generated always as identity primary key,
  uuid uuid not null unique default gen_random_uuid(),
  account_id bigint not null references accounts on delete cascade,
  name text not null,
  email text not null
);
create unique index auditors_email on auditors (account_id, fold_case(email));

create table audits (
  id bigint generated always as identity primary key,
  uuid uuid not null unique default gen_random_uuid(),
  workspace_id bigint not null references workspaces on delete cascade,
  framework_type text not null,
  audit_type text not null check (audit_type in ('FULL_AUDIT', 'DOWNLOAD_ONLY_AUDIT')),
  is_internal boolean not null,
  status text not null check (status in ('PREPARING', 'ACTIVE', 'COMPLETED')),
  start_date date not null,
  end_date date not null check (end_date >= start_date),
  completed_at timestamptz(3) check ((completed_at is not null) = (status = 'COMPLETED')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id(),
  unique (workspace_id, framework_type, start_date, end_date)
);
create index audits_created on audits (workspace_id, created_at, id);
create index audits_updated on audits (workspace_id, updated_at, id);

create table audit_auditors (
  audit_id bigint not null references audits on delete cascade,
  auditor_id bigint not null references auditors on delete cascade,
  primary key (audit_id, auditor_id)
);
create index audit_auditors_auditor on audit_auditors (auditor_id);

create table audit_internal_auditors (
  audit_id bigint not null references audits on delete cascade,
  user_id bigint not null references users on delete cascade,
  primary key (audit_id, user_id)
);
create index audit_internal_auditors_user on audit_internal_auditors (user_id);

create table audit_controls (
  audit_id bigint not null references audits on delete cascade,
  control_id bigint not null references controls on delete cascade,
  primary key (audit_id, control_id)
);
create index audit_controls_control on audit_controls (control_id);

create table audit_requests (
  id bigint generated always as identity primary key,
  audit_id bigint not null references audits on delete cascade,
  code text not null,
  title text not null,
  description text,
  status text not null check (status in ('OUTSTANDING', 'IN_REVIEW', 'ACCEPTED', 'CHANGES_REQUESTED')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id(),
  unique (audit_id, code)
);
create index audit_requests_created on audit_requests (audit_id, created_at, id);
create index audit_requests_updated on audit_requests (audit_id, updated_at, id);
create index audit_requests_status on audit_requests (audit_id, status, created_at, id);

create table audit_request_owners (
  request_id bigint not null references audit_requests on delete cascade,
  user_id bigint not null references users on delete cascade,
  primary key (request_id, user_id)
);
create index audit_request_owners_user on audit_request_owners (user_id, request_id);

create table audit_request_controls (
  request_id bigint not null references audit_requests on delete cascade,
  control_id bigint not null references controls on delete cascade,
  primary key (request_id, control_id)
);
create index audit_request_controls_control on audit_request_controls (control_id);

create table audit_request_messages (
  id bigint generated always as identity primary key,
  request_id bigint not null references audit_requests on delete cascade,
  message text not null,
  sent_by_email text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index audit_request_messages_request on audit_request_messages (request_id, id);
`
