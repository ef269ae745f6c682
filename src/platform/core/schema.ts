import type { ColumnType, Generated, GeneratedAlways, JSONColumnType } from 'kysely'
import type { AssetClassType, AssetProvider, AssetType } from '../../contract/platform/assets.ts'
import type {
  BackgroundCheckType,
  HipaaTrainingType,
  Language,
  SecurityTrainingType,
} from '../../contract/platform/company-choices.ts'
import type { SessionStatus } from '../../contract/platform/custom-data-sessions.ts'
import type { CustomFieldEntity, CustomFieldType } from '../../contract/platform/custom-field-kinds.ts'
import type { DevicePlatform, Explanation, InstalledApp, WindowsService } from '../../contract/platform/devices.ts'
import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import type { RoleName } from '../../contract/platform/roles.ts'
import type { AuditSchema } from './audit-tables.ts'
import type { Instant, ListColumns, OptionalInstant, Timestamps, WritingTransaction } from './columns.ts'
import type { ControlSchema } from './control-tables.ts'
import type { GroupSchema } from './group-tables.ts'
import type { PeopleSchema, StoredChecks } from './people-tables.ts'

/** Used in SQL statements only, never read into the process. */
type Unread = ColumnType<never, never, never>

/** The types of custom connections. */
export type ProviderType = 'CUSTOM' | 'MDM' | 'HRIS'
/** What an API key may call: its own permissions, everything that reads, or everything. */
export type KeyAccess = 'custom' | 'all-read' | 'all'
/** Who started an identity sync. */
export type SyncTrigger = 'schedule' | 'operator'

/** The tables of the platform's database as Kysely sees them. */
export type PlatformSchema = CoreSchema & AuditSchema & ControlSchema & GroupSchema & PeopleSchema

type CoreSchema = {
  settings: { name: string; value: string }
  accounts: {
    id: Generated<number>
    name: string
    terms_accepted_at: OptionalInstant
    created_at: Instant
    uuid: Generated<string>
  }
  entitlements: { account_id: number; name: string }
  users: ListColumns & {
    id: Generated<number>
    account_id: number
    email: string
    first_name: string | null
    last_name: string | null
    origin: 'operator' | 'identity_sync' | 'api_key'
    job_title: Generated<string | null>
    roles: Generated<RoleName[]>
    /** The words that a search on the Personnel page compares. */
    words: Unread
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
    allowed_addresses: Generated<string[]>
    created_at: Instant
  }
  workspaces: ListColumns & {
    id: Generated<number>
    account_id: number
    is_primary: boolean
    name: string
    description: string | null
    how_it_works: string | null
    url: string | null
    logo: string | null
  }
  custom_connections: ListColumns & {
    id: Generated<number>
    account_id: number
    provider_type: ProviderType
    client_alias: string | null
    description: string | null
    created_by_id: number
  }
  custom_resources: Timestamps & {
    id: Generated<number>
    connection_id: number
    name: string
    description: string | null
    schema: JSONColumnType<Record<string, unknown>>
    display_name_key: string
  }
  custom_data_sessions: ListColumns & {
    id: Generated<number>
    resource_id: number
    session_id: string
    status: SessionStatus
    activated_at: OptionalInstant
    canceled_at: OptionalInstant
  }
  custom_data_records: Timestamps & {
    id: Generated<number>
    resource_id: number
    /** The session of the record; empty for a record without one. */
    session_id: string
    record_id: string
    attributes: JSONColumnType<Record<string, unknown>>
    created_in: WritingTransaction
    changed_in: WritingTransaction
  }
  connection_workspaces: { connection_id: number; workspace_id: number }
  hris_user_identities: Timestamps & {
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
    deleted_at: OptionalInstant
    /** Only `mergeIdentities` reads it. */
    written_fields: Unread
    changed_in: WritingTransaction
  }
  personnel: ListColumns & {
    id: Generated<number>
    account_id: number
    user_id: number
    employment_status: EmploymentStatus
    started_at: OptionalInstant
    separated_at: OptionalInstant
    status_updated_at: OptionalInstant
    not_human_reason: string | null
    reason_provider_id: number | null
    started_by_hand: Generated<boolean>
    separated_by_hand: Generated<boolean>
    set_by_hand: GeneratedAlways<boolean>
    background_checked: Generated<boolean>
    checks: JSONColumnType<StoredChecks, never, never>
    compliance_status: GeneratedAlways<'PASS' | 'FAIL' | 'EXCLUDED'>
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
  events: {
    id: Generated<number>
    uuid: Generated<string>
    account_id: number
    type: string
    category: string
    source: 'PUBLIC_API' | 'APP' | 'SCHEDULED'
    description: string
    request_description: string | null
    user_id: number | null
    connection_id: number | null
    workspace_id: number | null
    metadata: JSONColumnType<Record<string, unknown>>
    created_at: Instant
    changed_in: WritingTransaction
  }
  custom_field_definitions: ListColumns & {
    id: Generated<number>
    account_id: number
    name: string
    type: CustomFieldType
    entity_types: CustomFieldEntity[]
    is_required: boolean
    description: Generated<string | null>
    is_hidden: Generated<boolean>
    currency_code: Generated<string | null>
  }
  custom_field_options: { id: Generated<number>; definition_id: number; value: string }
  custom_field_values: { definition_id: number; entity_type: CustomFieldEntity; entity_id: number; value: string }
  companies: {
    account_id: number
    domain: string
    legal_name: string | null
    description: string | null
    logo_url: string | null
    security_training: SecurityTrainingType | null
    hipaa_training: HipaaTrainingType | null
    background_check: BackgroundCheckType | null
    agent_enabled: boolean
    manual_upload_enabled: boolean
    language: Language
    updated_at: Instant
  }
  background_checks: Timestamps & {
    id: Generated<number>
    user_id: number
    filed_on: string
    url: string
  }
  devices: ListColumns & {
    id: Generated<number>
    account_id: number
    connection_id: number
    personnel_id: number
    serial_number: string | null
    mac_address: string | null
    external_id: string | null
    alias: string | null
    model: string | null
    platform_name: DevicePlatform
    platform_version: string
    antivirus_enabled: boolean | null
    auto_update_enabled: boolean | null
    firewall_enabled: boolean | null
    password_manager_enabled: boolean | null
    encryption_enabled: boolean | null
    screen_lock_enabled: boolean | null
    screen_lock_time: number | null
    explanations: JSONColumnType<Readonly<Record<string, Explanation>>>
    apps_count: number | null
    browser_extensions: JSONColumnType<readonly InstalledApp[]> | null
    windows_services: JSONColumnType<readonly WindowsService[]> | null
    last_checked_at: Instant
  }
  device_apps: ListColumns & {
    id: Generated<number>
    device_id: number
    installed_app: string
  }
  assets: ListColumns & {
    id: Generated<number>
    account_id: number
    device_id: number | null
    owner_id: number
    unique_id: Generated<string>
    name: string
    description: string
    asset_type: AssetType
    provider: AssetProvider
    notes: string | null
    associated_id: string | null
    removed_at: OptionalInstant
    external_id: string | null
    external_owner_id: string | null
  }
  asset_class_types: Timestamps & {
    id: Generated<number>
    account_id: number
    asset_id: number
    class_type: AssetClassType
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
