import type { Kysely } from 'kysely'
import type { Verification } from '../contract/control/shapes.ts'
import type { ConnectionTables } from './schema/connections.ts'
import type { InboxTables } from './schema/inbox.ts'
import type { PlanTables } from './schema/plans.ts'
import type { RosterTables } from './schema/roster.ts'
import type { RunTables } from './schema/runs.ts'
import type { ScimTables } from './schema/scim.ts'
import type { ServiceTables } from './schema/service.ts'
import type { StatementTables } from './schema/statements.ts'

export type {
  BlockedPeopleCounts,
  ForeignTally as ForeignCounts,
  KeptPlan,
  RevertAccount,
  Verification,
} from '../contract/control/shapes.ts'
export type { Answer } from './schema/plans.ts'
export type { PreviousDate } from './schema/roster.ts'
export type {
  PersonAccount,
  RequestedPerson,
  Requester,
  RosterCounts,
  RunAccount,
  RunOptions,
  RunRow,
  RunSource,
  SeparateOptions,
} from './schema/runs.ts'
export type { AccessTokensTable } from './schema/service.ts'

/** How many people differ in the platform's list, by kind. */
export type Differences = Readonly<Pick<Verification, 'lost' | 'changed' | 'foreign'>>

/** The daemon's store, as Kysely sees it. `migrations/` creates it. */
export type StoreSchema = ConnectionTables &
  RunTables &
  RosterTables &
  PlanTables &
  InboxTables &
  ScimTables &
  ServiceTables &
  StatementTables

/** The database of the store, or a transaction of it. */
export type Db = Kysely<StoreSchema>
