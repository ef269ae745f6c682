import type { Generated, Selectable } from 'kysely'
import type {
  BlockedPeopleCounts,
  RevertAccount,
  Run as ShownRun,
  Verification,
} from '../../contract/control/shapes.ts'
import type { ChangeKind, PlanCounts, Verdict } from '../../identity/change.ts'
import type { PeopleCounts } from '../../identity/guards/facts.ts'
import type { RowAccount } from '../../identity/mapping/row-account.ts'
import type { Json, NullableJson } from './columns.ts'
import type { ProcessInfo } from './process-info.ts'

/** What a run read, as its connector names it. */
export type RunSource = {
  readonly name: string
  readonly bytes: number
  /** In UTF-8, decrypted and unpacked; absent if that is the same size. */
  readonly textBytes?: number
  /** The size of the cells; absent in records of older versions. */
  readonly cellBytes?: number
  readonly version: string
  /** The SHA-256 of the file as it was delivered; absent if the source is not one file. */
  readonly sha256?: string
  /** More exports wait to be read after this one. */
  readonly more?: boolean
  /** How many rows the source has, as its end states; absent if that is not known. */
  readonly records?: number
  /** How the end of a list was recognised; absent if the source is not a list. */
  readonly end?: string
}

/** A person who requested a run: the name, and the principal that the rule of two people compares. */
export type Requester = { readonly by: string; readonly principal: string }

/** A person who is requested by key, or by the digest of an e-mail address until the source was read and the key is known. */
export type RequestedPerson = { readonly digest: string; readonly identityId?: string }

/** The options of a run as in the control API, with everything that is stored of them. */
export type RunOptions = Readonly<Omit<ShownRun['options'], 'joined' | 'person'>> & {
  /** Requests that joined this run while it waited. They become a run of their own, because this one may be refused. */
  readonly joined?: RunOptions
  /** The one person that the run is about. */
  readonly person?: RequestedPerson
}

/** The people whom an operator separates, their last day (`YYYY-MM-DD`), the operator and the reason. */
export type SeparateOptions = NonNullable<RunOptions['separate']>

/** What a run of one person found: their rows, how each was read, and what was decided from them. */
export type PersonAccount = {
  readonly identityId: string
  readonly source: string
  readonly asOf: string
  readonly rows: readonly RowAccount[]
  readonly decision: ChangeKind | 'none'
  /** Why, in sentences. They hold days of employment and no other value. */
  readonly evidence: readonly string[]
}

/** What a run reports besides its plan. */
export type RunAccount = { readonly person?: PersonAccount; readonly revert?: RevertAccount }

/** How many people HR has stated, and how many of them have left. */
export type RosterCounts = { readonly people: number; readonly separated: number }

type RunsTable = {
  id: string
  connection: string
  trigger: string
  state: string
  options: Json<RunOptions>
  attempt: Generated<number>
  lease: number | null
  feed: Generated<string>
  mode: string | null
  source: NullableJson<RunSource>
  as_of: Date | null
  rows: number | null
  records: number | null
  /** How many changes of each kind the plan has. */
  counts: NullableJson<PlanCounts>
  guards: NullableJson<Verdict[]>
  /** How many people each limit counts. */
  people_counts: NullableJson<PeopleCounts>
  /** The size of the roster before the plan. */
  known_people: NullableJson<RosterCounts>
  /** Of the plan. */
  digest: string | null
  /** A digest of the connection's configuration. */
  configuration: string | null
  /** A digest of the configuration, the platform and the classified values (see `planBasis`). A held plan with another basis is made again. */
  basis: string | null
  requested_by: NullableJson<readonly Requester[]>
  expires_at: Date | null
  /** Why a held plan has to be made again. */
  outdated_reason: string | null
  /** The run with the part of the same plan that is held. */
  held_part_run_id: string | null
  /** The run with the part of this held plan that is delivered at once. */
  passed_part_run_id: string | null
  /** The held run from which an approver split this run off. */
  part_of_run_id: string | null
  /** The run of the owner that started this run of a linked connection. */
  linked_run_id: string | null
  fields: NullableJson<readonly string[]>
  warnings: NullableJson<string[]>
  /** The last keys of a snapshot: the next one should still have the employed people among them. */
  end_keys: NullableJson<readonly string[]>
  verification: NullableJson<Verification>
  blocked_people: NullableJson<BlockedPeopleCounts>
  reason: string | null
  failure: string | null
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
  decided_by: string | null
  decided_at: Date | null
  values_removed_at: Date | null
  decided_reason: string | null
}

/** Processes, runs, and what a run leaves besides its plan. */
export type RunTables = {
  leases: { id: number; seen_at: Date; process: NullableJson<ProcessInfo> }
  runs: RunsTable
  source_headers: {
    run_id: string
    headers: Json<readonly string[]>
    columns: Json<Readonly<Partial<Record<string, string>>>>
  }
  run_accounts: { run_id: string; account: Json<RunAccount> }
}

/** A run as it is read from its table. */
export type RunRow = Selectable<RunsTable>
