import type { ColumnType, Generated } from 'kysely'
import type { AcknowledgementSource } from '../../contract/platform/assigned-policies.ts'
import type { ComplianceCheckType } from '../../contract/platform/personnel.ts'
import type { RoleName } from '../../contract/platform/roles.ts'
import type { UserDocumentType } from '../../contract/platform/users.ts'
import type { Instant, ListColumns, OptionalInstant } from './columns.ts'

/** The checks of a person that something demands, apart from the background check. Times are ISO 8601 in UTC. */
export type StoredChecks = {
  readonly [T in ComplianceCheckType]?: {
    readonly status: 'PASS' | 'FAIL'
    readonly completedAt: string | null
    readonly expiresAt: string | null
  }
}

/** Roles, documents, and the assignment of policies. */
export type PeopleSchema = {
  roles: ListColumns & { id: Generated<number>; role: RoleName }
  policy_versions: ListColumns & {
    id: Generated<number>
    policy_id: number
    version: number
    renewal_date: string
    requires_acknowledgment: boolean
  }
  assigned_policies: ListColumns & {
    id: Generated<number>
    user_id: number
    policy_id: number
    policy_version_id: number
    is_assigned: boolean
    accepted_at: OptionalInstant
    source_type: AcknowledgementSource
    details: string | null
  }
  documents: ListColumns & {
    id: Generated<number>
    user_id: number | null
    device_id: number | null
    type: UserDocumentType
    name: string
    media_type: string
    completed_at: Instant
    /** The last day on which it proves anything; null: no end. */
    renewal_date: string | null
  }
  document_files: { document_id: number; content: ColumnType<Buffer, Buffer, Buffer> }
}
