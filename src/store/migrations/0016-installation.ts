import type { Migration } from '../../database/database.ts'

export const installation: Migration = {
  name: '0016-installation',
  sql: `
-- Which installation this store is of: its data folder knows the same id. There is one row.
create table installation (
  one boolean primary key default true check (one),
  id uuid not null,
  made_at timestamptz not null,
  -- Where the store was moved to: from then on this one is history.
  moved_to text,
  moved_at timestamptz
);

-- Connections whose store was put back to what it was at a time: before anything is planned, what the platform has learned since then
-- is read from it.
create table restored_connections (
  connection text primary key references connections (name),
  known_until timestamptz not null,
  restored_at timestamptz not null
);
`,
}
