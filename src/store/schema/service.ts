import type { Generated } from 'kysely'
import type { Role, TokenRole } from '../../contract/control/access.ts'

/** Tokens of the control API. */
export type AccessTokensTable = {
  id: Generated<string>
  name: string
  role: TokenRole
  connection: string | null
  hash: string
  created_at: Date
  created_by: string
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  revoked_by: string | null
}

/** Alerts, the audit trail, and who may use the control API. */
export type ServiceTables = {
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
  audit_pending: { id: Generated<string>; entry: string; mac: string | null }
  audit_trail: { ordinal: string; entry: string; hash: string }
  audit_checkpoints: { ordinal: string; key: string; previous: string; hash: string; at: string; signature: string }
  settings_changes: {
    id: string
    connection: string
    file: string
    before: string
    after: string
    changed_by: string
    principal: string
    changed_at: Date
    expires_at: Date | null
    writing_since: Date | null
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
}
