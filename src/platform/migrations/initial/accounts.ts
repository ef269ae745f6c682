import { belongsTo, id, listed, listIndexes, uuid } from './columns.ts'

/** Accounts with their plans, companies, users, API keys and workspaces. */
export const accountTables = `
create table settings (
  name text primary key,
  value text not null
);

create table accounts (
  ${id},
  name text not null unique,
  terms_accepted_at timestamptz(3),
  created_at timestamptz(3) not null,
  ${uuid}
);

create table entitlements (
  account_id ${belongsTo('accounts')},
  name text not null,
  primary key (account_id, name)
);

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

create table users (
  ${id},
  account_id ${belongsTo('accounts')},
  email text not null,
  first_name text,
  last_name text,
  origin text not null check (origin in ('operator', 'identity_sync', 'api_key')),
  ${listed},
  job_title text,
  roles text[] not null default '{EMPLOYEE}',
  words tsvector not null generated always as (search_words(first_name, last_name, email)) stored
);
create unique index users_email on users (account_id, fold_case(email));
${listIndexes('users', 'users', 'account_id')}
create index users_roles on users using gin (roles);
create index users_words on users using gin (words);
create index users_names on users
  (account_id, fold_case(coalesce(last_name, first_name, email)), fold_case(coalesce(first_name, '')), id);

create table api_keys (
  ${id},
  account_id ${belongsTo('accounts')},
  user_id ${belongsTo('users')},
  name text not null,
  hash text not null unique,
  access text not null check (access in ('custom', 'all-read', 'all')),
  permissions text[] not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null,
  -- IPv4 and IPv6 addresses and networks in CIDR notation from which the key works. Empty: everywhere.
  allowed_addresses text[] not null default '{}'
);
create index api_keys_account on api_keys (account_id, id);
create index api_keys_user on api_keys (user_id);

create table workspaces (
  ${id},
  account_id ${belongsTo('accounts')},
  is_primary boolean not null,
  name text not null,
  description text,
  how_it_works text,
  url text,
  logo text,
  ${listed},
  unique (account_id, name)
);
${listIndexes('workspaces', 'workspaces', 'account_id')}
`
