/** Rows and values that cannot be used, or not yet. */
export const rejectTables = `
-- Rows and events of a run that could not become records, and cells that could not be read, so that a record lacks their field.
create table rejects (
  run_id uuid not null references runs (id) on delete cascade,
  seq bigint generated always as identity,
  line integer not null,
  column_name text,
  reason text not null,
  identity_id text,
  event text,
  cell_only boolean not null,
  may_leave boolean not null,
  fingerprint text not null,
  unlisted jsonb,
  -- When an event with a future date takes effect. It is rejected until then, and read again by itself.
  retry_at timestamptz
);
create index rejects_by_run on rejects (run_id, seq);

-- The faults of the newest export of a connection, each once. The fingerprint recognises a fault in the next export. A fault stays until
-- an export without it is accepted.
create table known_faults (
  connection text not null references connections (name),
  fingerprint text not null,
  identity_id text collate "C",
  line integer not null,
  column_name text,
  -- The field that the cell fills, if that field has a time of its own.
  field text,
  reason text not null,
  source text,
  cell_only boolean not null,
  may_leave boolean not null,
  unlisted jsonb,
  -- For the hand-over to HR: why, what the column takes, and the cell as HR wrote it.
  cause text,
  expected text,
  cell text,
  -- When a mail to HR listed the fault.
  mailed_at timestamptz,
  -- How many rows have the fault: in the newest export that was read, and in the newest that was accepted.
  times integer not null,
  accepted_times integer not null default 0,
  -- Whether the person is blocked by it. False if a newer row of the same person applies.
  is_blocking boolean not null,
  -- The run that met it last.
  run_id uuid not null references runs (id),
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (connection, fingerprint)
);
create index known_faults_by_run on known_faults (run_id);
create index known_faults_of_leavers on known_faults (connection) where may_leave;

-- The mails to HR about known_faults; at most one row.
create table hand_over_mails (
  one boolean primary key default true check (one),
  -- The slot of the schedule that was dealt with last, by a mail or because nothing was new.
  slot text not null,
  -- A process sends until then; afterwards another one may.
  claimed_until timestamptz,
  attempts integer not null default 0,
  retry_at timestamptz,
  sent_at timestamptz,
  -- Since when no mail got through to everybody, and why the last attempt did not; null: it did.
  failing_since timestamptz,
  last_failure text
);

-- Values that no list classifies and that were accepted with a plan. These do not hold a plan again.
create table unlisted_values (
  connection text not null references connections (name),
  field text not null,
  value text not null,
  first_at timestamptz not null,
  primary key (connection, field, value)
);

-- Rows of exports that take effect on a later day. run_id names the plan that they belong to; null: the plan was accepted.
create table waiting_rows (
  seq bigint generated always as identity primary key,
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  run_id uuid references runs (id) on delete cascade,
  -- The day on which the observation takes effect. Without an observation, the row says which waiting rows of the person are deleted once
  -- the plan is accepted: those of this day, or all if null.
  effective_on date,
  due_at timestamptz,
  observation jsonb
);
create index waiting_rows_due on waiting_rows (due_at) where run_id is null;
create index waiting_rows_of_person on waiting_rows (connection, identity_id);
create index waiting_rows_of_run on waiting_rows (run_id) where run_id is not null;
`
