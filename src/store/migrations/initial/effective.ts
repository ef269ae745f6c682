/** What the platform's personnel shows of everyone, compared with HR. */
export const effectiveTables = `
-- The comparison of everyone on one platform: when it is due, and how the newest one ended.
create table effective_walks (
  platform text primary key,
  next_at timestamptz not null,
  claimed_until timestamptz,
  walked_at timestamptz,
  -- The identity sync that the newest comparison has seen; null: its events cannot be read, or there was none.
  synced_at timestamptz,
  -- Counts comparisons, so that a finding shows which one saw it last.
  walks integer not null default 0,
  requests integer not null default 0,
  failure text
);

create table effective_coverage (
  connection text primary key references connections (name),
  people integer not null,
  effective integer not null,
  at timestamptz not null
);

-- People whom the platform does not show as HR's facts imply. The evidence can hold e-mail addresses and names.
create table effective_findings (
  connection text not null references connections (name),
  -- The key, or the number on the platform of a person whom no connection states.
  subject text collate "C" not null,
  identity_id text collate "C",
  person_id bigint,
  cause text not null,
  evidence jsonb not null,
  can_reset boolean not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  seen_in integer not null,
  primary key (connection, subject, cause)
);
alter table effective_findings alter column evidence set statistics 0;
`
