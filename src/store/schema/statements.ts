import type { Generated } from 'kysely'
import type { Statement } from '../../contract/control/statements.ts'
import type { Json } from './columns.ts'

/** Counts of rows, by name. */
type Counts = Readonly<Record<string, number>>

/** What exports held, and where everybody was when a population statement was made. */
export type StatementTables = {
  intakes: {
    run_id: string
    counts: Json<{ readonly rows: number; readonly keyless: number; readonly keys: number; readonly treated: Counts }>
    digest: string
    keys: Buffer | null
  }
  stated_keys: { connection: string; identity_id: string; treatment: string | null }
  stated_exports: {
    connection: string
    run_id: string | null
    as_of: Date
    digest: string
    list_digest: string | null
  }
  statements: {
    id: Generated<string>
    connection: string
    run_id: string
    made_at: Date
    adds_up: boolean
    content: Json<Statement>
    people_digest: string
  }
  accounted_people: {
    connection: string
    identity_id: string
    stated: boolean
    exported: boolean
    part: string
    on_platform: string | null
    detail: string | null
    since: string
    until: string | null
  }
}
