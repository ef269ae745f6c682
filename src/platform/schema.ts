import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type { EmploymentStatus } from '../contract/personnel.ts'

type Instant = ColumnType<Date, Date | string, Date | string>
type OptionalInstant = ColumnType<Date | null, Date | string | null, Date | string | null>

/** Written by the database on insert and by every update as `pg_current_xact_id()`; never read into the process. */
type WritingTransaction = ColumnType<never, never, never>

/** Made by the database of other columns, for searches. */
type Searched = ColumnType<never, never, never>

export type ProviderType = 'CUSTOM' | 'MDM' | 'HRIS'
export type KeyAccess = 'custom' | 'all-read' | 'all'
export type SyncTrigger = 'schedule' | 'operator'

/** The tables of the platform's database as Kysely sees them. */
export type PlatformSchema = {
  settings: { name: string; value: string }
  accounts: { id: Generated<number>; name: string; terms_accepted_at: OptionalInstant; created_at: Instant }
  entitlements: { account_id: number; name: string }
  users: {
    id: Generated<number>
    account_id: number
    email: string
    first_name: string | null
    last_name: string | null
    origin: 'operator' | 'identity_sync' | 'api_key'
    created_at: Instant
    updated_at: Instant
    words: Searched
  }
  api_keys: {
    id: Generated<number>
    account_id: number
    user_id: number
    name: string
    hash: string
    access: KeyAccess
    permissions: string[]
    expires_at: OptionalInstant
    revoked_at: OptionalInstant
    created_at: Instant
  }
  workspaces: {
    id: Generated<number>
    account_id: number
    is_primary: boolean
    name: string
    description: string | null
    how_it_works: string | null
    url: string | null
    logo: string | null
    created_at: Instant
    updated_at: Instant
    changed_in: WritingTransaction
  }
  custom_connections: {
    id: Generated<number>
    account_id: number
    provider_type: ProviderType
    client_alias: string | null
    description: string | null
    created_by_id: number
    created_at: Instant
    updated_at: Instant
    changed_in: WritingTransaction
  }
  custom_resources: {
    id: Generated<number>
    connection_id: number
    name: string
    description: string | null
    schema: JSONColumnType<Record<string, unknown>>
    display_name_key: string
    created_at: Instant
    updated_at: Instant
  }
  connection_workspaces: { connection_id: number; workspace_id: number }
  hris_user_identities: {
    id: Generated<number>
    connection_id: number
    identity_id: string
    email: string | null
    secondary_email: string | null
    first_name: string | null
    last_name: string | null
    job_title: string | null
    manager_id: string | null
    manager_name: string | null
    started_at: OptionalInstant
    separated_at: OptionalInstant
    is_contractor: boolean | null
    created_at: Instant
    updated_at: Instant
    deleted_at: OptionalInstant
    changed_in: WritingTransaction
  }
  personnel: {
    id: Generated<number>
    account_id: number
    user_id: number
    employment_status: EmploymentStatus
    started_at: OptionalInstant
    separated_at: OptionalInstant
    status_updated_at: OptionalInstant
    not_human_reason: string | null
    reason_provider_id: number | null
    created_at: Instant
    updated_at: Instant
    changed_in: WritingTransaction
  }
  identity_matches: { identity_row_id: number; user_id: number }
  identity_syncs: {
    id: Generated<number>
    account_id: number
    trigger: SyncTrigger
    started_at: Instant
    duration_ms: number
    identities: number
    created: number
    changed: number
    counts: JSONColumnType<Record<EmploymentStatus, number>>
  }
  operators: {
    id: Generated<number>
    name: string
    /** The one account that this operator sees; null: all. */
    account_id: number | null
    password: string
    created_at: Instant
  }
  operator_sessions: { hash: string; operator_id: number; created_at: Instant; expires_at: Instant }
  identity_sync_attempts: {
    id: Generated<number>
    account_id: number
    trigger: SyncTrigger
    started_by: string | null
    started_at: Instant
    ended_at: OptionalInstant
    sync_id: number | null
  }
}
