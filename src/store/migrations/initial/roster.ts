/** People: what HR says of them, what the platform acknowledged, and what operators decided about them. */
export const rosterTables = `
-- The connection is no foreign key: the check would cost a lookup for each row. All rows of a connection are written under its lock.
create table roster (
  connection text not null,
  identity_id text collate "C" not null,
  desired jsonb,
  -- The leaving date in \`desired\` was inferred: from absence, or from a status without a date.
  inferred boolean not null default false,
  -- A leaving date in the future that is not sent yet.
  deferred_to text,
  -- A leaving date that a later start has cleared. HR systems keep stating it, and it no longer applies.
  cleared_date text,
  -- The time zone of deferred_to, and the instant at which that day begins.
  deferred_zone text,
  due_at timestamptz,
  -- The departure that HR states and that \`desired\` lacks, as a row of hold_backs holds it back. due_at is then the beginning of the day on
  -- which the hold ends.
  held_departure jsonb,
  -- The leaving date in \`desired\` is that of a row of stated_departures.
  is_by_operator boolean not null default false,

  -- The time of the newest fact, and that of the newest fact about employment, which may be earlier; null: there is none.
  as_of timestamptz not null,
  employment_as_of timestamptz,
  -- The times of fields that are before as_of, by name.
  field_times jsonb,
  -- How many exports were accepted before this row was written. If the connection has accepted more since, the newest of them confirmed this
  -- row without rewriting it.
  exports_before integer not null default 0,
  -- The number of consecutive accepted snapshots without this person.
  absences integer not null default 0,

  retracted_reason text,
  retracted_at timestamptz,

  -- When an operator had the values of this leaver removed. The key stays, so that no later export makes a joiner of the person.
  forgotten_at timestamptz,

  -- A request may have reached the platform, and its outcome is unknown. The next run looks up what the platform holds.
  uncertain boolean not null default false,
  -- The newest accepted export does not state whether the person is employed, so older facts about employment still apply.
  export_is_silent boolean not null default false,
  primary key (connection, identity_id)
);
create index roster_due on roster (due_at) where due_at is not null;
create index roster_uncertain on roster (connection) where uncertain;

-- What the platform acknowledged last, of people for whom it differs from \`desired\`; null: nothing yet. People without a row are confirmed
-- as desired, which are nearly all. run_id: the run with the change to send, if any. If the platform takes a whole batch of that run, only
-- the delivery records the answer: the rows of its people no longer apply (view out_of_sync), and are removed later.
create table acknowledged (
  connection text not null,
  identity_id text collate "C" not null,
  confirmed jsonb,
  run_id uuid,
  primary key (connection, identity_id)
);

-- No query is planned by the content of a document, and comparing thousands of documents is most of the cost of ANALYZE.
alter table roster alter column desired set statistics 0, alter column held_departure set statistics 0,
  alter column field_times set statistics 0;
alter table acknowledged alter column confirmed set statistics 0;

-- People whose departure an operator holds back until a day. The hold ends by itself on that day.
create table hold_backs (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  until text not null,
  reason text not null,
  held_by text not null,
  held_at timestamptz not null,
  primary key (connection, identity_id)
);

-- Departures that operators state before HR does, until HR states a leaving date or an approver withdraws them. due_at: the beginning of the
-- last day. Without \`applies\`, a second person has to approve it first; an emergency applies at once and is approved afterwards.
create table stated_departures (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  leaving_date text not null,
  due_at timestamptz not null,
  reason text not null,
  stated_by text not null,
  principal text not null,
  stated_at timestamptz not null,
  applies boolean not null,
  is_emergency boolean not null,
  approved_by text,
  primary key (connection, identity_id)
);

-- What operators said of two keys: both name one person, whom the platform has under the former key, or they name two people.
create table key_answers (
  connection text not null references connections (name),
  former text collate "C" not null,
  identity_id text collate "C" not null,
  same boolean not null,
  answered_by text not null,
  answered_at timestamptz not null,
  primary key (connection, former, identity_id)
);
-- A key names one person.
create unique index key_answers_same on key_answers (connection, identity_id) where same;

-- The pairs of keys in a plan that look like one person each, kept while the plan waits. in_common: what both keys share (email, name, both).
-- clear: neither key is in another pair.
create table key_change_candidates (
  run_id uuid not null references runs (id) on delete cascade,
  former text collate "C" not null,
  identity_id text collate "C" not null,
  in_common text not null,
  clear boolean not null,
  primary key (run_id, former, identity_id)
);

-- People whom the platform held when its whole list was last read, and whom the roster did not know then. Keys only. Once HR states such a
-- person, the row no longer applies; it stays until the list is read again.
create table foreign_people (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  is_separated boolean not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (connection, identity_id)
);

-- People who were delivered although an earlier request about them, which was given up, may still reach the platform. They are looked up
-- until the platform has given the same answer several times in a row, after it is too late for that request to arrive.
create table in_doubt (
  connection text not null references connections (name),
  identity_id text collate "C" not null,
  -- The run of the newest such request, and when it was given up.
  run_id uuid not null references runs (id) on delete cascade,
  since timestamptz not null,
  -- When the person is looked up next.
  due_at timestamptz not null,
  -- How many answers in a row were the same, counted once it is too late for the request to arrive.
  answers integer not null default 0,
  primary key (connection, identity_id)
);
create index in_doubt_due on in_doubt (due_at);
create index in_doubt_by_run on in_doubt (run_id);
`
