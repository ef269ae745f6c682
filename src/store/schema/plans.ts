import type { Generated } from 'kysely'
import type { FieldChanges } from '../../identity/change.ts'
import type { IdentityRecord, Origin } from '../../identity/record.ts'
import type { NullableJson } from './columns.ts'
import type { RosterTable } from './roster.ts'

/** What the platform answered about a person or a batch. */
export type Answer = {
  readonly status: number | string
  /** The code in the table of delivery failures; left out if all is well. */
  readonly code?: string
  readonly message?: string
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
  group_value: string | null
}

/** Plans, their deliveries, and the indexes of exports. */
export type PlanTables = {
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
    | 'is_by_operator'
    | 'as_of'
    | 'employment_as_of'
    | 'export_is_silent'
    | 'field_times'
    | 'absences'
    | 'group_value'
  > & { run_id: string }
  changes: ChangesTable
  key_change_candidates: { run_id: string; former: string; identity_id: string; in_common: string; clear: boolean }
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
  takeovers: { run_id: string; batch: number; lease: number }
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
}
