import type { Migration } from '../../database/database.ts'

/** Files that came with a control as its evidence. Their names may repeat in a workspace. */
export const evidenceFiles: Migration = {
  name: '0015-evidence-files',
  sql: `
    alter table evidence add column is_uploaded boolean not null default false;
    alter table evidence drop constraint evidence_workspace_id_name_key;
    create unique index evidence_name on evidence (workspace_id, name) where not is_uploaded;
    create index evidence_workspace on evidence (workspace_id);

    create table evidence_files (
      evidence_id bigint primary key references evidence on delete cascade,
      filename text not null,
      media_type text not null,
      description text,
      created_on date not null,
      renewal text not null,
      content bytea not null
    );
  `,
}
