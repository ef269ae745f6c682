import { type RawBuilder, sql } from 'kysely'
import type { Change, ChangeKind, FieldChanges } from '../../identity/change.ts'
import type { Origin, OwnField, Reject, RosterEntry } from '../../identity/record.ts'
import type { RejectedEvent } from '../inbox/inbox.ts'
import { type OvertakenOf, overtakenOf } from '../inbox/overtaken.ts'
import { laterKeys } from '../key-answers.ts'
import { isInPart, type PartSelection } from '../plans/approved-part.ts'
import { toChange } from '../plans/plans.ts'
import { rosterEntry } from '../roster/roster.ts'
import { type WaitingRow, waitingOf } from '../roster/waiting.ts'
import type { Answer, Db } from '../schema.ts'
import { hasPrefix, type Match, matchesAmong, portionSize, type SearchCursor, searchInSteps } from '../search.ts'

/** A change with its row, its run, its times and the answer of the platform. */
export type AccountedChange = {
  readonly runId: string
  readonly connection: string
  readonly change: Change
  readonly origin: Origin | null
  readonly state: 'planned' | 'due' | 'confirmed' | 'problem' | 'dropped'
  /** When its run was requested. */
  readonly plannedAt: string
  readonly requests: number
  readonly sentAt: string | null
  readonly answeredAt: string | null
  readonly answer: Answer | null
}

/** Which changes of a plan are listed; undefined: all of them. */
export type ChangeFilter = {
  readonly kind?: ChangeKind | undefined
  /** Null: people without a group. */
  readonly group?: string | null | undefined
}

/** In SQL, whether a change fits a filter. `table` has the columns `kind` and `group_value`. */
export function fitsFilter({ kind, group }: ChangeFilter, table: string): RawBuilder<boolean> {
  const conditions = [
    ...(kind === undefined ? [] : [sql`${sql.ref(`${table}.kind`)} = ${kind}`]),
    ...(group === null ? [sql`${sql.ref(`${table}.group_value`)} is null`] : []),
    ...(typeof group === 'string' ? [sql`${sql.ref(`${table}.group_value`)} = ${group}`] : []),
  ]
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** Lists the changes of a run in key order after `after`. */
export async function changesOf(
  db: Db,
  runId: string,
  { after = '', limit = 500 }: { readonly after?: string; readonly limit?: number } = {},
): Promise<AccountedChange[]> {
  const rows = await accountedRuns(db)
    .where('changes.run_id', '=', runId)
    .where('changes.identity_id', '>', after)
    .orderBy('changes.identity_id')
    .limit(limit)
    .execute()
  return rows.map(toAccounted)
}

/** The kinds of change, most harmful first if they are wrong. */
export const kindsByHarm: readonly ChangeKind[] = ['leave', 'return', 'retract', 'correct', 'join', 'update']

type PartQuery = {
  readonly runId: string
  readonly selection: PartSelection
  readonly limit: number
}

/** Lists the first changes of a part of a plan: what harms most if it is wrong comes first, then by key. */
export async function changesOfPart(db: Db, { runId, selection, limit }: PartQuery): Promise<AccountedChange[]> {
  const rows = await accountedRuns(db)
    .where('changes.run_id', '=', runId)
    .where(isInPart(selection))
    .orderBy(sql`array_position(${kindsByHarm}::text[], changes.kind)`)
    .orderBy('changes.identity_id')
    .limit(limit)
    .execute()
  return rows.map(toAccounted)
}

type ChangeSearch = {
  readonly filter: ChangeFilter
  readonly search: string
  readonly values: boolean
  /** The own field with the name of the connection's records; null for people. */
  readonly label: OwnField | null
  readonly cursor?: SearchCursor
  readonly limit: number
  readonly withinMs: number
}

/** Searches the changes of a run by key, and with `values` also by e-mail and name. Where values were removed, only the key is searched. */
export async function searchChanges(
  db: Db,
  runId: string,
  { filter, search, values, label, cursor = { step: 0, after: '' }, limit, withinMs }: ChangeSearch,
): Promise<{ readonly matches: AccountedChange[]; readonly next: SearchCursor | null }> {
  const end = performance.now() + withinMs
  const key = sql.ref('identity_id')
  const isMeant = sql`run_id = ${runId} and ${fitsFilter(filter, 'changes')}`
  const { matches, next } = await searchInSteps<Match>(
    { search, cursor, limit, isOver: () => performance.now() > end },
    {
      async withPrefix(prefix, after, most) {
        const { rows } = await sql<Match>`
          select identity_id as "identityId", 'key' as by from changes
          where ${isMeant} and identity_id > ${after} and ${hasPrefix(key, prefix)} order by identity_id limit ${most}`.execute(
          db,
        )
        return rows
      },
      async amongNext(after, most) {
        const people = sql`
          select identity_id, kind, group_value, ${values ? sql.ref('record') : sql`null::jsonb`} as record from changes
          where run_id = ${runId} and identity_id > ${after} order by identity_id limit ${portionSize}`
        return await matchesAmong(db, { search, people, label, isMeant: fitsFilter(filter, 'portion'), limit: most })
      },
    },
  )
  const rows = await accountedRuns(db)
    .where('changes.run_id', '=', runId)
    .where(sql<boolean>`changes.identity_id = any(${matches.map(({ identityId }) => identityId)})`)
    .execute()
  const changes = new Map(rows.map((row) => [row.identity_id, toAccounted(row)]))
  return { matches: matches.flatMap(({ identityId }) => changes.get(identityId) ?? []), next }
}

/** A reject of a run, without what only the hand-over to HR needs. */
export type StoredReject = Omit<Reject, 'cause' | 'expected' | 'cell'>

/** Lists the rejects of a run in the order of their lines or events, after the cursor `after`. */
export async function rejectsOf(
  db: Db,
  runId: string,
  { after = 0, limit = 500 }: { after?: number; limit?: number } = {},
): Promise<{ readonly cursor: number; readonly reject: StoredReject }[]> {
  const rows = await db
    .selectFrom('rejects')
    .selectAll()
    .where('run_id', '=', runId)
    .where('seq', '>', String(after))
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    cursor: Number(row.seq),
    reject: {
      line: row.line,
      column: row.column_name,
      reason: row.reason,
      identityId: row.identity_id,
      ...(row.event !== null && { event: row.event }),
      cellOnly: row.cell_only,
      mayLeave: row.may_leave,
      fingerprint: row.fingerprint,
      ...(row.unlisted !== null && { unlisted: row.unlisted }),
    },
  }))
}

/** Maximum number of reasons that are listed of one event. */
const reasonsListed = 20

/** The events of a run with a rejected item, with the reasons, and the time at which the first item takes effect. */
export async function rejectedEvents(db: Db, runId: string): Promise<RejectedEvent[]> {
  const { rows } = await sql<RejectedEvent>`
    with numbered as (
      select event, seq, retry_at, concat_ws(': ', 'item ' || line, column_name, reason) as reason,
        row_number() over (partition by event order by seq) as position
      from rejects where run_id = ${runId} and event is not null
    )
    select event as id, string_agg(reason, '; ' order by seq) filter (where position <= ${reasonsListed})
        || case when count(*) > ${reasonsListed} then '; and ' || (count(*) - ${reasonsListed}) || ' more' else '' end as reason,
      min(retry_at) as "retryAt"
    from numbered group by event order by event`.execute(db)
  return rows
}

/** A person with all changes, the newest first; null if the key is unknown. */
export async function personOf(
  db: Db,
  person: { connection: string; identityId: string },
): Promise<{
  entry: RosterEntry | null
  keys: string[]
  changes: AccountedChange[]
  waiting: readonly WaitingRow[]
  overtaken: OvertakenOf[]
} | null> {
  const entry = await rosterEntry(db, person)
  const rows = await accountedRuns(db)
    .where('changes.identity_id', '=', person.identityId)
    .where('runs.connection', '=', person.connection)
    .orderBy('runs.created_at', 'desc')
    .limit(200)
    .execute()
  const waiting = await waitingOf(db, person)
  if (!entry && rows.length === 0 && waiting.length === 0) return null
  const overtaken = await overtakenOf(db, person)
  return { entry, keys: await laterKeys(db, person), changes: rows.map(toAccounted), waiting, overtaken }
}

/** Removes problems of people whose desired state the platform has acknowledged, also their deletion. */
export async function dropSolvedProblems(db: Db, connection: string): Promise<void> {
  await sql`
    delete from problems using roster
    where problems.connection = ${connection} and roster.connection = problems.connection
      and roster.identity_id = problems.identity_id
      and (case when roster.retracted_at is null
        then not exists (
          select 1 from out_of_sync where out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id)
        else exists (
          select 1 from out_of_sync where out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id
            and out_of_sync.confirmed is null) end)`.execute(db)
}

const isAnsweredWithBatch = sql`changes.state = 'due' and deliveries.answer is not null`

/** The changes with the outcome of each, to be narrowed and read by `toAccounted`. */
export function accountedRuns(db: Db) {
  return db
    .selectFrom('changes')
    .innerJoin('runs', 'runs.id', 'changes.run_id')
    .leftJoin('deliveries', (join) =>
      join.onRef('deliveries.run_id', '=', 'changes.run_id').onRef('deliveries.batch', '=', 'changes.batch'),
    )
    .select([
      'changes.run_id',
      'changes.identity_id',
      'changes.kind',
      'changes.record',
      'changes.fields',
      'changes.inferred',
      'changes.carried',
      'changes.reason',
      'changes.origin',
      'runs.connection',
      'runs.created_at',
      // The answer for a whole batch applies to each person who is still due.
      sql<string>`case when ${isAnsweredWithBatch} then 'confirmed'
        when changes.state = 'due' and deliveries.batch is null then 'planned' else changes.state end`.as('state'),
      sql<number>`changes.requests + case when ${isAnsweredWithBatch} then 1 else 0 end`.as('requests'),
      sql<Date | null>`case when ${isAnsweredWithBatch} then deliveries.sent_at else changes.sent_at end`.as('sent_at'),
      sql<Date | null>`case when ${isAnsweredWithBatch} then deliveries.answered_at else changes.answered_at end`.as(
        'answered_at',
      ),
      sql<Answer | null>`case when ${isAnsweredWithBatch} then deliveries.answer else changes.answer end`.as('answer'),
    ])
}

/** A row of `accounted` as a change. */
export function toAccounted(row: {
  run_id: string
  connection: string
  identity_id: string
  kind: string
  record: unknown
  fields: FieldChanges | null
  inferred: boolean
  carried: boolean
  reason: string | null
  origin: Origin | null
  state: string
  requests: number
  sent_at: Date | null
  answered_at: Date | null
  answer: Answer | null
  created_at: Date
}): AccountedChange {
  return {
    runId: row.run_id,
    connection: row.connection,
    change: toChange(row as Parameters<typeof toChange>[0]),
    origin: row.origin,
    state: row.state as AccountedChange['state'],
    plannedAt: row.created_at.toISOString(),
    requests: row.requests,
    sentAt: row.sent_at?.toISOString() ?? null,
    answeredAt: row.answered_at?.toISOString() ?? null,
    answer: row.answer,
  }
}
