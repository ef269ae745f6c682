import type { Migration } from '../../database/database.ts'

/** Personnel, whom the identity sync matched to whom, and the result of every sync. */
export const personnel: Migration = {
  name: '0004-personnel',
  sql: `
    create table personnel (
      id bigint generated always as identity primary key,
      account_id bigint not null references accounts on delete cascade,
      user_id bigint not null unique references users on delete cascade,
      employment_status text not null check (employment_status in (
        'CURRENT_EMPLOYEE', 'FORMER_EMPLOYEE', 'CURRENT_CONTRACTOR', 'FORMER_CONTRACTOR', 'FUTURE_HIRE',
        'UNKNOWN', 'OUT_OF_SCOPE', 'SERVICE_ACCOUNT', 'SPECIAL_FORMER_EMPLOYEE', 'SPECIAL_FORMER_CONTRACTOR'
      )),
      started_at timestamptz(3),
      separated_at timestamptz(3),
      status_updated_at timestamptz(3),
      not_human_reason text,
      reason_provider_id bigint references users on delete set null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      changed_in xid8 not null default pg_current_xact_id()
    );
    create index personnel_created on personnel (account_id, created_at, id);
    create index personnel_updated on personnel (account_id, updated_at, id);
    create index personnel_reason_provider on personnel (reason_provider_id);

    create table identity_matches (
      identity_row_id bigint primary key references hris_user_identities on delete cascade,
      user_id bigint not null references users on delete cascade
    );
    create index identity_matches_user on identity_matches (user_id);

    create table identity_syncs (
      id bigint generated always as identity primary key,
      account_id bigint not null references accounts on delete cascade,
      trigger text not null check (trigger in ('schedule', 'operator')),
      started_at timestamptz(3) not null,
      duration_ms integer not null,
      identities integer not null,
      created integer not null,
      changed integer not null,
      counts jsonb not null
    );
    create index identity_syncs_account on identity_syncs (account_id, id);
  `,
}
