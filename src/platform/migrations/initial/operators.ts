import { belongsTo, id } from './columns.ts'

/** Who may use the Personnel page. */
export const operatorTables = `
create table operators (
  ${id},
  name text not null unique,
  account_id bigint references accounts on delete cascade,
  password text not null,
  created_at timestamptz(3) not null
);
create index operators_account on operators (account_id);

create table operator_sessions (
  hash text primary key,
  operator_id ${belongsTo('operators')},
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index operator_sessions_operator on operator_sessions (operator_id);
`
