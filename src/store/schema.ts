import type { ColumnType, Generated, Kysely, Selectable } from 'kysely'
import type { Role } from '../contract/control/access.ts'
import type { ChangeKind, FieldChanges, PlanCounts, Verdict } from '../identity/change.ts'
import type { PeopleCounts } from '../identity/guards/facts.ts'
import type { RowAccount } from '../identity/mapping/row-account.ts'
import type {
  FieldTimes,
  HeldDeparture,
  IdentityRecord,
  Observation,
  Origin,
  UnlistedValue,
} from '../identity/record.ts'
import type { ProcessInfo } from './process-info.ts'

/** Read as a value, written as JSON text. */
type Json<T> = ColumnType<T, string, string>
type NullableJson<T> = ColumnType<T | null, string | null | undefined, string | null>

/** What a run read, as its connector names it. */
export type RunSource = {
  readonly name: string
  readonly bytes: number
  /** In UTF-8, decrypted and unpacked; left out where that is no other size. */
  readonly textBytes?: number
  /** The size of the cells; left out in records of older versions. */
  readonly cellBytes?: number
  readonly version: string
  readonly more?: boolean
  /** How the end of a list was recognised; left out where the source is no list. */
  readonly end?: string
}

/** A plan that a person has kept, and what it was made from. */
export type KeptPlan = {
  readonly digest: string
  /** The version of the source; null where there was nothing new to read. */
  readonly version: string | null
  readonly basis: string
  /** The newest accepted run at that time. */
  readonly accepted: string | null
}

/** A person who asked for a run: the name, and who that is for the rule of two people. */
export type Requester = { readonly by: string; readonly principal: string }

export type RunOptions = {
  /** The plan that the run must come to; with any other it fails. */
  readonly plan?: KeptPlan
  /** What was asked for while this run waited. It becomes a run of its own, since this one may be refused. */
  readonly joined?: RunOptions
  /** Send all people again, also those without a difference. */
  readonly full?: boolean
  /** Read the platform's list first and repair every difference. */
  readonly verify?: boolean
  /** Read some people back first, leavers of late among them, and repair every difference. */
  readonly sample?: boolean
  /** The one person this run takes back; such a run reads no source. */
  readonly retract?: { readonly identityId: string; readonly reason: string; readonly by: string }
  /** The person whose retraction was taken back right before this run, and the operator who did that. */
  readonly restore?: { readonly identityId: string; readonly by: string }
  /** The one person that the run is about. */
  readonly person?: RequestedPerson
  /** The people whom this run separates because only the platform knows them, and their last day; such a run reads no source. */
  readonly separate?: SeparateOptions
  /** The run that this one takes back; such a run reads no source. */
  readonly revert?: { readonly runId: string; readonly reason: string; readonly by: string }
  /** What waits in held runs of events is planned again as well. */
  readonly held?: boolean
  /** The held run whose plan this one makes again, because facts about its people were accepted before it was approved. */
  readonly again?: {
    readonly runId: string
    readonly digest: string
    readonly by: string
    readonly because: string | null
  }
}

/** Whom a person has separated, the last day (`YYYY-MM-DD`), and who said so and why. */
export type SeparateOptions = {
  readonly identityIds: readonly string[]
  readonly on: string
  readonly reason: string
  readonly by: string
}

/** A person who is asked for by key, or by the digest of an e-mail address until the source was read and the key is known. */
export type RequestedPerson = { readonly digest: string; readonly identityId?: string }

/** What a run of one person found: their rows, how each was read, and what was decided from them. */
export type PersonAccount = {
  readonly identityId: string
  readonly source: string
  readonly asOf: string
  readonly rows: readonly RowAccount[]
  readonly decision: ChangeKind | 'none'
  /** Why, in sentences. They hold days of employment and no other value. */
  readonly evidence: readonly string[]
}

/** What a run that reverts another one found. Of each kind the first people are named, and all are counted. */
export type RevertAccount = {
  /** The run that is reverted. */
  readonly runId: string
  /** How many people go back to what was known of them before. */
  readonly people: number
  /** Who joined by it, and is left to a retraction. */
  readonly joiners: NamedPeople
  /** Who was taken back by it, and is left to a restoration. */
  readonly retracted: NamedPeople
  /** Who is left as they are, and why. */
  readonly left: {
    readonly count: number
    readonly people: readonly { readonly identityId: string; readonly reason: string }[]
  }
}

type NamedPeople = { readonly count: number; readonly keys: readonly string[] }

/** What a run accounts for beyond its plan. */
export type RunAccount = { readonly person?: PersonAccount; readonly revert?: RevertAccount }

/** How many people HR has told of, and how many of them have left. */
export type RosterCounts = { readonly people: number; readonly separated: number }

/** How many people differ in the platform's list, by kind. `foreign`: no export states them, and the platform takes them for employed. */
export type Differences = { readonly lost: number; readonly changed: number; readonly foreign: number }

export type Verification = Differences & {
  /** How many others no export states, who have left there; left out by older versions, which count them as foreign. */
  readonly separated?: number
  readonly listed: number
  /** How many people were asked for as a sample; left out if the whole list was read. */
  readonly asked?: number
  /** The keys of the first of them, by kind. */
  readonly people?: { [K in keyof Differences]: string[] }
}

/** How many people only the platform knows and takes for employed, and how many others of them have left there. */
export type ForeignCounts = { readonly people: number; readonly separated: number }

/** How many people are blocked, how many of them may have left, and of how many rows the person is unknown. */
export type BlockedPeopleCounts = { readonly people: number; readonly leavers: number; readonly rows: number }

export type Answer = {
  readonly status: number | string
  /** The code in the table of delivery failures; left out if all is well. */
  readonly code?: string
  readonly message?: string
}

type RunsTable = {
  id: string
  connection: string
  trigger: string
  state: string
  options: Json<RunOptions>
  attempt: Generated<number>
  lease: number | null
  feed: Generated<string>
  mode: string | null
  source: NullableJson<RunSource>
  as_of: Date | null
  rows: number | null
  records: number | null
  counts: NullableJson<PlanCounts>
  guards: NullableJson<Verdict[]>
  people_counts: NullableJson<PeopleCounts>
  known_people: NullableJson<RosterCounts>
  digest: string | null
  configuration: string | null
  basis: string | null
  requested_by: NullableJson<readonly Requester[]>
  expires_at: Date | null
  outdated_reason: string | null
  held_part_run_id: string | null
  passed_part_run_id: string | null
  linked_run_id: string | null
  fields: NullableJson<readonly string[]>
  warnings: NullableJson<string[]>
  end_keys: NullableJson<readonly string[]>
  verification: NullableJson<Verification>
  blocked_people: NullableJson<BlockedPeopleCounts>
  reason: string | null
  failure: string | null
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
  decided_by: string | null
  decided_at: Date | null
  values_removed_at: Date | null
  decided_reason: string | null
}

type RosterTable = {
  connection: string
  identity_id: string
  desired: NullableJson<IdentityRecord>
  inferred: boolean
  deferred_to: string | null
  cleared_date: string | null
  deferred_zone: string | null
  due_at: Date | null
  held_departure: NullableJson<HeldDeparture>
  as_of: Date
  employment_as_of: Date | null
  export_is_silent: Generated<boolean>
  field_times: NullableJson<FieldTimes>
  absences: number
  exports_before: Generated<number>
  retracted_reason: string | null
  retracted_at: Date | null
  forgotten_at: Date | null
  uncertain: Generated<boolean>
}

type ChangesTable = {
  run_id: string
  identity_id: string
  kind: string
  record: NullableJson<IdentityRecord>
  separated_at: string | null
  fields: NullableJson<FieldChanges>
  inferred: boolean
  carried: boolean
  reason: string | null
  origin: NullableJson<Origin>
  batch: number | null
  state: string
  step: string | null
  requests: number
  sent_at: Date | null
  answered_at: Date | null
  answer: NullableJson<Answer>
  is_entry: Generated<boolean>
}

type InboxTable = {
  id: Generated<number>
  connection: string
  dedup_key: string
  event_id: string | null
  signed_at: Date | null
  received_at: Date
  body: Buffer | null
  state: string
  run_id: string | null
  reason: string | null
  joined: Generated<boolean>
  retry_at: Date | null
}

/** A leaving date that was stated before another one took its place. */
export type PreviousDate = { readonly on: string; readonly inferred: boolean; readonly until: string }

type LeaversTable = {
  id: Generated<string>
  connection: string
  identity_id: string
  run_id: string
  effective_on: string
  effective_at: Date
  inferred: boolean
  joined_as_leaver: boolean
  previous_dates: ColumnType<PreviousDate[], string | undefined, string>
  stated_at: Date
  first_seen_at: Date
  accepted_at: Date | null
  sent_at: Date | null
  acknowledged_at: Date | null
  visible_at: Date | null
  check_at: Date | null
  checks: Generated<number>
  checked_at: Date | null
  platform_status: string | null
  finding: string | null
  finding_detail: string | null
  ended_at: Date | null
  ended_as: string | null
}

/** The daemon's store, as Kysely sees it. `migrations/` makes it so. */
export type StoreSchema = {
  connections: {
    name: string
    target_key: string | null
    target_id: number | null
    target_resource: number | null
    lacks_update: Generated<boolean>
    accepted_as_of: Date | null
    accepted_fields: NullableJson<readonly string[]>
    accepted_source: NullableJson<RunSource>
    accepted_rows: number | null
    accepted_end: NullableJson<readonly string[]>
    exports_accepted: Generated<number>
    roster_version: Generated<number>
    configuration: string | null
    configured_by: string | null
    blocked_status: number | null
    blocked_code: string | null
    blocked_reason: string | null
    blocked_at: Date | null
    probe_at: Date | null
    target_lease: number | null
  }
  runs: RunsTable
  roster: RosterTable
  acknowledged: {
    connection: string
    identity_id: string
    confirmed: NullableJson<IdentityRecord>
    run_id: string | null
  }
  /** A view of `acknowledged` without the people who were confirmed since. */
  out_of_sync: { connection: string; identity_id: string; confirmed: NullableJson<IdentityRecord> }
  plan_entries: Pick<
    RosterTable,
    | 'identity_id'
    | 'desired'
    | 'inferred'
    | 'deferred_to'
    | 'cleared_date'
    | 'deferred_zone'
    | 'due_at'
    | 'held_departure'
    | 'as_of'
    | 'employment_as_of'
    | 'export_is_silent'
    | 'field_times'
    | 'absences'
  > & { run_id: string }
  changes: ChangesTable
  deliveries: {
    run_id: string
    batch: number
    kind: string
    state: string
    due_at: Date
    attempts: number
    lease: number | null
    requests: number
    people: Generated<number>
    confirmed: Generated<number>
    refused: Generated<number>
    answer: NullableJson<Answer>
    sent_at: Date | null
    answered_at: Date | null
    uncertain: Generated<boolean>
    failures: Generated<number>
    failing_since: Date | null
    last_code: string | null
    last_failure: string | null
    session: string | null
    recent_attempts: Generated<Date[]>
  }
  export_indexes: {
    run_id: string
    connection: string
    base: string | null
    accepted: Generated<boolean>
    is_same: Generated<boolean>
    head: string | null
    seal: Buffer | null
  }
  export_index_parts: { run_id: string; part: number; data: Buffer }
  changed_people: { seq: Generated<string>; connection: string; identity_id: string; run_id: string | null }
  source_headers: {
    run_id: string
    headers: Json<readonly string[]>
    columns: Json<Readonly<Partial<Record<string, string>>>>
  }
  run_accounts: { run_id: string; account: Json<RunAccount> }
  classified_values: {
    connection: string
    field: string
    value: string
    meaning: string
    classified_by: string
    classified_at: Date
  }
  hold_backs: {
    connection: string
    identity_id: string
    until: string
    reason: string
    held_by: string
    held_at: Date
  }
  foreign_people: {
    connection: string
    identity_id: string
    is_separated: boolean
    first_at: Date
    last_at: Date
  }
  pauses: {
    connection: string
    since: Date
    until: Date | null
    reason: string
    paused_by: string
    ended_at: Date | null
  }
  key_answers: {
    connection: string
    former: string
    identity_id: string
    same: boolean
    answered_by: string
    answered_at: Date
  }
  key_change_candidates: { run_id: string; former: string; identity_id: string; in_common: string; clear: boolean }
  leases: { id: number; seen_at: Date; process: NullableJson<ProcessInfo> }
  takeovers: { run_id: string; batch: number; lease: number }
  rejects: {
    run_id: string
    line: number
    column_name: string | null
    reason: string
    identity_id: string | null
    event: string | null
    cell_only: boolean
    may_leave: boolean
    fingerprint: string
    unlisted: NullableJson<UnlistedValue>
    retry_at: Date | null
    seq: Generated<string>
  }
  waiting_rows: {
    seq: Generated<string>
    connection: string
    identity_id: string
    run_id: string | null
    effective_on: string | null
    due_at: Date | null
    observation: NullableJson<Observation>
  }
  known_faults: {
    connection: string
    fingerprint: string
    identity_id: string | null
    line: number
    column_name: string | null
    field: string | null
    reason: string
    source: string | null
    cell_only: boolean
    may_leave: boolean
    unlisted: NullableJson<UnlistedValue>
    times: number
    accepted_times: Generated<number>
    is_blocking: boolean
    run_id: string
    first_at: Date
    last_at: Date
  }
  unlisted_values: { connection: string; field: string; value: string; first_at: Date }
  decided_sources: {
    connection: string
    version: string
    source: Json<RunSource>
    outcome: string
    decided_at: Date
    archived_at: Date | null
    /** When the source was last seen to list it still; null: never since. */
    listed_at: Date | null
  }
  problems: {
    connection: string
    identity_id: string
    run_id: string
    kind: string
    status: number | null
    message: string
    first_at: Date
    last_at: Date
    times: number
  }
  slots: { connection: string; slot: string; taken_at: Date }
  alerts: {
    id: string
    connection: string
    kind: string
    code: string | null
    reason: string
    since: Date
    people: number | null
    leavers: number | null
    run_id: string | null
    raised_at: Date
    absent_since: Date | null
    cleared_at: Date | null
  }
  notifications: {
    alert_id: string
    channel: string
    next_at: Date | null
    claimed_until: Date | null
    sent: Generated<number>
    attempts: Generated<number>
    sent_code: string | null
    notified_at: Date | null
    last_failure: string | null
  }
  alert_messages: { channel: string; sent_at: Date }
  inbox: InboxTable
  overtaken_events: { event: number; identity_id: string; reason: string }
  audit_pending: { id: Generated<string>; entry: string; mac: string | null }
  audit_trail: { ordinal: string; entry: string; hash: string }
  audit_checkpoints: { ordinal: string; key: string; previous: string; hash: string; at: string; signature: string }
  leavers: LeaversTable
  in_doubt: {
    connection: string
    identity_id: string
    run_id: string
    since: Date
    due_at: Date
    answers: Generated<number>
  }
  installation: {
    one: Generated<boolean>
    id: string
    made_at: Date
    moved_to: string | null
    moved_at: Date | null
  }
  access_tokens: AccessTokensTable
  access_sessions: {
    hash: string
    name: string
    role: Role
    principal: string
    token_id: string | null
    created_at: Date
    seen_at: Date
    expires_at: Date
  }
  restored_connections: { connection: string; known_until: Date; restored_at: Date }
}

export type AccessTokensTable = {
  id: Generated<string>
  name: string
  role: Role
  hash: string
  created_at: Date
  created_by: string
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  revoked_by: string | null
}

export type Db = Kysely<StoreSchema>
export type RunRow = Selectable<RunsTable>
