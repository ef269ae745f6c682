/**
 * The content of a group of columns. `values`: personal values. `keys`: identityIds. `words`: texts that an operator typed or a server
 * returned.
 */
export type Holds = 'values' | 'keys' | 'words' | 'none'

/** A group of columns with one retention rule. */
export type StoredData = {
  readonly holds: Holds
  readonly description: string
  /** When it is removed. */
  readonly removedWhen: string
  readonly columns: readonly string[]
}

/** Splits names of columns at blanks. */
function splitNames(columns: string): readonly string[] {
  return columns.split(' ')
}

/** Names of settings of `retention`; counted from the end of the run. The newest 100 runs of a connection stay in any case. */
const values = '`valuesDays`'
const history = '`historyDays`'
const known = '`rollcall forget`'
const pushed = 'the sender deletes them, or `rollcall forget`'
const forEver = 'never'

/**
 * What the store keeps, by table, and when it is removed. Every column of every table is listed once: a test compares this with the database, and
 * docs/security.md is generated from it.
 */
export const storedData: Readonly<Record<string, readonly StoredData[]>> = {
  roster: [
    {
      holds: 'values',
      description: 'what HR states of a person, with the times of the facts',
      removedWhen: known,
      columns: splitNames(
        'desired inferred deferred_to cleared_date deferred_zone due_at held_departure is_by_operator field_times group_value',
      ),
    },
    {
      holds: 'words',
      description: 'why a person was retracted',
      removedWhen: known,
      columns: splitNames('retracted_reason'),
    },
    {
      holds: 'keys',
      description: 'that the person is known, and since when',
      removedWhen: forEver,
      columns: splitNames(
        'connection identity_id as_of employment_as_of export_is_silent absences exports_before retracted_at uncertain forgotten_at',
      ),
    },
  ],
  intakes: [
    {
      holds: 'keys',
      description: 'how many rows and keys an export had, and its keys until the plan is decided',
      removedWhen: history,
      columns: splitNames('run_id counts digest keys'),
    },
  ],
  stated_keys: [
    {
      holds: 'keys',
      description: 'the keys that the newest accepted export states',
      removedWhen: 'a newer export without the key is accepted',
      columns: splitNames('connection identity_id treatment'),
    },
  ],
  stated_exports: [
    {
      holds: 'none',
      description: 'which export that is',
      removedWhen: forEver,
      columns: splitNames('connection run_id as_of digest list_digest'),
    },
  ],
  statements: [
    {
      holds: 'keys',
      description: 'the population statements: counts, and keys of people who are unaccounted for',
      removedWhen: history,
      columns: splitNames('id connection run_id made_at adds_up content people_digest'),
    },
  ],
  accounted_people: [
    {
      holds: 'keys',
      description: 'in which part of the statements each key was; a digest of the key after `rollcall forget`',
      removedWhen: 'no statement that names the part is kept',
      columns: splitNames('connection identity_id stated exported part on_platform detail since until'),
    },
  ],
  in_doubt: [
    {
      holds: 'keys',
      description: 'people about whom a request may still reach the platform, and when they are looked up',
      removedWhen: 'enough look-ups in a row show what the platform acknowledged',
      columns: splitNames('connection identity_id run_id since due_at answers'),
    },
  ],
  acknowledged: [
    {
      holds: 'values',
      description: 'what the platform has of people whose record differs from HR',
      removedWhen: 'the platform acknowledges what HR states',
      columns: splitNames('connection identity_id confirmed run_id'),
    },
  ],
  plan_entries: [
    {
      holds: 'values',
      description: 'roster entries that a plan would write',
      removedWhen: 'the plan is accepted or dropped',
      columns: splitNames(
        'run_id identity_id desired inferred deferred_to cleared_date deferred_zone due_at held_departure is_by_operator as_of employment_as_of export_is_silent field_times absences group_value',
      ),
    },
  ],
  changes: [
    {
      holds: 'values',
      description: 'the sent record, its differences and their digest',
      removedWhen: values,
      columns: splitNames('record fields digest group_value'),
    },
    {
      holds: 'words',
      description: "the platform's answer; its message may quote values",
      removedWhen: values,
      columns: splitNames('answer'),
    },
    {
      holds: 'keys',
      description: 'whose change it was, the leaving date, and the outcome',
      removedWhen: history,
      columns: splitNames(
        'run_id identity_id kind separated_at inferred carried reason origin batch state step requests sent_at answered_at is_entry',
      ),
    },
  ],
  rejects: [
    {
      holds: 'values',
      description: 'the reason, which may quote a cell',
      removedWhen: values,
      columns: splitNames('reason fingerprint unlisted'),
    },
    {
      holds: 'keys',
      description: 'rows that cannot be used, and people who may have left',
      removedWhen: `${values}; of a rejected event ${history}`,
      columns: splitNames('run_id seq line column_name identity_id event cell_only may_leave retry_at cause expected'),
    },
  ],
  known_faults: [
    {
      holds: 'values',
      description: 'the cell as HR wrote it, and the reason, which may quote it',
      removedWhen: `${values} after the run that met it last, or ${known} if the row has a readable key`,
      columns: splitNames('reason cell'),
    },
    {
      holds: 'keys',
      description: 'faults of the newest export',
      removedWhen: 'an export is accepted without the fault',
      columns: splitNames(
        'connection fingerprint identity_id line column_name field source cell_only may_leave unlisted cause expected mailed_at times accepted_times is_blocking run_id first_at last_at',
      ),
    },
  ],
  hand_over_mails: [
    {
      holds: 'none',
      description: 'when HR was mailed what to correct, and whether that failed',
      removedWhen: forEver,
      columns: splitNames('one slot claimed_until attempts retry_at sent_at failing_since last_failure'),
    },
  ],
  weekly_mails: [
    {
      holds: 'none',
      description: 'when the weekly summary was mailed, and whether that failed',
      removedWhen: forEver,
      columns: splitNames('one slot claimed_until attempts retry_at sent_at failing_since last_failure'),
    },
  ],
  key_answers: [
    {
      holds: 'keys',
      description: 'answers about two keys of HR',
      removedWhen: 'an operator takes the answer back',
      columns: splitNames('connection former identity_id same answered_by answered_at'),
    },
  ],
  key_change_candidates: [
    {
      holds: 'keys',
      description: 'keys of a plan that look like one person',
      removedWhen: history,
      columns: splitNames('run_id former identity_id in_common clear'),
    },
  ],
  overtaken_events: [
    {
      holds: 'keys',
      description: 'events without effect on a person, because newer facts were known',
      removedWhen: 'seven days after the event came',
      columns: splitNames('event identity_id reason'),
    },
  ],
  foreign_people: [
    {
      holds: 'keys',
      description: 'people whom only the platform knows',
      removedWhen: 'the list is read again',
      columns: splitNames('connection identity_id is_separated first_at last_at'),
    },
  ],
  unapproved_people: [
    {
      holds: 'keys',
      description: 'people who were left out when a part of their plan was approved, and wait for an approval',
      removedWhen: 'somebody approves it, an export no longer states it, or `rollcall forget`',
      columns: splitNames('connection identity_id kind is_of_missing deferred_to run_id as_of held_by ended_by since'),
    },
  ],
  hold_backs: [
    {
      holds: 'words',
      description: 'whose departure an operator holds back, until when and why',
      removedWhen: 'it is ended or replaced, or `rollcall forget`',
      columns: splitNames('connection identity_id until reason held_by held_at'),
    },
  ],
  settings_changes: [
    {
      holds: 'words',
      description:
        'the configuration before and after the newest change in the console, and changes that wait for a second admin, as the file has them: a secret that stands there as a text instead of a reference is in them',
      removedWhen: 'the next change is saved, or the waiting one is decided or replaced',
      columns: splitNames('id connection file before after changed_by principal changed_at expires_at writing_since'),
    },
  ],
  stated_departures: [
    {
      holds: 'words',
      description: 'departures that operators state, and why',
      removedWhen: 'HR states one, it is withdrawn, or `rollcall forget`',
      columns: splitNames(
        'connection identity_id leaving_date due_at reason stated_by principal stated_at applies is_emergency approved_by proposed_date proposed_by proposed_principal proposed_reason proposed_until proposed_at is_learned unconfirmed_until',
      ),
    },
  ],
  waiting_rows: [
    {
      holds: 'values',
      description: 'rows of exports that take effect on a later day',
      removedWhen: 'that day, a newer export about the person, or `rollcall forget`',
      columns: splitNames('seq connection identity_id run_id effective_on due_at observation'),
    },
  ],
  pauses: [
    {
      holds: 'words',
      description: 'the newest pause of each connection: until when, why and by whom',
      removedWhen: 'the connection is paused again',
      columns: splitNames('connection since until reason paused_by ended_at'),
    },
  ],
  leavers: [
    {
      holds: 'keys',
      description: 'the times of each departure, and what the platform showed',
      removedWhen: forEver,
      columns: splitNames(
        'id connection identity_id run_id effective_on effective_at inferred joined_as_leaver previous_dates stated_at stated_by first_seen_at accepted_at sent_at acknowledged_at visible_at check_at checks checked_at platform_status finding finding_detail ended_at ended_as',
      ),
    },
  ],
  effective_comparisons: [
    {
      holds: 'none',
      description:
        'when the personnel of the platform and lists of accounts are compared with HR, and how the newest comparison ended',
      removedWhen: 'the directory leaves the configuration',
      columns: splitNames(
        'compared next_at claimed_until compared_at synced_at number requests unreadable list failure failed_at',
      ),
    },
  ],
  effective_coverage: [
    {
      holds: 'none',
      description:
        "how many people of a connection match HR's data on the platform, and how many accounts have no finding",
      removedWhen: 'the directory leaves the configuration',
      columns: splitNames('connection people effective at'),
    },
  ],
  effective_findings: [
    {
      holds: 'values',
      description:
        'people whom the platform shows otherwise, and why; accounts of leavers or unknown people; e-mails, logins, and who edited people by hand',
      removedWhen: 'a comparison does not see it again, the directory leaves the configuration, or `rollcall forget`',
      columns: splitNames(
        'connection person_connection subject identity_id person_id cause evidence can_reset first_seen_at last_seen_at seen_in',
      ),
    },
  ],
  source_headers: [
    {
      holds: 'none',
      description: 'the columns of an export, and the field of each',
      removedWhen: history,
      columns: splitNames('run_id headers columns'),
    },
  ],
  export_indexes: [
    {
      holds: 'keys',
      description:
        'the change filter of the accepted export and of open plans: people about whom the next export needs a decision',
      removedWhen: 'the next accepted export, or the plan is dropped',
      columns: splitNames('run_id connection base accepted is_same head seal'),
    },
  ],
  export_index_parts: [
    {
      holds: 'keys',
      description:
        'the change filter: a digest of each unchanged row, made with a key of the installation, and its person',
      removedWhen: 'the next accepted export, or the plan is dropped',
      columns: splitNames('run_id part data'),
    },
  ],
  changed_people: [
    {
      holds: 'keys',
      description: 'people who changed since the accepted export',
      removedWhen: 'the next accepted export',
      columns: splitNames('seq connection identity_id run_id'),
    },
  ],
  run_accounts: [
    {
      holds: 'values',
      description: 'the row of a person whom an operator requested, and the account of a revert',
      removedWhen: `${values}; at most 200 of a connection`,
      columns: splitNames('run_id account'),
    },
  ],
  problems: [
    {
      holds: 'words',
      description: 'people whom the platform refuses; the message may quote values',
      removedWhen: 'the platform has acknowledged the person',
      columns: splitNames('connection identity_id run_id kind status message first_at last_at times'),
    },
  ],
  inbox: [
    {
      holds: 'values',
      description: 'events as HR sent them, and why one cannot be used',
      removedWhen:
        'their run is accepted; unusable ones `valuesDays` after they came, or after the time for which they wait',
      columns: splitNames('body reason'),
    },
    {
      holds: 'none',
      description: 'what identifies an event, and its outcome',
      removedWhen: 'seven days after it came; of a rejected one, when it is retried or dismissed',
      columns: splitNames(
        'id connection dedup_key event_id signed_at received_at state run_id joined retry_at mailed_at',
      ),
    },
  ],
  scim_resources: [
    {
      holds: 'values',
      description: 'users and groups that a sender pushed',
      removedWhen: pushed,
      columns: splitNames(
        'connection kind id ordinal name external_id identity_id is_active version created_at changed_at body',
      ),
    },
  ],
  scim_members: [
    {
      holds: 'values',
      description: 'who is in a group',
      removedWhen: pushed,
      columns: splitNames('connection group_id member display ordinal'),
    },
  ],
  scim_connections: [
    {
      holds: 'none',
      description: 'the newest change',
      removedWhen: forEver,
      columns: splitNames('connection changed_at'),
    },
  ],
  runs: [
    {
      holds: 'keys',
      description: 'runs: counts, verdicts with the first keys, digests, names of sources, reasons',
      removedWhen: history,
      columns: splitNames(
        'id connection feed trigger options state reason failure attempt lease source mode as_of rows records fields end_keys warnings verification blocked_people counts guards people_counts known_people digest outdated_reason held_part_run_id part_of_run_id created_at started_at finished_at decided_by decided_at configuration basis passed_part_run_id linked_run_id requested_by expires_at decided_reason values_removed_at',
      ),
    },
  ],
  deliveries: [
    {
      holds: 'words',
      description: 'batches: counts, times, the last failure',
      removedWhen: history,
      columns: splitNames(
        'run_id batch kind state due_at attempts lease uncertain session requests people confirmed refused answer sent_at answered_at failures failing_since last_code last_failure recent_attempts',
      ),
    },
  ],
  takeovers: [
    {
      holds: 'none',
      description: 'batches taken over from another process',
      removedWhen: 'that process has ended',
      columns: splitNames('run_id batch lease'),
    },
  ],
  connections: [
    {
      holds: 'keys',
      description: 'the newest accepted export, its last keys, and what blocks the connection',
      removedWhen: forEver,
      columns: splitNames(
        'name target_key target_id target_resource target_lease lacks_update accepted_source accepted_as_of accepted_fields accepted_rows accepted_end exports_accepted roster_version blocked_status blocked_code blocked_reason blocked_at probe_at configuration configured_by',
      ),
    },
  ],
  decided_sources: [
    {
      holds: 'none',
      description: 'decided exports, by version',
      removedWhen: '`historyDays` after the source last listed them',
      columns: splitNames('connection version source outcome decided_at archived_at listed_at'),
    },
  ],
  classified_values: [
    {
      holds: 'none',
      description: 'classified values of a status',
      removedWhen: forEver,
      columns: splitNames('connection field value meaning classified_by classified_at'),
    },
  ],
  unlisted_values: [
    {
      holds: 'none',
      description: 'unlisted values of a status',
      removedWhen: forEver,
      columns: splitNames('connection field value first_at'),
    },
  ],
  slots: [
    {
      holds: 'none',
      description: 'scheduled times that were run',
      removedWhen: '`historyDays`; the newest of each schedule stays',
      columns: splitNames('connection slot taken_at'),
    },
  ],
  alerts: [
    {
      holds: 'none',
      description: 'alerts, in counts',
      removedWhen: '90 days after the end',
      columns: splitNames(
        'id connection kind code reason since people leavers run_id raised_at absent_since cleared_at',
      ),
    },
  ],
  notifications: [
    {
      holds: 'none',
      description: 'the messages of an alert to each channel',
      removedWhen: '90 days after the end',
      columns: splitNames('alert_id channel next_at claimed_until sent attempts sent_code notified_at last_failure'),
    },
  ],
  alert_messages: [
    {
      holds: 'none',
      description: 'when a message was sent, for the limit of its channel',
      removedWhen: 'a day later',
      columns: splitNames('channel sent_at'),
    },
  ],
  leases: [
    {
      holds: 'none',
      description: 'running processes, with host and roles',
      removedWhen: 'a day after they ended',
      columns: splitNames('id seen_at process'),
    },
  ],
  request_budget: [
    {
      holds: 'none',
      description: 'requests of the current window, and since when they fail',
      removedWhen: 'the window ends, and the platform answers',
      columns: splitNames('key points expire failing_since failing_reason failing_is_away'),
    },
  ],
  audit_pending: [
    {
      holds: 'keys',
      description: 'unsigned audit entries',
      removedWhen: 'the next signature',
      columns: splitNames('id entry mac'),
    },
  ],
  audit_trail: [
    {
      holds: 'keys',
      description: 'audit entries: keys, counts, digests, typed reasons',
      removedWhen: forEver,
      columns: splitNames('ordinal entry hash'),
    },
  ],
  audit_checkpoints: [
    {
      holds: 'none',
      description: 'signatures of the audit trail',
      removedWhen: forEver,
      columns: splitNames('ordinal key previous hash at signature'),
    },
  ],
  access_tokens: [
    {
      holds: 'none',
      description: 'tokens of the control API and of SCIM: name, role, times, and a digest of the token',
      removedWhen: forEver,
      columns: splitNames(
        'id name role connection hash created_at created_by expires_at last_used_at revoked_at revoked_by',
      ),
    },
  ],
  access_sessions: [
    {
      holds: 'words',
      description: 'sign-ins to the console: name, role, method, and a digest of the cookie',
      removedWhen: 'the next sign-in after the end',
      columns: splitNames('hash name role principal token_id created_at seen_at expires_at'),
    },
  ],
  installation: [
    {
      holds: 'none',
      description: 'the id of the installation, and where it was moved to',
      removedWhen: forEver,
      columns: splitNames('one id made_at moved_to moved_at'),
    },
  ],
  restored_connections: [
    {
      holds: 'none',
      description: 'restored connections that have to read the platform before they plan',
      removedWhen: 'the platform is read',
      columns: splitNames('connection known_until restored_at'),
    },
  ],
  migrations: [
    {
      holds: 'none',
      description: 'the version of the tables',
      removedWhen: forEver,
      columns: splitNames('name applied_at sha256'),
    },
  ],
}
