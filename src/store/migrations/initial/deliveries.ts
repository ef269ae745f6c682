/** Batches with their requests, and what the platform did not take. */
export const deliveryTables = `
create table deliveries (
  run_id uuid not null references runs (id) on delete cascade,
  batch integer not null,
  kind text not null,
  state text not null,
  due_at timestamptz not null,

  -- Every claim raises the attempts. Writes of an older attempt are refused.
  attempts integer not null default 0,
  lease integer,
  -- A request may have reached the platform, and its outcome is unknown.
  uncertain boolean not null default false,

  requests integer not null default 0,
  people integer not null default 0,
  confirmed integer not null default 0,
  refused integer not null default 0,

  -- The answer for the batch as a whole. It applies to each person who is still due.
  answer jsonb,
  sent_at timestamptz,
  answered_at timestamptz,

  failures integer not null default 0,
  failing_since timestamptz,
  last_code text,
  last_failure text,
  -- The session whose completion was requested. Its records are the live ones if the platform says that it is active.
  session text,
  -- When the last attempts began, the newest first. An attempt that got something through, or was told to wait, empties the list.
  recent_attempts timestamptz[] not null default '{}',
  primary key (run_id, batch)
);
create index deliveries_due on deliveries (due_at) where state = 'due';

-- People whom the platform does not have as HR wants them.
create view out_of_sync as
select connection, identity_id, confirmed from acknowledged
where not exists (
  select 1 from changes join deliveries using (run_id, batch)
  where changes.run_id = acknowledged.run_id and changes.identity_id = acknowledged.identity_id
    and changes.state in ('due', 'confirmed') and deliveries.answer is not null);

-- Batches taken over from a process that may still send. Once that process has renewed its lease, or has ended, their people are looked up.
create table takeovers (
  run_id uuid not null references runs (id) on delete cascade,
  batch integer not null,
  lease integer not null,
  primary key (run_id, batch, lease)
);

create table problems (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  run_id uuid not null references runs (id),
  kind text not null,
  status integer,
  message text not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  times integer not null default 1,
  primary key (connection, identity_id)
);

-- The budget of requests. rate-limiter-flexible counts in this table. Its rows need not survive a crash.
create unlogged table request_budget (
  key text primary key,
  points integer not null default 0,
  expire bigint,
  -- Since when requests to the platform fail, and why; null once one was answered. Every request reads this row anyway.
  failing_since timestamptz,
  failing_reason text,
  failing_is_away boolean
);
`
