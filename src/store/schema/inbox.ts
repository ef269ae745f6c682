import type { Generated } from 'kysely'
import type { UnlistedValue } from '../../identity/record.ts'
import type { NullableJson } from './columns.ts'

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
  mailed_at: Generated<Date | null>
}

/** Events of webhooks, and rows and values that cannot be used. */
export type InboxTables = {
  inbox: InboxTable
  overtaken_events: { event: number; identity_id: string; reason: string }
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
    cause: Generated<string | null>
    expected: Generated<string | null>
    seq: Generated<string>
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
    cause: Generated<string | null>
    expected: Generated<string | null>
    cell: Generated<string | null>
    mailed_at: Generated<Date | null>
    times: number
    accepted_times: Generated<number>
    is_blocking: boolean
    run_id: string
    first_at: Date
    last_at: Date
  }
  hand_over_mails: {
    one: Generated<boolean>
    slot: string
    claimed_until: Date | null
    attempts: Generated<number>
    retry_at: Date | null
    sent_at: Date | null
    failing_since: Date | null
    last_failure: string | null
  }
  /** The weekly summaries; at most one row. */
  weekly_mails: {
    one: Generated<boolean>
    slot: string
    claimed_until: Date | null
    attempts: Generated<number>
    retry_at: Date | null
    sent_at: Date | null
    failing_since: Date | null
    last_failure: string | null
  }
  unlisted_values: { connection: string; field: string; value: string; first_at: Date }
}
