import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { PersonKey } from '../keys.ts'
import type { Db, Requester, RunOptions } from '../schema.ts'
import { type FeedName, hasExpired } from './runs.ts'

/**
 * Finds those of these connections that still have to read their source, or that wait for a decision about it. `hasEnded`: the newest run
 * failed or was cancelled before the decision, so the source has to be read again. People who wait in a run of their own keep only their
 * export, which `versionsToReadAgain` names.
 */
export async function findUndecidedConnections(
  db: Db,
  connections: readonly string[],
): Promise<readonly { readonly connection: string; readonly hasEnded: boolean }[]> {
  const { rows } = await sql<{ connection: string; hasEnded: boolean }>`
    select connection, bool_and(state in ('failed', 'cancelled')) as "hasEnded" from runs
    where connection = any(${connections}) and feed = 'source' and (
      state in ('waiting', 'reading', 'planned') or state = 'held' and not ${isSplitOff}
      or state in ('failed', 'cancelled')
        and not exists (
          select 1 from runs newer
          where newer.connection = runs.connection and newer.feed = 'source' and newer.part_of_run_id is null
            and newer.created_at > runs.created_at)
        and not exists (
          select 1 from decided_sources taken
          where taken.connection = runs.connection and taken.version = runs.source ->> 'version')
    )
    group by connection
    order by connection`.execute(db)
  return rows
}

/** Adds a held run that reads no source. */
export async function addHeldRun(
  db: Db,
  run: {
    connection: string
    options: RunOptions
    counts: PlanCounts
    guards: Verdict[]
    digest: string
    requestedBy: readonly Requester[]
    expiresAt: Date
    now: Date
  },
): Promise<string> {
  const id = randomUUID()
  await db
    .insertInto('runs')
    .values({
      id,
      connection: run.connection,
      trigger: 'operator',
      state: 'held',
      options: JSON.stringify(run.options),
      counts: JSON.stringify(run.counts),
      guards: JSON.stringify(run.guards),
      digest: run.digest,
      rows: 0,
      records: 0,
      reason: heldReason(run.guards),
      requested_by: JSON.stringify(run.requestedBy),
      expires_at: run.expiresAt,
      created_at: run.now,
      started_at: run.now,
    })
    .execute()
  return id
}

/** The held run that would retract a person, by request or by a source; null if there is none. */
export async function heldRetraction(db: Db, { connection, identityId }: PersonKey): Promise<string | null> {
  const run = await db
    .selectFrom('runs')
    .innerJoin('changes', 'changes.run_id', 'runs.id')
    .select('runs.id')
    .where('runs.connection', '=', connection)
    .where('runs.state', '=', 'held')
    .where('changes.identity_id', '=', identityId)
    .where('changes.kind', '=', 'retract')
    .limit(1)
    .executeTakeFirst()
  return run?.id ?? null
}

/** Why a plan is held, from its failed guards. */
export function heldReason(guards: readonly Verdict[]): string {
  return guards
    .filter((guard) => !guard.ok)
    .map((guard) => `${guard.name}: ${guard.reason ?? `${guard.actual} is over the limit of ${guard.limit}`}`)
    .join('; ')
}

/** Marks a held run as outdated if its plan was made with another basis (see `planBasis`): an approval plans it again. */
export async function markBasisOutdated(tx: Db, { runId, basis }: { runId: string; basis: string }): Promise<void> {
  await tx
    .updateTable('runs')
    .set({ outdated_reason: outdatedBasis })
    .where('id', '=', runId)
    .where('state', '=', 'held')
    .where('outdated_reason', 'is', null)
    .where(sql<boolean>`basis <> ${basis}`)
    .execute()
}

/** The basis of a held plan; null if the run is not held or has none. */
export async function basisOfHeld(db: Db, runId: string): Promise<string | null> {
  const run = await db
    .selectFrom('runs')
    .select('basis')
    .where('id', '=', runId)
    .where('state', '=', 'held')
    .executeTakeFirst()
  return run?.basis ?? null
}

/** Why a held plan with another basis is outdated. */
export const outdatedBasis = 'the configuration of the connection, or a classified value, has changed since'

/** In SQL, whether a held run has only some people of an export or of the roster, whose plan went on without them. */
export const isSplitOff = sql<boolean>`(feed <> 'webhook' and passed_part_run_id is null
  and exists (select from runs whole where whole.held_part_run_id = runs.id))`

/** The held run that makes the same change as a superseded one of people who were split off, and stands in its place; null if there is none. */
export async function heldInPlaceOf(db: Db, runId: string): Promise<string | null> {
  const held = await db
    .selectFrom('runs')
    .select('id')
    .where('state', '=', 'held')
    .where(isSplitOff)
    .where(
      sql<boolean>`exists (select from runs before where before.id = ${runId} and before.state = 'superseded'
        and before.connection = runs.connection and before.feed = runs.feed and before.digest = runs.digest)`,
    )
    .executeTakeFirst()
  return held?.id ?? null
}

type UndecidedQuery = {
  readonly connection: string
  readonly feed: FeedName
  readonly now: Date
}

/** Whether a plan of this feed is being made or, unless the feed is `webhook`, is held and can still be approved. */
export async function hasUndecidedRun(db: Db, { connection, feed, now }: UndecidedQuery): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('connection', '=', connection)
    .where('feed', '=', feed)
    .where('state', 'in', feed === 'webhook' ? ['reading', 'planned'] : ['reading', 'planned', 'held'])
    // A requested retraction has the feed `source`, but reads no source.
    .where(sql<boolean>`not options ? 'retract' and not (state = 'held' and (${hasExpired(now)} or ${isSplitOff}))`)
    .limit(1)
    .executeTakeFirst()
  return run !== undefined
}

/** A held event run, and its failed guards. */
type HeldEventRun = { readonly id: string; readonly failed: readonly string[] }

/** The held event runs of a connection, the oldest first. */
export async function heldEventRuns(db: Db, connection: string): Promise<HeldEventRun[]> {
  const rows = await db
    .selectFrom('runs')
    .select(['id', 'guards'])
    .where('connection', '=', connection)
    .where('feed', '=', 'webhook')
    .where('state', '=', 'held')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(({ id, guards }) => ({ id, failed: (guards ?? []).flatMap(({ ok, name }) => (ok ? [] : [name])) }))
}

/** For each of these people whom the plan of one of these runs contains: that run. */
export async function plannedIn(
  db: Db,
  { runIds, identityIds }: { runIds: readonly string[]; identityIds: readonly string[] },
): Promise<Map<string, string>> {
  const { rows } = await sql<{ identity_id: string; run_id: string }>`
    select identity_id, run_id from changes where run_id = any(${runIds}::uuid[]) and identity_id = any(${identityIds})
    union select identity_id, run_id from plan_entries where run_id = any(${runIds}::uuid[]) and identity_id = any(${identityIds})`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.identity_id, row.run_id]))
}
