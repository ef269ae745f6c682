/** The controls of workspaces with what proves them. */
export const controlTables = `
create table workspace_frameworks (
  workspace_id bigint not null references workspaces on delete cascade,
  framework_id bigint not null references frameworks on delete cascade,
  enabled_at timestamptz(3) not null,
  primary key (workspace_id, framework_id)
);
create index workspace_frameworks_framework on workspace_frameworks (framework_id);

create table policies (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  template_id bigint references policy_templates on delete set null,
  name text not null,
  description text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (account_id, name)
);
create index policies_template on policies (template_id);

create table tests (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces on delete cascade,
  template_id bigint references test_templates on delete set null,
  name text not null,
  status text not null check (status in ('PASSED', 'FAILED')),
  is_monitored boolean not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (workspace_id, name)
);
create index tests_template on tests (template_id);

create table evidence (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces on delete cascade,
  template_id bigint references evidence_templates on delete set null,
  name text not null,
  kind text not null check (kind in ('REPORT', 'EXTERNAL')),
  valid_until date,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  is_uploaded boolean not null default false
);
create index evidence_template on evidence (template_id);
create index evidence_workspace on evidence (workspace_id);
-- Names of uploaded files may repeat in a workspace.
create unique index evidence_name on evidence (workspace_id, name) where not is_uploaded;

-- Files that came with a control as its evidence.
create table evidence_files (
  evidence_id bigint primary key references evidence on delete cascade,
  filename text not null,
  media_type text not null,
  description text,
  created_on date not null,
  renewal text not null,
  content bytea not null
);

create table controls (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  workspace_id bigint not null references workspaces on delete cascade,
  template_id bigint references control_templates on delete set null,
  code text not null,
  name text not null,
  slug text,
  description text,
  question text,
  activity text,
  archived_at timestamptz(3),
  rationale text,
  is_enabled boolean not null,
  ticket_status text check (ticket_status in ('IN_PROGRESS', 'ARCHIVED')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id(),
  unique (workspace_id, code)
);
create index controls_created on controls (workspace_id, created_at, id);
create index controls_updated on controls (workspace_id, updated_at, id);
create index controls_account on controls (account_id, template_id);
create index controls_template on controls (template_id);
create index controls_archived on controls (workspace_id, created_at, id) where archived_at is not null;
create index controls_disabled on controls (workspace_id, created_at, id) where not is_enabled;
create index controls_ticket on controls (workspace_id, ticket_status, created_at, id) where ticket_status is not null;

create table control_policies (
  control_id bigint not null references controls on delete cascade,
  policy_id bigint not null references policies on delete cascade,
  primary key (control_id, policy_id)
);
create index control_policies_policy on control_policies (policy_id, control_id);

create table control_tests (
  control_id bigint not null references controls on delete cascade,
  test_id bigint not null references tests on delete cascade,
  primary key (control_id, test_id)
);
create index control_tests_test on control_tests (test_id, control_id);

create table control_evidence (
  control_id bigint not null references controls on delete cascade,
  evidence_id bigint not null references evidence on delete cascade,
  primary key (control_id, evidence_id)
);
create index control_evidence_evidence on control_evidence (evidence_id, control_id);

create table control_requirements (
  control_id bigint not null references controls on delete cascade,
  requirement_id bigint not null references requirements on delete cascade,
  primary key (control_id, requirement_id)
);
create index control_requirements_requirement on control_requirements (requirement_id, control_id);

create table control_owners (
  control_id bigint not null references controls on delete cascade,
  user_id bigint not null references users on delete cascade,
  created_at timestamptz(3) not null,
  primary key (control_id, user_id)
);
create index control_owners_user on control_owners (user_id, control_id);

create table control_notes (
  id bigint generated always as identity primary key,
  uuid uuid not null unique default gen_random_uuid(),
  control_id bigint not null references controls on delete cascade,
  owner_id bigint not null references users,
  comment text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id()
);
create index control_notes_created on control_notes (control_id, created_at, id);
create index control_notes_updated on control_notes (control_id, updated_at, id);
create index control_notes_owner on control_notes (owner_id);
`
