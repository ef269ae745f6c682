/** Who may use the control API and the console: tokens and signed-in people. */
export const accessTables = `
-- What a person or a program shows to be let in. Only the hash of a token is stored.
create table access_tokens (
  id bigint generated always as identity primary key,
  name text not null,
  role text not null,
  -- The connection that a token with the role scim may push to. Null for every other role.
  connection text,
  hash text not null unique,
  created_at timestamptz not null,
  created_by text not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text
);
-- A name can be used again once its token is revoked, so that a token can be replaced.
create unique index access_tokens_by_name on access_tokens (lower(name)) where revoked_at is null;

-- People who are signed in, in a browser.
create table access_sessions (
  hash text primary key,
  name text not null,
  role text not null,
  principal text not null,
  -- The token of the sign-in. The session ends with it. Null: the person signed in without a token.
  token_id bigint references access_tokens (id) on delete cascade,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  expires_at timestamptz not null
);
create index access_sessions_by_token on access_sessions (token_id);
create index access_sessions_by_end on access_sessions (expires_at);
`
