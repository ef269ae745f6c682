import { belongsTo, id, listed, pairTable, times } from './columns.ts'

/** The catalogue, which belongs to no account: frameworks with requirements, and control templates with their mappings. */
export const catalogueTables = `
create table frameworks (
  ${id},
  tag text not null,
  slug text not null unique,
  name text not null,
  pill text not null,
  description text not null,
  ${times}
);
create index frameworks_tag on frameworks (tag);

create table requirements (
  ${id},
  framework_id ${belongsTo('frameworks')},
  name text not null,
  description text not null,
  long_description text,
  additional_info text,
  additional_info_2 text,
  additional_info_3 text,
  external_id text,
  ${times},
  unique (framework_id, name)
);

create table test_templates (
  ${id},
  name text not null unique,
  description text,
  rating text not null,
  source text not null
);

create table policy_templates (
  ${id},
  name text not null unique,
  description text not null
);

create table evidence_templates (
  ${id},
  code text not null unique,
  name text not null,
  request_description text,
  implementation_guidance text
);

create table risk_templates (
  ${id},
  code text not null unique,
  name text not null,
  description text not null
);

create table control_templates (
  ${id},
  code text not null unique,
  control_number bigint not null unique,
  name text not null,
  description text,
  question text,
  activity text,
  domain text,
  category text,
  topics text[] not null,
  ${listed}
);
create index control_templates_created on control_templates (created_at, id);
create index control_templates_updated on control_templates (updated_at, id);
create index control_templates_name on control_templates (name, id);

${pairTable('template_tests', ['control_template_id', 'control_templates'], ['test_template_id', 'test_templates'])}

${pairTable('template_policies', ['control_template_id', 'control_templates'], ['policy_template_id', 'policy_templates'])}

${pairTable('template_evidence', ['control_template_id', 'control_templates'], ['evidence_template_id', 'evidence_templates'])}

${pairTable('template_risks', ['control_template_id', 'control_templates'], ['risk_template_id', 'risk_templates'])}

${pairTable('template_requirements', ['control_template_id', 'control_templates'], ['requirement_id', 'requirements'])}
`
