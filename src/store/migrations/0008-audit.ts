import type { Migration } from '../../database/database.ts'

export const audit: Migration = {
  name: '0008-audit',
  sql: `
-- Acts that are not in the chain yet. An act is put here in the transaction of what it is about, so it waits for no other; its mac
-- says that a process with the key wrote it.
create table audit_pending (
  id bigint generated always as identity primary key,
  entry text not null,
  mac text
);
create index audit_pending_known on audit_pending (md5(entry));

-- The chain. Each hash is counted from the one before it and from the text of the entry. Rows are added and never changed.
create table audit_trail (
  ordinal bigint primary key,
  entry text not null,
  hash text not null
);
-- An act that is put into audit_pending a second time, with the mac that it had, is known by its text.
create unique index audit_trail_once on audit_trail (md5(entry));
create index audit_trail_configurations on audit_trail (ordinal) where entry like '%"act":"config.used"%';

-- Signed statements that the chain has so many entries and ends with this hash, and where the statement before it stands. There are
-- two where a key takes over from another.
create table audit_heads (
  ordinal bigint not null,
  key text not null,
  previous bigint not null,
  hash text not null,
  at text not null,
  signature text not null,
  primary key (ordinal, key)
);
`,
}
