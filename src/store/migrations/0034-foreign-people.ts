import type { Migration } from '../../database/database.ts'

export const foreignPeople: Migration = {
  name: '0034-foreign-people',
  sql: `
-- Whom the platform's connection held when its whole list was read last, and of whom the roster knew nothing then. Keys only. A person
-- whom HR states since is no longer meant, though the row stays until the list is read again.
create table foreign_people (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  is_separated boolean not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (connection, identity_id)
);
`,
}
