import { sql } from 'kysely'
import type { RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** How old the newest statement of a connection may be while newer runs have ended. */
const withinHours = 1

/** Why a run has no statement. It is tried again after an hour. */
export const statementFailed = 'no population statement could be made'

type OwedQuery = { readonly connection?: string; readonly now: Date }

/**
 * The last ended run of each connection whose newest statement is older than that run, and older than an hour. A run that is cancelled
 * while it delivers was accepted, and does not wait for the hour unless another run has ended since. After a restore, the connection
 * first learns from the platform.
 */
export async function owedStatements(db: Db, { connection, now }: OwedQuery): Promise<readonly RunOfConnection[]> {
  const { rows } = await sql<RunOfConnection>`
    select ended.id as "runId", name as connection from connections
      left join lateral (
        select made_at from statements where statements.connection = name order by id desc limit 1) newest on true
      cross join lateral (
        select id, state from runs
        where runs.connection = name and finished_at >= coalesce(newest.made_at, '-infinity') and values_removed_at is null
          and not exists (select from statements where statements.run_id = runs.id and made_at >= runs.finished_at)
          and not exists (select from restored_connections where restored_connections.connection = name)
          and (state in ('unchanged', 'finished', 'finished_with_problems')
            or state = 'cancelled' and exists (select from deliveries where deliveries.run_id = runs.id))
          and (reason is distinct from ${statementFailed} or finished_at <= ${now}::timestamptz - make_interval(hours => ${sql.lit(withinHours)}))
        order by finished_at desc limit 1) ended
    where (ended.state = 'cancelled' or newest.made_at is null or newest.made_at <= ${now}::timestamptz - make_interval(hours => ${sql.lit(withinHours)}))
      and ${connection === undefined ? sql`true` : sql`name = ${connection}`}`.execute(db)
  return rows
}

/** How long a run may deliver without a statement. */
const deliversHours = 24

/**
 * The run of each connection that has been delivering for more than a day, as one that is blocked does, if the newest statement is older than a
 * day too. In a transaction that holds the active run of a connection, the run does not end before the transaction does.
 */
export async function statementsOfSlowRuns(
  db: Db,
  { connection, now }: OwedQuery,
): Promise<readonly RunOfConnection[]> {
  const dayAgo = sql`${now}::timestamptz - make_interval(hours => ${sql.lit(deliversHours)})`
  const { rows } = await sql<RunOfConnection>`
    select id as "runId", connection from runs
    where state = 'delivering' and started_at <= ${dayAgo}
      and not exists (select from statements where statements.connection = runs.connection and made_at > ${dayAgo})
      and not exists (select from restored_connections where restored_connections.connection = runs.connection)
      and ${connection === undefined ? sql`true` : sql`connection = ${connection}`}
    for update of runs skip locked`.execute(db)
  return rows
}

/** A run whose statement could not be made, and since when one is missing. */
type UnstatedRun = RunOfConnection & { readonly since: Date }

/** How long after it is due a statement during a slow run may come. A failed attempt is repeated after an hour. */
const slowStatementHours = 2

type UnstatedQuery = {
  readonly now: Date
  /** Only what happened before this instant. */
  readonly before?: Date | undefined
}

/**
 * By connection, the last run after its newest statement whose own statement could not be made: one that has ended, or one that delivers for
 * more than a day and whose statement of the day is two hours late.
 */
export async function runsWithoutStatement(
  db: Db,
  connections: readonly string[],
  { now, before }: UnstatedQuery,
): Promise<readonly UnstatedRun[]> {
  const at = before === undefined || before > now ? now : new Date(before.getTime() - 1)
  const hoursBefore = (hours: number) => sql`${at}::timestamptz - make_interval(hours => ${sql.lit(hours)})`
  // A held plan begins to be delivered when a person approves it.
  const begun = sql`coalesce(decided_at, started_at, 'infinity')`
  const { rows } = await sql<UnstatedRun>`
    select unstated.id as "runId", name as connection, unstated.since
    from unnest(${connections}::text[]) of_connection (name)
      cross join lateral (
        select coalesce(max(made_at), '-infinity') as made_at from statements
        where statements.connection = name and made_at <= ${at}) newest
      cross join lateral (
        select id, finished_at as since from runs
        where runs.connection = name and state in ('finished_with_problems', 'cancelled') and reason = ${statementFailed}
          and finished_at <= ${at} and finished_at > newest.made_at
        union all
        select id, greatest(${begun}, newest.made_at) + make_interval(hours => ${sql.lit(deliversHours)}) from runs
        where runs.connection = name and state = 'delivering'
          and greatest(${begun}, newest.made_at) <= ${hoursBefore(deliversHours + slowStatementHours)}
          and not exists (select from restored_connections where restored_connections.connection = name)
        order by since desc limit 1) unstated
    order by name`.execute(db)
  return rows
}
