/** The catalogue, which belongs to no account: frameworks with their requirements, templates, and what each control template comes with. */
export const catalogueTables = `
create table frameworks (
  id bigint generated always as identity primary key,
  tag text not null,
  slug text not null unique,
  name text not null,
  pill text not null,
  description text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index frameworks_tag on frameworks (tag);

create table requirements (
  id bigint generated always as identity primary key,
  framework_id bigint not null references frameworks on delete cascade,
  name text not null,
  description text not null,
  long_description text,
  additional_info text,
  additional_info_2 text,
  additional_info_3 text,
  external_id text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (framework_id, name)
);

create table test_templates (
  id bigint generated always as identity primary key,
  name text not null unique,
  description text,
  rating text not null,
  source text not null
);

create table policy_templates (
  id bigint generated always as identity primary key,
  name text not null unique,
  description text not null
);

create table evidence_templates (
  id bigint generated always as identity primary key,
  code text not null unique,
  name text not null,
  request_description text,
  implementation_guidance text
);

create table risk_templates (
  id bigint generated always as identity primary key,
  code text not null unique,
  name text not null,
  description text not null
);

create table control_templates (
  id bigint generated always as identity primary key,
  code text not null unique,
  control_number bigint not null unique,
  name text not null,
  description text,
  question text,
  activity text,
  domain text,
  category text,
  topics text[] not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id()
);
create index control_templates_created on control_templates (created_at, id);
create index control_templates_updated on control_templates (updated_at, id);
create index control_templates_name on control_templates (name, id);

create table template_tests (
  control_template_id bigint not null references control_templates on delete cascade,
  test_template_id bigint not null references test_templates on delete cascade,
  primary key (control_template_id, test_template_id)
);
create index template_tests_test on template_tests (test_template_id);

create table template_policies (
  control_template_id bigint not null references control_templates on delete cascade,
  policy_template_id bigint not null references policy_templates on delete cascade,
  primary key (control_template_id, policy_template_id)
);
create index template_policies_policy on template_policies (policy_template_id);

create table template_evidence (
  control_template_id bigint not null references control_templates on delete cascade,
  evidence_template_id bigint not null references evidence_templates on delete cascade,
  primary key (control_template_id, evidence_template_id)
);
create index template_evidence_evidence on template_evidence (evidence_template_id);

create table template_risks (
  control_template_id bigint not null references control_templates on delete cascade,
  risk_template_id bigint not null references risk_templates on delete cascade,
  primary key (control_template_id, risk_template_id)
);
create index template_risks_risk on template_risks (risk_template_id);

create table template_requirements (
  control_template_id bigint not null references control_templates on delete cascade,
  requirement_id bigint not null references requirements on delete cascade,
  primary key (control_template_id, requirement_id)
);
create index template_requirements_requirement on template_requirements (requirement_id);
`
