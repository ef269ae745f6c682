import { belongsTo, id, listed, listIndexes, pairTable, times, uuid } from './columns.ts'

/** The controls of workspaces with their proofs. */
export const controlTables = `
create table workspace_frameworks (
  workspace_id ${belongsTo('workspaces')},
  framework_id ${belongsTo('frameworks')},
  enabled_at timestamptz(3) not null,
  primary key (workspace_id, framework_id)
);
create index workspace_frameworks_framework on workspace_frameworks (framework_id);

create table policies (
  ${id},
  account_id ${belongsTo('accounts')},
  template_id bigint references policy_templates on delete set null,
  name text not null,
  description text not null,
  assigned_to text not null default 'NONE' check (assigned_to in ('ALL', 'GROUP', 'NONE')),
  -- Whom the policy is for among those in its scope; null: everybody.
  employment_statuses text[],
  ${times},
  unique (account_id, name)
);
create index policies_template on policies (template_id);

-- The groups of the policies that are assigned to GROUP.
${pairTable('policy_groups', ['policy_id', 'policies'], ['group_id', 'personnel_groups'])}

create table tests (
  ${id},
  workspace_id ${belongsTo('workspaces')},
  template_id bigint references test_templates on delete set null,
  name text not null,
  status text not null check (status in ('PASSED', 'FAILED')),
  is_monitored boolean not null,
  ${times},
  unique (workspace_id, name)
);
create index tests_template on tests (template_id);

create table evidence (
  ${id},
  workspace_id ${belongsTo('workspaces')},
  template_id bigint references evidence_templates on delete set null,
  name text not null,
  kind text not null check (kind in ('REPORT', 'EXTERNAL')),
  valid_until date,
  ${times},
  is_uploaded boolean not null default false
);
create index evidence_template on evidence (template_id);
create index evidence_workspace on evidence (workspace_id);
-- Names of uploaded files may repeat in a workspace.
create unique index evidence_name on evidence (workspace_id, name) where not is_uploaded;

-- Files that were uploaded as evidence of a control.
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
  ${id},
  account_id ${belongsTo('accounts')},
  workspace_id ${belongsTo('workspaces')},
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
  ${listed},
  unique (workspace_id, code)
);
${listIndexes('controls', 'controls', 'workspace_id')}
create index controls_account on controls (account_id, template_id);
create index controls_template on controls (template_id);
create index controls_archived on controls (workspace_id, created_at, id) where archived_at is not null;
create index controls_disabled on controls (workspace_id, created_at, id) where not is_enabled;
create index controls_ticket on controls (workspace_id, ticket_status, created_at, id) where ticket_status is not null;

${pairTable('control_policies', ['control_id', 'controls'], ['policy_id', 'policies'])}

${pairTable('control_tests', ['control_id', 'controls'], ['test_id', 'tests'])}

${pairTable('control_evidence', ['control_id', 'controls'], ['evidence_id', 'evidence'])}

${pairTable('control_requirements', ['control_id', 'controls'], ['requirement_id', 'requirements'])}

create table control_owners (
  control_id ${belongsTo('controls')},
  user_id ${belongsTo('users')},
  created_at timestamptz(3) not null,
  primary key (control_id, user_id)
);
create index control_owners_user on control_owners (user_id, control_id);

create table control_notes (
  ${id},
  ${uuid},
  control_id ${belongsTo('controls')},
  owner_id bigint not null references users,
  comment text not null,
  ${listed}
);
${listIndexes('control_notes', 'control_notes', 'control_id')}
create index control_notes_owner on control_notes (owner_id);
`
