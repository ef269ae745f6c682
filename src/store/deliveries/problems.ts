import { type RawBuilder, sql } from 'kysely'
import type { ConnectionStatus, Problem as ShownProblem } from '../../contract/control/shapes.ts'
import { compareKeys } from '../../identity/digest.ts'
import type { ConnectionAt } from '../keys.ts'
import type { Db } from '../schema.ts'
import { isUndelivered, patienceMs, retryAfterMs } from './undelivered.ts'

/** Without these changes the platform treats a leaver as employed, or keeps a wrong date. */
const leaverKinds: readonly string[] = ['leave', 'correct']

/** As the control API shows it, without the name and the age. */
export type Problem = Omit<ShownProblem, 'name' | 'ageSeconds'>

/** Where a page starts: after this person, by connection and key. */
export type ProblemCursor = { readonly connection: string; readonly identityId: string }

type ProblemFilter = {
  readonly now: Date
  readonly connection?: string
  readonly after?: ProblemCursor
  readonly limit?: number
}

/**
 * The changes that do not reach the platform, by connection and key: those that it refuses, and those that have been failing for a while.
 * A person with a problem and a newer failing change is listed once, with the newer one.
 */
export async function listProblems(db: Db, { now, connection, after, limit }: ProblemFilter): Promise<Problem[]> {
  const names = connection === undefined ? await connectionsWithProblems(db, now) : [connection]
  const all: Problem[] = []
  for (const name of names.filter((each) => after === undefined || each >= after.connection)) {
    const remaining = limit === undefined ? null : limit - all.length
    if (remaining === 0) break
    const page = { after: name === after?.connection ? after.identityId : '', limit: remaining }
    const overdue = await overdueBatches(db, { connection: name, now })
    const problems = [...(await closedPeople(db, overdue, page)), ...(await undeliveredPeople(db, overdue, page))]
    problems.sort((a, b) => compareKeys(a.identityId, b.identityId))
    all.push(...problems.slice(0, remaining ?? problems.length))
  }
  return all
}

/** How many people are refused and undelivered, and how many of them the platform may still take for employed. */
type ProblemCounts = ConnectionStatus['problems']
type ProblemCount = ProblemCounts[Problem['state']]

const none: ProblemCount = { people: 0, leavers: 0 }
/** The counts of a connection without problems. */
export const noProblems: ProblemCounts = { refused: none, undelivered: none }

/** How many people are refused and undelivered, by connection; connections without any are left out. */
export async function problemCounts(db: Db, { now }: { now: Date }): Promise<Map<string, ProblemCounts>> {
  // Looks up the newer change of each problem by key, as `isKeptOut` does.
  const isFailing = sql`changes.run_id = overdue.run_id and changes.state = 'due' and (changes.batch = any(overdue.batches)) is true`
  const { rows } = await sql<{ connection: string } & ProblemCounts>`
    with overdue as materialized (
      select runs.connection, runs.id as run_id, array_agg(deliveries.batch) as batches
      from ${overdueDeliveries(now)} group by runs.connection, runs.id
    ), counted as (
      select problems.connection, problems.kind, ${isUndelivered} as is_undelivered
      from problems left join overdue on overdue.connection = problems.connection
      where (select true from changes where ${isFailing} and changes.identity_id = problems.identity_id limit 1) is null
      union all
      select overdue.connection, changes.kind, true from overdue join changes on ${isFailing}
    )
    select connection, ${tallyWhere(sql`not is_undelivered`)} as refused, ${tallyWhere(sql`is_undelivered`)} as undelivered
    from counted group by connection`.execute(db)
  return new Map(rows.map(({ connection, ...counts }) => [connection, counts]))
}

function tallyWhere(condition: RawBuilder<unknown>): RawBuilder<ProblemCount> {
  return sql`json_build_object('people', count(*) filter (where ${condition}),
    'leavers', count(*) filter (where ${condition} and kind = any(${leaverKinds})))`
}

/** The connections that `listProblems` has anybody of, by name. */
async function connectionsWithProblems(db: Db, now: Date): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name collate "C" as name from connections where exists (select from problems where problems.connection = connections.name)
    union select runs.connection from ${overdueDeliveries(now)}
    order by name`.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * In SQL, the batches that have been failing for a while, of active runs; all their batches if the connection is blocked. Begins with tables
 * and ends in a condition.
 */
function overdueDeliveries(now: Date): RawBuilder<unknown> {
  const failingBefore = new Date(now.getTime() - patienceMs)
  // A failure in the future was recorded before the clock was set back. The clocks of two processes may differ a little.
  const clockWasAhead = new Date(now.getTime() + patienceMs)
  return sql`connections
    join runs on runs.connection = connections.name and runs.state = 'delivering'
    join deliveries on deliveries.run_id = runs.id and deliveries.state = 'due' and deliveries.answer is null
    where (blocked_at is not null or failing_since <= ${failingBefore} or failing_since > ${clockWasAhead})`
}

/** The batches of the active run that cannot be delivered, by number. */
type Overdue = {
  readonly connection: string
  readonly runId: string | null
  readonly batches: ReadonlyMap<number, Batch>
}

type Batch = {
  readonly status: number | null
  readonly code: string | null
  readonly message: string
  readonly firstAt: Date
  readonly nextAt: Date
  readonly times: number
}

/** The batches that have been failing for a while; all batches if the connection is blocked. */
async function overdueBatches(db: Db, { connection, now }: ConnectionAt): Promise<Overdue> {
  const { rows } = await sql<Batch & { readonly runId: string; readonly batch: number }>`
    select runs.id as "runId", deliveries.batch, blocked_status as status,
      case when blocked_at is null then last_code else blocked_code end as code,
      coalesce(case when blocked_at is null then last_failure else blocked_reason end, '') as message,
      -- A block may be older than the change that it keeps out.
      least(failing_since, case when blocked_at is not null
        then greatest(blocked_at, coalesce(runs.decided_at, runs.started_at)) end) as "firstAt",
      case when blocked_at is null then due_at else coalesce(probe_at, due_at) end as "nextAt",
      deliveries.failures as times
    from ${overdueDeliveries(now)} and connections.name = ${connection}`.execute(db)
  const batches = new Map(rows.map(({ runId: _runId, batch, ...about }) => [batch, about]))
  return { connection, runId: rows[0]?.runId ?? null, batches }
}

type Page = { readonly after: string; readonly limit: number | null }

type DueRow = Pick<Problem, 'identityId' | 'kind'> & { readonly batch: number; readonly answeredAt: Date | null }

async function undeliveredPeople(db: Db, overdue: Overdue, { after, limit }: Page): Promise<Problem[]> {
  const { connection, runId, batches } = overdue
  if (runId === null) return []
  const { rows } = await sql<DueRow>`
    select identity_id as "identityId", kind, batch, answered_at as "answeredAt" from changes
    where ${isOverdue(overdue)} and identity_id > ${after}
    order by identity_id limit ${limit}`.execute(db)
  return rows.flatMap(({ identityId, kind, batch, answeredAt }) => {
    const about = batches.get(batch)
    if (!about) return []
    const { firstAt, nextAt, ...why } = about
    const lastAt = answeredAt?.toISOString() ?? null
    const when = { firstAt: firstAt.toISOString(), lastAt, nextAt: nextAt.toISOString() }
    return [{ connection, identityId, state: 'undelivered', runId, kind, leaver: isLeaver(kind), ...why, ...when }]
  })
}

type ClosedRow = Omit<Problem, 'connection' | 'state' | 'leaver' | 'firstAt' | 'lastAt' | 'nextAt'> & {
  readonly isFailed: boolean
  readonly firstAt: Date
  readonly lastAt: Date
}

/** The people that the platform refused, or that their run gave up on after failing for too long. */
async function closedPeople(db: Db, overdue: Overdue, { after, limit }: Page): Promise<Problem[]> {
  const { connection } = overdue
  const { rows } = await sql<ClosedRow>`
    select identity_id as "identityId", run_id as "runId", kind, status, message, first_at as "firstAt", last_at as "lastAt", times,
      (select answer ->> 'code' from changes
        where changes.run_id = problems.run_id and changes.identity_id = problems.identity_id) as code,
      ${isUndelivered} as "isFailed"
    from problems
    where connection = ${connection} and identity_id > ${after} and not ${isKeptOut(overdue)}
    order by identity_id limit ${limit}`.execute(db)
  return rows.map(({ firstAt, lastAt, isFailed, ...row }) => {
    const nextAt = isFailed ? new Date(lastAt.getTime() + retryAfterMs).toISOString() : null
    const when = { firstAt: firstAt.toISOString(), lastAt: lastAt.toISOString(), nextAt }
    const state = isFailed ? 'undelivered' : 'refused'
    return { connection, state, leaver: isLeaver(row.kind), ...row, ...when }
  })
}

/**
 * In SQL, whether a row of `changes` cannot be delivered. `is true` hides the batches from the planner, so that a page is read from the
 * index by key even without statistics.
 */
function isOverdue({ runId, batches }: Overdue): RawBuilder<boolean> {
  if (runId === null) return sql<boolean>`false`
  return sql<boolean>`changes.run_id = ${runId} and changes.state = 'due' and (changes.batch = any(${[...batches.keys()]})) is true`
}

/** In SQL, whether the person of a problem has a newer change that fails. Looked up by key for each row instead of joined. */
function isKeptOut(overdue: Overdue): RawBuilder<boolean> {
  return sql<boolean>`coalesce((
    select true from changes where ${isOverdue(overdue)} and changes.identity_id = problems.identity_id limit 1), false)`
}

function isLeaver(kind: string): boolean {
  return leaverKinds.includes(kind)
}
