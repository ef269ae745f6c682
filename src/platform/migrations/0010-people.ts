import type { Migration } from '../../database/database.ts'

/**
 * The company behind an account, background checks by hand, and what follows from them for the compliance of a person.
 * Compliance is a generated column, so that whatever writes people keeps it right without knowing of it.
 */
export const people: Migration = {
  name: '0010-people',
  sql: `
    alter table accounts add column uuid uuid not null unique default gen_random_uuid();

    create table companies (
      account_id bigint primary key references accounts on delete cascade,
      domain text not null,
      legal_name text,
      description text,
      logo_url text,
      security_training text,
      hipaa_training text,
      background_check text,
      agent_enabled boolean not null,
      manual_upload_enabled boolean not null,
      language text not null,
      updated_at timestamptz(3) not null
    );

    alter table users add column job_title text;

    create table background_checks (
      id bigint generated always as identity primary key,
      user_id bigint not null references users on delete cascade,
      filed_on date not null,
      url text not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    );
    create unique index background_checks_report on background_checks (user_id, filed_on, md5(url));

    alter table personnel add column background_checked boolean not null default false;
    alter table personnel add column compliance_status text not null generated always as (
      case
        when employment_status not in ('CURRENT_EMPLOYEE', 'CURRENT_CONTRACTOR', 'UNKNOWN') then 'EXCLUDED'
        when background_checked then 'PASS'
        else 'FAIL'
      end
    ) stored;
    create index personnel_compliance on personnel (account_id, compliance_status, created_at, id);

    create index events_source on events (account_id, source, created_at, id);
    create index events_workspace on events (account_id, workspace_id, created_at, id) where workspace_id is not null;
  `,
}
