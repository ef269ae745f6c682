import type { ColumnType, Generated } from 'kysely'
import type { AuditRequestStatus } from '../../contract/platform/audit-requests.ts'
import type { AuditFramework, AuditStatus, AuditType } from '../../contract/platform/audits.ts'
import type { ListColumns, OptionalInstant, Timestamps } from './columns.ts'

/** A day without a time, such as 2026-12-31. */
type Day = ColumnType<string>

/** Audits of workspaces with their auditors, controls and requests. */
export type AuditSchema = {
  auditors: { id: Generated<number>; uuid: Generated<string>; account_id: number; name: string; email: string }
  audits: ListColumns & {
    id: Generated<number>
    uuid: Generated<string>
    workspace_id: number
    framework_type: AuditFramework
    audit_type: AuditType
    is_internal: boolean
    status: AuditStatus
    start_date: Day
    end_date: Day
    completed_at: OptionalInstant
  }
  audit_auditors: { audit_id: number; auditor_id: number }
  audit_internal_auditors: { audit_id: number; user_id: number }
  audit_controls: { audit_id: number; control_id: number }
  audit_requests: ListColumns & {
    id: Generated<number>
    audit_id: number
    code: string
    title: string
    description: string | null
    status: AuditRequestStatus
  }
  audit_request_owners: { request_id: number; user_id: number }
  audit_request_controls: { request_id: number; control_id: number }
  audit_request_messages: Timestamps & {
    id: Generated<number>
    request_id: number
    message: string
    sent_by_email: string | null
  }
}
