import { belongsTo, id, listed, listIndexes, times } from './columns.ts'

/** Personnel with background checks, and the identity syncs with their matches. */
export const personnelTables = `
create table personnel (
  ${id},
  account_id ${belongsTo('accounts')},
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
  ${listed},
  -- Which dates were set by hand, so that the identity sync leaves them alone.
  started_by_hand boolean not null default false,
  separated_by_hand boolean not null default false,
  set_by_hand boolean not null generated always as (
    status_updated_at is not null or started_by_hand or separated_by_hand
  ) stored,
  background_checked boolean not null default false,
  -- The other compliance checks by type. \`refreshCompliance\` writes them.
  checks jsonb not null default '{}',
  -- A generated column, so that it is right after every write.
  compliance_status text not null generated always as (
    case
      when employment_status not in ('CURRENT_EMPLOYEE', 'CURRENT_CONTRACTOR', 'UNKNOWN') then 'EXCLUDED'
      when background_checked and not checks @? '$.*.status ? (@ == "FAIL")' then 'PASS'
      else 'FAIL'
    end
  ) stored
);
${listIndexes('personnel', 'personnel', 'account_id')}
create index personnel_reason_provider on personnel (reason_provider_id);
create index personnel_employment on personnel (account_id, employment_status, user_id);
create index personnel_compliance on personnel (account_id, compliance_status, created_at, id);
create index personnel_status on personnel (account_id, employment_status);
create index personnel_by_hand on personnel (account_id) where set_by_hand;

-- Background checks that were recorded by hand.
create table background_checks (
  ${id},
  user_id ${belongsTo('users')},
  filed_on date not null,
  url text not null,
  ${times}
);
create unique index background_checks_report on background_checks (user_id, filed_on, md5(url));

create table identity_matches (
  identity_row_id bigint primary key references hris_user_identities on delete cascade,
  user_id ${belongsTo('users')}
);
create index identity_matches_user on identity_matches (user_id);

-- The results of finished syncs.
create table identity_syncs (
  ${id},
  account_id ${belongsTo('accounts')},
  trigger text not null check (trigger in ('schedule', 'operator')),
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  identities integer not null,
  created integer not null,
  changed integer not null,
  counts jsonb not null
);
create index identity_syncs_account on identity_syncs (account_id, id);

-- All attempts of syncs, running or ended.
create table identity_sync_attempts (
  ${id},
  account_id ${belongsTo('accounts')},
  trigger text not null check (trigger in ('schedule', 'operator')),
  started_by text,
  started_at timestamptz(3) not null,
  ended_at timestamptz(3),
  sync_id bigint references identity_syncs on delete cascade
);
create index identity_sync_attempts_account on identity_sync_attempts (account_id, id);
create index identity_sync_attempts_sync on identity_sync_attempts (sync_id);
`
