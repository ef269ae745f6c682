import { belongsTo, id, listed, listIndexes } from './columns.ts'

/** The versions of policies with their assignment to users, and documents with their files. */
export const peopleEvidenceTables = `
-- The version with the highest number is the current one.
create table policy_versions (
  ${id},
  policy_id ${belongsTo('policies')},
  version integer not null,
  renewal_date date not null,
  requires_acknowledgment boolean not null,
  ${listed},
  unique (policy_id, version)
);

-- A row stays without being assigned if the user has acknowledged the version.
create table assigned_policies (
  ${id},
  user_id ${belongsTo('users')},
  policy_id ${belongsTo('policies')},
  policy_version_id ${belongsTo('policy_versions')},
  is_assigned boolean not null,
  accepted_at timestamptz(3),
  source_type text not null check (source_type in ('UNKNOWN', 'BAMBOO_HR', 'CSV', 'MY_DRATA', 'PUBLIC_API')),
  details text,
  ${listed},
  unique (user_id, policy_version_id)
);
${listIndexes('assigned_policies', 'assigned_policies', 'user_id')}
create index assigned_policies_policy on assigned_policies (policy_id);
create index assigned_policies_version on assigned_policies (policy_version_id);

-- A document is about a user or a device.
create table documents (
  ${id},
  user_id bigint references users on delete cascade,
  device_id bigint references devices on delete cascade,
  type text not null,
  name text not null,
  media_type text not null,
  completed_at timestamptz(3) not null,
  renewal_date date,
  ${listed},
  check (num_nonnulls(user_id, device_id) = 1)
);
${listIndexes('documents_user', 'documents', 'user_id')}
${listIndexes('documents_device', 'documents', 'device_id')}

create table document_files (
  document_id bigint primary key references documents on delete cascade,
  content bytea not null
);
`
