import type { Generated } from 'kysely'

/** What identity systems pushed over SCIM. */
export type ScimTables = {
  scim_connections: { connection: string; changed_at: Date }
  scim_resources: {
    connection: string
    kind: 'User' | 'Group'
    id: string
    ordinal: Generated<string>
    name: string
    external_id: string | null
    identity_id: string | null
    is_active: boolean
    version: number
    created_at: Date
    changed_at: Date
    body: unknown
  }
  scim_members: {
    connection: string
    group_id: string
    member: string
    display: string | null
    ordinal: Generated<string>
  }
}
