import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import type { ListColumns, OptionalInstant, WritingTransaction } from './columns.ts'

/** Written by one statement and compared in SQL only. */
type Unread = ColumnType<never, never, never>

/** The tables of groups, scopes and the search. */
export type GroupSchema = {
  identity_providers: ListColumns & { id: Generated<number>; account_id: number; client_type: string; name: string }
  personnel_groups: ListColumns & {
    id: Generated<number>
    account_id: number
    provider_id: number
    external_id: string
    name: string
  }
  group_members: { group_id: number; person_id: number }
  workspace_groups: ListColumns & { id: Generated<number>; workspace_id: number; group_id: number }
  personnel_search: ListColumns & {
    id: number
    account_id: number
    user_id: number
    employment_status: EmploymentStatus
    started_at: OptionalInstant
    separated_at: OptionalInstant
    status_updated_at: OptionalInstant
    not_human_reason: string | null
    reason_provider_id: number | null
    email: string
    first_name: string | null
    last_name: string | null
    job_title: string | null
    name: GeneratedAlways<string>
    start_date: GeneratedAlways<Date>
    words: Unread
    checks: Unread
    group_ids: readonly number[]
    idp_connection_id: number | null
    hris_connection_id: number | null
    moved_in: WritingTransaction
  }
}
