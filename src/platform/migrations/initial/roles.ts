import { id, listed } from './columns.ts'

// The names of the contract, in its order. A migration must not change, so they are repeated here.
const names = [
  ...['EMPLOYEE', 'TECHGOV', 'AUDITOR', 'ADMIN', 'ACT_AS_READ_ONLY', 'APP', 'RISK_MANAGER'],
  ...['WORKSPACE_ADMINISTRATOR', 'SERVICE_USER', 'REVIEWER', 'CONTROL_MANAGER', 'PEOPLE_OPS', 'POLICY_MANAGER'],
  ...['DEVOPS_ENGINEER', 'KNOWLEDGE_BASE', 'TRUST_CENTER_MANAGER', 'TRUST_CENTER_REVIEWER', 'RISK_REGISTER_OWNER'],
  ...['INTERNAL_AUDITOR', 'RESTRICTED_CONTROL_MANAGER', 'RESTRICTED_RISK_MANAGER', 'READONLY_ADMIN'],
  ...['READONLY_TECHGOV', 'READONLY_RISK_MANAGER', 'READONLY_CONTROL_MANAGER', 'READONLY_POLICY_MANAGER'],
  ...['READONLY_PEOPLE_OPS', 'READONLY_WORKSPACE_ADMINISTRATOR', 'READONLY_RESTRICTED_CONTROL_MANAGER'],
  ...['READONLY_RESTRICTED_RISK_MANAGER', 'READONLY_RISK_REGISTER_OWNER', 'READONLY_REVIEWER'],
  ...['READONLY_DEVOPS_ENGINEER', 'READONLY_TRUST_CENTER_MANAGER', 'TRUST_USER'],
]

/** The roles of users, which all accounts share. */
export const roleTables = `
create table roles (
  ${id},
  role text not null,
  ${listed}
);
insert into roles (role, created_at, updated_at)
select role, timestamptz '2026-01-01 00:00:00Z', timestamptz '2026-01-01 00:00:00Z'
from unnest(array['${names.join("', '")}']) with ordinality as known (role, position) order by position;
create index roles_created on roles (created_at, id);
create index roles_updated on roles (updated_at, id);
create index roles_role on roles (role);
`
