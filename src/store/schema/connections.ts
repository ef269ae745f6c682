import type { Generated } from 'kysely'
import type { Json, NullableJson } from './columns.ts'
import type { RunSource } from './runs.ts'

/** Connections with what belongs to each of them, and the installation. */
export type ConnectionTables = {
  connections: {
    name: string
    target_key: string | null
    target_id: number | null
    target_resource: number | null
    lacks_update: Generated<boolean>
    accepted_as_of: Date | null
    accepted_fields: NullableJson<readonly string[]>
    accepted_source: NullableJson<RunSource>
    accepted_rows: number | null
    accepted_end: NullableJson<readonly string[]>
    exports_accepted: Generated<number>
    roster_version: Generated<number>
    configuration: string | null
    configured_by: string | null
    blocked_status: number | null
    blocked_code: string | null
    blocked_reason: string | null
    blocked_at: Date | null
    probe_at: Date | null
    target_lease: number | null
  }
  decided_sources: {
    connection: string
    version: string
    source: Json<RunSource>
    outcome: string
    decided_at: Date
    archived_at: Date | null
    /** When the source was last seen to list it still; null: never since. */
    listed_at: Date | null
  }
  classified_values: {
    connection: string
    field: string
    value: string
    meaning: string
    classified_by: string
    classified_at: Date
  }
  slots: { connection: string; slot: string; taken_at: Date }
  pauses: {
    connection: string
    since: Date
    until: Date | null
    reason: string
    paused_by: string
    ended_at: Date | null
  }
  installation: {
    one: Generated<boolean>
    id: string
    made_at: Date
    moved_to: string | null
    moved_at: Date | null
  }
  restored_connections: { connection: string; known_until: Date; restored_at: Date }
}
