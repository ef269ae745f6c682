import type { ColumnType, Generated } from 'kysely'
import type { UnapprovedKind } from '../../identity/decide/unapproved.ts'
import type { AcceptedList } from '../../identity/effective/accounts.ts'
import type { EffectiveCause, Evidence } from '../../identity/effective/cause.ts'
import type { FieldTimes, HeldDeparture, IdentityRecord, Observation } from '../../identity/record.ts'
import type { Json, NullableJson } from './columns.ts'

/** A leaving date that was stated before another one took its place. */
export type PreviousDate = { readonly on: string; readonly inferred: boolean; readonly until: string }

/** The people of each connection, with their desired records. */
export type RosterTable = {
  connection: string
  identity_id: string
  desired: NullableJson<IdentityRecord>
  inferred: boolean
  deferred_to: string | null
  cleared_date: string | null
  deferred_zone: string | null
  due_at: Date | null
  held_departure: NullableJson<HeldDeparture>
  is_by_operator: Generated<boolean>
  as_of: Date
  employment_as_of: Date | null
  export_is_silent: Generated<boolean>
  field_times: NullableJson<FieldTimes>
  absences: number
  group_value: string | null
  exports_before: Generated<number>
  retracted_reason: string | null
  retracted_at: Date | null
  forgotten_at: Date | null
  uncertain: Generated<boolean>
}

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
  stated_by: string | null
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

type EffectiveTables = {
  effective_comparisons: {
    compared: string
    next_at: Date
    claimed_until: Date | null
    compared_at: Date | null
    synced_at: Date | null
    number: Generated<number>
    requests: Generated<number>
    unreadable: Generated<number>
    list: NullableJson<AcceptedList>
    failure: string | null
    failed_at: Date | null
  }
  effective_coverage: { connection: string; people: number; effective: number; at: Date }
  effective_findings: {
    connection: string
    person_connection: string
    subject: string
    identity_id: string | null
    person_id: number | null
    cause: EffectiveCause
    evidence: Json<Evidence>
    can_reset: boolean
    first_seen_at: Date
    last_seen_at: Date
    seen_in: number
  }
}

/** People: what HR states, what the platform acknowledged, what operators decided, and their departures. */
export type RosterTables = EffectiveTables & {
  roster: RosterTable
  acknowledged: {
    connection: string
    identity_id: string
    confirmed: NullableJson<IdentityRecord>
    run_id: string | null
  }
  /** A view of `acknowledged` without the people who were confirmed since. */
  out_of_sync: { connection: string; identity_id: string; confirmed: NullableJson<IdentityRecord> }
  unapproved_people: {
    connection: string
    identity_id: string
    kind: UnapprovedKind
    is_of_missing: boolean
    deferred_to: string | null
    run_id: string
    as_of: Date
    held_by: string | null
    ended_by: string | null
    since: Date
  }
  hold_backs: {
    connection: string
    identity_id: string
    until: string
    reason: string
    held_by: string
    held_at: Date
  }
  stated_departures: {
    connection: string
    identity_id: string
    leaving_date: string
    due_at: Date
    reason: string
    stated_by: string
    principal: string
    stated_at: Date
    applies: boolean
    is_emergency: boolean
    approved_by: string | null
    proposed_date: string | null
    proposed_by: string | null
    proposed_principal: string | null
    proposed_reason: string | null
    proposed_until: Date | null
    proposed_at: Date | null
    is_learned: Generated<boolean>
    unconfirmed_until: Date | null
  }
  key_answers: {
    connection: string
    former: string
    identity_id: string
    same: boolean
    answered_by: string
    answered_at: Date
  }
  foreign_people: {
    connection: string
    identity_id: string
    is_separated: boolean
    first_at: Date
    last_at: Date
  }
  in_doubt: {
    connection: string
    identity_id: string
    run_id: string
    since: Date
    due_at: Date
    answers: Generated<number>
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
  leavers: LeaversTable
}
