/** The audit trail. */
export const auditTables = `
-- Entries that are not in the chain yet. An entry is written in the transaction that it describes, so it waits for no other. Its mac shows
-- that a process with the key wrote it.
create table audit_pending (
  id bigint generated always as identity primary key,
  entry text not null,
  mac text
);
create index audit_pending_known on audit_pending (md5(entry));

-- The chain. Each hash is made from the hash before it and from the text of the entry. Rows are added and never changed.
create table audit_trail (
  ordinal bigint primary key,
  entry text not null,
  hash text not null
);
-- The text of an entry recognises one that is written to audit_pending a second time with its old mac.
create unique index audit_trail_once on audit_trail (md5(entry));
create index audit_trail_configurations on audit_trail (ordinal) where entry like '%"act":"config.used"%';

-- Signed statements of how many entries the chain has and with which hash it ends, and where the statement before it stands. Where one key
-- replaces another, there are two.
create table audit_checkpoints (
  ordinal bigint not null,
  key text not null,
  previous bigint not null,
  hash text not null,
  at text not null,
  signature text not null,
  primary key (ordinal, key)
);
`
