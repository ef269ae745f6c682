import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { type InDoubtCounts, type RunState, Run as ShownRun } from '../../contract/control/shapes.ts'
import type { Verdict } from '../../identity/change.ts'
import { inDoubtCountsOfRun } from '../in-doubt.ts'
import type { PeopleKeys } from '../keys.ts'
import type { Db, Requester, RunOptions, RunRow, RunSource } from '../schema.ts'

/** All triggers, for queries. */
export const triggers = ShownRun.shape.trigger.options
/** What starts a run. */
export type Trigger = ShownRun['trigger']

/**
 * What a run reads: the source, pending events, only the roster, the rows of one person in the source, the changes of an earlier run to
 * revert them, or the people that only the platform knows to separate them.
 */
export type FeedName = ShownRun['feed']

/** The feeds of runs about named people: no other request joins such a waiting run. */
export const feedsOfNamedPeople: ReadonlySet<FeedName> = new Set(['person', 'revert', 'separation'])

/** The states of a run and where each may go. */
export const moves = {
  waiting: ['reading', 'cancelled', 'failed'],
  reading: ['planned', 'failed'],
  planned: ['delivering', 'held', 'unchanged', 'failed'],
  held: ['delivering', 'rejected', 'superseded', 'cancelled'],
  delivering: ['finished', 'finished_with_problems', 'cancelled', 'failed'],
  unchanged: [],
  finished: [],
  finished_with_problems: [],
  rejected: [],
  superseded: [],
  cancelled: [],
  failed: [],
} as const satisfies Record<RunState, readonly RunState[]>

export type { RunState } from '../../contract/control/shapes.ts'

/** The final states of a run. */
export const endStates = (Object.keys(moves) as RunState[]).filter((state) => moves[state].length === 0)

/** The other states, by priority for the state of a connection: active before waiting. */
const workingStates: readonly RunState[] = ['reading', 'planned', 'delivering']
const activeStates: readonly RunState[] = [...workingStates, 'held', 'waiting']

/** The states that may move to `to`. */
function statesBefore(to: RunState): RunState[] {
  return (Object.keys(moves) as RunState[]).filter((from) => (moves[from] as readonly string[]).includes(to))
}

/** A run as in the control API, with the full source and without the delay and related runs. */
export type Run = Omit<
  ShownRun,
  'options' | 'guards' | 'source' | 'delay' | 'heldPartRun' | 'heldPartOf' | 'instead'
> & {
  readonly options: RunOptions
  readonly guards: Verdict[] | null
  readonly source: RunSource | null
}

/** Creates the row of a connection if it is missing. */
export async function ensureConnection(db: Db, name: string): Promise<void> {
  await db
    .insertInto('connections')
    .values({ name })
    .onConflict((c) => c.doNothing())
    .execute()
}

/** Adds a waiting run of one feed, or joins the one that is already waiting by adding the new options. */
export async function addWaitingRun(
  db: Db,
  run: {
    connection: string
    feed: FeedName
    trigger: Trigger
    options: RunOptions
    requestedBy?: readonly Requester[]
    /** The run of another connection that starts it, to read the same export. */
    linkedRunId?: string
    now: Date
  },
): Promise<string> {
  const row = await db
    .insertInto('runs')
    .values({
      id: randomUUID(),
      linked_run_id: run.linkedRunId ?? null,
      connection: run.connection,
      feed: run.feed,
      trigger: run.trigger,
      state: 'waiting',
      options: JSON.stringify(run.options),
      requested_by: JSON.stringify(run.requestedBy ?? []),
      created_at: run.now,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['connection', 'feed'])
        .where('state', '=', 'waiting')
        .doUpdateSet({
          // A run that must come to a stored plan (option `plan`) keeps its options; what joins it becomes a run of its own. A request for a
          // stored plan does not bind a run that already waits: the caller refuses such a request.
          options: sql`case when runs.options ? 'plan'
            then runs.options || jsonb_build_object('joined', coalesce(runs.options -> 'joined', '{}') || excluded.options - 'plan')
            else runs.options || excluded.options - 'plan' end`,
          requested_by: sql`(runs.requested_by::jsonb || excluded.requested_by::jsonb)::json`,
          linked_run_id: sql`coalesce(excluded.linked_run_id, runs.linked_run_id)`,
        }),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Adds a waiting run about named people, which no other request joins. Returns null if a run of this feed is already waiting. */
export async function addRunOfNamedPeople(
  db: Db,
  run: {
    connection: string
    feed: FeedName
    trigger: Trigger
    options: RunOptions
    requestedBy: readonly Requester[]
    now: Date
  },
): Promise<string | null> {
  const row = await db
    .insertInto('runs')
    .values({
      id: randomUUID(),
      connection: run.connection,
      feed: run.feed,
      trigger: run.trigger,
      state: 'waiting',
      options: JSON.stringify(run.options),
      requested_by: JSON.stringify(run.requestedBy),
      created_at: run.now,
    })
    .onConflict((conflict) => conflict.columns(['connection', 'feed']).where('state', '=', 'waiting').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id ?? null
}

/** Adds people to those who requested a run. */
export async function addRequesters(
  db: Db,
  { runId, requestedBy }: { runId: string; requestedBy: readonly Requester[] },
): Promise<void> {
  await sql`
    update runs set requested_by = (coalesce(requested_by::jsonb, '[]') || ${JSON.stringify(requestedBy)}::jsonb)::json
    where id = ${runId}`.execute(db)
}

/** The people who requested a run. */
export async function requestersOfRun(db: Db, runId: string): Promise<readonly Requester[]> {
  const row = await db.selectFrom('runs').select('requested_by').where('id', '=', runId).executeTakeFirst()
  return row?.requested_by ?? []
}

/** The waiting run of a feed with its options; null if there is none. */
export async function waitingRun(
  db: Db,
  { connection, feed }: { connection: string; feed: FeedName },
): Promise<{ readonly id: string; readonly options: RunOptions } | null> {
  const row = await db
    .selectFrom('runs')
    .select(['id', 'options'])
    .where('connection', '=', connection)
    .where('feed', '=', feed)
    .where('state', '=', 'waiting')
    .executeTakeFirst()
  return row ?? null
}

/** Moves a run to another state; false if the table of moves does not allow it. */
export async function setRunState(
  db: Db,
  run: {
    id: string
    to: RunState
    now: Date
    reason?: string
    failure?: string
    by?: string
    /** The reason of the decision. */
    because?: string | null
    /** Until when a held plan can be approved. */
    expiresAt?: Date
    digest?: string
    attempt?: number
  },
): Promise<boolean> {
  const isFinal = endStates.includes(run.to)
  let update = db
    .updateTable('runs')
    .set({
      state: run.to,
      ...(isFinal && { finished_at: run.now, lease: null }),
      ...(run.to === 'held' && { lease: null }),
      ...(run.reason !== undefined && { reason: run.reason }),
      ...(run.failure !== undefined && { failure: run.failure }),
      ...(run.by !== undefined && { decided_by: run.by, decided_at: run.now }),
      ...(run.because !== undefined && { decided_reason: run.because }),
      ...(run.expiresAt !== undefined && { expires_at: run.expiresAt }),
    })
    .where('id', '=', run.id)
    .where('state', 'in', statesBefore(run.to))
  if (run.digest !== undefined) update = update.where('digest', '=', run.digest)
  if (run.attempt !== undefined) update = update.where('attempt', '=', run.attempt)
  const result = await update.executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** In SQL, whether a held run can no longer be approved. */
export function hasExpired(now: Date, table = 'runs') {
  return sql<boolean>`coalesce(${sql.ref(`${table}.expires_at`)} <= ${now}, false)`
}

type RosterRunQuery = {
  readonly connection: string
  readonly since: Date
  readonly failedBefore: Date
  readonly now: Date
}

/**
 * Whether a roster run has handled what was due at that time, or will. A failed run counts only until `failedBefore`, so that it is not
 * repeated at once. None counts once a held plan has expired, which the next run supersedes. A part of a plan handles its own people only, and
 * a superseded run nobody.
 */
export async function hasRosterRunSince(
  db: Db,
  { connection, since, failedBefore, now }: RosterRunQuery,
): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('connection', '=', connection)
    .where('feed', '=', 'roster')
    .where('part_of_run_id', 'is', null)
    .where('state', '<>', 'superseded')
    .where(
      sql<boolean>`case when state in ('waiting', 'reading') then true
        when state = 'failed' then finished_at > ${failedBefore}
        else as_of >= ${since} and not exists (
          select from runs expired
          where expired.connection = runs.connection and expired.feed = 'roster' and expired.state = 'held'
            and ${hasExpired(now, 'expired')}) end`,
    )
    .limit(1)
    .executeTakeFirst()
  return run !== undefined
}

/** The newest run that reverts this one, or will; null if there is none. */
export async function revertOf(
  db: Db,
  runId: string,
): Promise<{ readonly id: string; readonly state: RunState } | null> {
  const row = await db
    .selectFrom('runs')
    .select(['id', 'state'])
    .where('feed', '=', 'revert')
    // A part reverts some people only. Its plan decides, so that what was not approved of it can be reverted later.
    .where('part_of_run_id', 'is', null)
    .where(sql<boolean>`options -> 'revert' ->> 'runId' = ${runId}`)
    .where('state', 'not in', ['rejected', 'cancelled', 'superseded', 'failed'])
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ? { id: row.id, state: row.state as RunState } : null
}

/** The run that separates one of these people, or will; null if there is none. */
export async function separationOf(
  db: Db,
  { connection, identityIds }: PeopleKeys,
): Promise<{ readonly id: string; readonly state: RunState } | null> {
  const row = await db
    .selectFrom('runs')
    .select(['id', 'state'])
    .where('connection', '=', connection)
    .where('feed', '=', 'separation')
    .where('state', 'in', activeStates)
    .where(sql<boolean>`options -> 'separate' -> 'identityIds' ?| ${identityIds}`)
    .limit(1)
    .executeTakeFirst()
  return row ? { id: row.id, state: row.state as RunState } : null
}

/** In SQL, sorts runs of the same time: those that read the source first. */
export const sourceRunsFirst = sql`feed <> 'source'`

/** The waiting runs of a connection, the oldest first. */
export async function waitingRunsOf(db: Db, connection: string): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('connection', '=', connection)
    .where('state', '=', 'waiting')
    .orderBy('created_at')
    .orderBy(sourceRunsFirst)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** A run; null if the id is unknown. */
export async function getRun(db: Db, id: string): Promise<Run | null> {
  const row = await runs(db).where('runs.id', '=', id).executeTakeFirst()
  return row ? toRun(row) : null
}

/** Where a list of runs continues. */
export type RunCursor = { readonly createdAt: string; readonly id: string }

/** Which runs are listed. */
export type RunFilter = {
  readonly connection?: string
  readonly states?: readonly RunState[]
  readonly triggers?: readonly Trigger[]
  readonly after?: RunCursor
  readonly limit: number
}

/** Lists runs, the newest first, after the cursor. A page costs the same however many runs there are. */
export async function listRuns(db: Db, filter: RunFilter): Promise<Run[]> {
  const { connection, after, limit } = filter
  let query = runs(db).orderBy('runs.created_at', 'desc').orderBy('runs.id', 'desc').limit(limit)
  if (filter.states ?? filter.triggers) query = query.where('runs.id', 'in', newestOfEach(filter))
  else {
    if (connection !== undefined) query = query.where('runs.connection', '=', connection)
    if (after !== undefined) query = query.where(isOlder(after))
  }
  return (await query.execute()).map(toRun)
}

/** The current and the last run of a connection. */
export type CurrentRuns = {
  /** The active run, otherwise the held or waiting one. */
  readonly active: Run | null
  /** The newest finished run. */
  readonly last: Run | null
}

/** The state of a connection's current and last run. */
export type CurrentRunStates = {
  readonly [run in keyof CurrentRuns]: Pick<Run, 'id' | 'connection' | 'state'> | null
}

/** The state of the current and of the last run of each connection. One or two index entries are read for each, however many runs there are. */
export async function currentRunStates(
  db: Db,
  connections: readonly string[],
): Promise<ReadonlyMap<string, CurrentRunStates>> {
  const { rows } = await sql<{ id: string; connection: string; state: RunState }>`
    select id, connection, state from (
      select distinct on (connection) id, connection, state from (
        select * from runs where state in (${sql.join(workingStates.map((state) => sql.lit(state)))})
        union all select * from runs where state = 'held'
        union all select * from runs where state = 'waiting') as begun
      where connection = any(${connections}::text[])
      order by connection, array_position(${activeStates}::text[], state), created_at desc, id desc) as current
    union all
    select ended.* from unnest(${connections}::text[]) as of_connection(name), lateral (
      select id, connection, state from runs
      where connection = of_connection.name and state <> all(${activeStates}::text[])
      order by created_at desc, id desc limit 1) as ended`.execute(db)
  const [ended, active] = parted(rows, ({ state }) => endStates.includes(state))
  return new Map(connections.map((name) => [name, { active: active.get(name) ?? null, last: ended.get(name) ?? null }]))
}

function parted<T extends { readonly connection: string }>(
  rows: readonly T[],
  isFirst: (row: T) => boolean,
): [ReadonlyMap<string, T>, ReadonlyMap<string, T>] {
  const of = (isWanted: boolean) =>
    new Map(rows.filter((row) => isFirst(row) === isWanted).map((row) => [row.connection, row]))
  return [of(true), of(false)]
}

/** The current and last run of each connection, from their states. */
export async function currentRuns(
  db: Db,
  states: ReadonlyMap<string, CurrentRunStates>,
): Promise<ReadonlyMap<string, CurrentRuns>> {
  const ids = [...states.values()].flatMap(({ active, last }) => [active, last].flatMap((run) => run?.id ?? []))
  const selected = ids.length === 0 ? [] : await runs(db).where('runs.id', 'in', ids).execute()
  const byId = new Map(selected.map((row) => [row.id, toRun(row)]))
  const runOf = (run: { readonly id: string } | null) => (run === null ? null : (byId.get(run.id) ?? null))
  return new Map([...states].map(([name, { active, last }]) => [name, { active: runOf(active), last: runOf(last) }]))
}

/** Lists the runs of the feed `source`, the newest first. */
export async function listSourceRuns(
  db: Db,
  { connection, after, limit }: Pick<RunFilter, 'connection' | 'after' | 'limit'>,
): Promise<Run[]> {
  const newest = sql<string>`(
    select newest.id from (${selectedConnections(connection)}) as of_connection(name), lateral (
      select runs.id, runs.created_at from runs
      where runs.connection = of_connection.name and runs.feed = 'source' and ${after === undefined ? sql`true` : isOlder(after)}
      order by runs.created_at desc, runs.id desc limit ${limit}) as newest
    order by newest.created_at desc, newest.id desc limit ${limit})`
  const rows = await runs(db)
    .where('runs.id', 'in', newest)
    .orderBy('runs.created_at', 'desc')
    .orderBy('runs.id', 'desc')
    .execute()
  return rows.map(toRun)
}

function selectedConnections(connection: string | undefined) {
  return connection === undefined ? sql`select name from connections` : sql`select ${connection}::text`
}

/**
 * The newest runs of each connection, state and trigger: one index lookup for each combination, because a filter would scan all runs for
 * rare ones.
 */
function newestOfEach({ connection, states, triggers: requestedTriggers, after, limit }: RunFilter) {
  return sql<string>`(
    select newest.id from (${selectedConnections(connection)}) as of_connection(name),
      unnest(${states ?? Object.keys(moves)}::text[]) as of_state(name), unnest(${requestedTriggers ?? triggers}::text[]) as of_trigger(name),
      lateral (
        select runs.id, runs.created_at from runs
        where runs.connection = of_connection.name and runs.state = of_state.name and runs.trigger = of_trigger.name
          and ${after === undefined ? sql`true` : isOlder(after)}
        order by runs.created_at desc, runs.id desc limit ${limit}) as newest
    order by newest.created_at desc, newest.id desc limit ${limit})`
}

function isOlder({ createdAt, id }: RunCursor) {
  return sql<boolean>`(runs.created_at, runs.id) < (${new Date(createdAt)}, ${id}::uuid)`
}

function runs(db: Db) {
  return db
    .selectFrom('runs')
    .selectAll('runs')
    .select(inDoubtCountsOfRun.as('in_doubt'))
    .select(
      sql<Run['also']>`(
        select coalesce(json_agg(json_build_object('id', id, 'connection', connection) order by connection), '[]')
        from runs linked where linked.linked_run_id = runs.id)`.as('also'),
    )
    .select(
      sql<Run['parts']>`(
        select coalesce(json_agg(id order by created_at, id), '[]') from runs part where part.part_of_run_id = runs.id)`.as(
        'parts',
      ),
    )
    .select((eb) =>
      eb
        .selectFrom('deliveries')
        .select(
          sql<Tally>`json_build_object(
          'confirmed', coalesce(sum(confirmed), 0),
          'problems', coalesce(sum(refused), 0),
          'remaining', coalesce(sum(people - confirmed - refused) filter (where state = 'due'), 0),
          'upsert', coalesce(sum(confirmed + refused) filter (where kind = 'upsert'), 0),
          'update', coalesce(sum(confirmed + refused) filter (where kind = 'update'), 0),
          'delete', coalesce(sum(confirmed + refused) filter (where kind = 'delete'), 0),
          'session', coalesce(sum(confirmed + refused) filter (where kind = 'session'), 0),
          'upsertRequests', coalesce(sum(requests) filter (where kind = 'upsert'), 0),
          'updateRequests', coalesce(sum(requests) filter (where kind = 'update'), 0),
          'deleteRequests', coalesce(sum(requests) filter (where kind = 'delete'), 0),
          'sessionRequests', coalesce(sum(requests) filter (where kind = 'session'), 0))`.as('tally'),
        )
        .whereRef('deliveries.run_id', '=', 'runs.id')
        .as('tally'),
    )
}

type Tally = Record<string, number>

type SelectedRun = RunRow & Pick<Run, 'also' | 'parts'> & { tally: Tally | null; in_doubt: InDoubtCounts | null }

function toRun(row: SelectedRun): Run {
  const tally = row.tally ?? {}
  const sent = (kind: string) => ({ requests: tally[`${kind}Requests`] ?? 0, people: tally[kind] ?? 0 })
  return {
    id: row.id,
    connection: row.connection,
    trigger: row.trigger as Trigger,
    state: row.state as RunState,
    options: row.options,
    feed: row.feed as FeedName,
    mode: row.mode as Run['mode'],
    source: row.source,
    asOf: row.as_of?.toISOString() ?? null,
    rows: row.rows,
    records: row.records,
    counts: row.counts,
    guards: row.guards,
    digest: row.digest,
    configuration: row.configuration,
    moved: row.outdated_reason,
    heldPart: row.held_part_run_id,
    // Deprecated: removed after 0.1.
    setAside: row.held_part_run_id,
    also: row.also,
    ridesWith: row.linked_run_id,
    wentOn: row.passed_part_run_id,
    partOf: row.part_of_run_id,
    parts: row.parts,
    warnings: row.warnings ?? [],
    verification: row.verification,
    blockedPeople: row.blocked_people,
    // Deprecated: removed after 0.1.
    unserved: row.blocked_people,
    inDoubt: row.in_doubt,
    sent: { upsert: sent('upsert'), update: sent('update'), delete: sent('delete'), session: sent('session') },
    confirmed: tally.confirmed ?? 0,
    problems: tally.problems ?? 0,
    remaining: row.state === 'delivering' ? (tally.remaining ?? 0) : 0,
    reason: row.reason,
    failure: row.failure,
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    valuesRemovedAt: row.values_removed_at?.toISOString() ?? null,
    durationMs: row.started_at && row.finished_at ? row.finished_at.getTime() - row.started_at.getTime() : null,
    requestedBy: [...new Set(row.requested_by?.map(({ by }) => by))],
    expiresAt: row.expires_at?.toISOString() ?? null,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at?.toISOString() ?? null,
    decidedReason: row.decided_reason,
  }
}
