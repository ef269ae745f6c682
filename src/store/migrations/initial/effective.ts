/** What the platform's personnel shows of everyone, compared with HR. */
export const effectiveTables = `
-- The comparison of everyone on one platform, or with one list of accounts: when it is due, and how the newest one ended.
create table effective_walks (
  -- The address of the platform, or "directory NAME".
  compared text primary key,
  next_at timestamptz not null,
  claimed_until timestamptz,
  walked_at timestamptz,
  -- The identity sync that the newest comparison has seen (null: its events cannot be read, or there was none), or the time of the list.
  synced_at timestamptz,
  -- Counts comparisons, so that a finding shows which one saw it last.
  walks integer not null default 0,
  requests integer not null default 0,
  -- Rows of a list of accounts that could not be read.
  unreadable integer not null default 0,
  -- Of the last accepted list of accounts, what the next one must have too.
  list json,
  failure text,
  -- Since when every comparison fails.
  failed_at timestamptz
);

create table effective_coverage (
  -- A connection or a directory.
  connection text primary key,
  -- People, or the accounts of a directory.
  people integer not null,
  effective integer not null,
  at timestamptz not null
);

-- People whom the platform does not show as HR's facts imply. The evidence can hold e-mail addresses and names.
create table effective_findings (
  -- The connection, or the directory that was compared.
  connection text not null,
  -- The connection that states the person.
  person_connection text not null,
  -- The key, the number on the platform of a person whom no connection states, or a digest of the account of nobody.
  subject text collate "C" not null,
  identity_id text collate "C",
  person_id bigint,
  cause text not null,
  evidence jsonb not null,
  can_reset boolean not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  seen_in integer not null,
  primary key (connection, person_connection, subject, cause)
);
alter table effective_findings alter column evidence set statistics 0;
`
