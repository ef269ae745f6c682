import { sql } from 'kysely'
import type { ConnectionStatus } from '../../contract/control/shapes.ts'
import type { DeliveryFailureCode } from '../../contract/failures.ts'
import { hasCome } from '../has-come.ts'
import type { Db } from '../schema.ts'
import { type Lease, withoutLease } from '../workers/leases.ts'

/** Why a connection is blocked, and when it is probed next. */
type Block = NonNullable<ConnectionStatus['blocked']>

/** What is stored of a connection, with counts. */
type ConnectionState = {
  readonly name: string
  /** The key that `targetId` was resolved from. Another key means another target, whose people are unknown. */
  readonly targetKey: string | null
  readonly targetId: number | null
  /** The platform answered that it does not have the update operation. */
  readonly lacksUpdate: boolean
  readonly acceptedAsOf: string | null
  readonly blocked: Block | null
  readonly people: number
  readonly separated: number
  /** People whose accepted facts the platform has not acknowledged yet. */
  readonly outOfSync: number
  /** Events that wait for a run, or for a decision about one. */
  readonly pendingEvents: number
  /** Those of them that wait for a decision. */
  readonly heldEvents: number
  readonly rejectedEvents: number
}

/** The names of all connections that the store has, also of those that the configuration no longer has. */
export async function connectionNames(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('connections').select('name').orderBy(sql`name collate "C"`).execute()
  return rows.map(({ name }) => name)
}

/** Reads the state of all connections, or of one, by name. */
export async function connectionStates(db: Db, name?: string): Promise<ConnectionState[]> {
  let query = db
    .selectFrom('connections')
    .selectAll()
    .select([
      sql<number>`(
        select count(*)::int from out_of_sync join roster late using (connection, identity_id)
        where out_of_sync.connection = connections.name and late.desired is not null and late.retracted_at is null)`.as(
        'out_of_sync',
      ),
      eventsIn('pending').as('pending_events'),
      eventsIn('held').as('held_events'),
      eventsIn('rejected').as('rejected_events'),
    ])
    .orderBy('name')
  if (name !== undefined) query = query.where('name', '=', name)
  const rows = await query.execute()
  const headcounts = await headcountsOf(db, rows)
  return rows.map((row) => ({
    name: row.name,
    targetKey: row.target_key,
    targetId: row.target_id,
    lacksUpdate: row.lacks_update,
    acceptedAsOf: row.accepted_as_of?.toISOString() ?? null,
    blocked:
      row.blocked_at && row.blocked_status !== null
        ? {
            status: row.blocked_status,
            code: row.blocked_code,
            reason: row.blocked_reason ?? '',
            since: row.blocked_at.toISOString(),
            probeAt: row.probe_at?.toISOString() ?? null,
          }
        : null,
    people: headcounts.get(row.name)?.people ?? 0,
    separated: headcounts.get(row.name)?.separated ?? 0,
    outOfSync: row.out_of_sync,
    // A held event waits too.
    pendingEvents: row.pending_events + row.held_events,
    heldEvents: row.held_events,
    rejectedEvents: row.rejected_events,
  }))
}

/** The number of a connection's events in a state. Each state has an index of its own; most events are in none of them. */
function eventsIn(state: 'pending' | 'held' | 'rejected') {
  return sql<number>`(
    select count(*)::int from inbox where inbox.connection = connections.name and inbox.state = ${sql.lit(state)})`
}

type Headcount = { readonly version: number; readonly people: number; readonly separated: number }

/** The last counts of this process, by database and connection. */
const cachedHeadcounts = new WeakMap<Db, Map<string, Headcount>>()

/** Counts the people of each connection. Their rows are read only if the version of the roster has changed since the last count. */
async function headcountsOf(
  db: Db,
  connections: readonly { readonly name: string; readonly roster_version: number }[],
): Promise<ReadonlyMap<string, Headcount>> {
  const known = cachedHeadcounts.get(db) ?? new Map<string, Headcount>()
  cachedHeadcounts.set(db, known)
  const changed = connections.filter(({ name, roster_version }) => known.get(name)?.version !== roster_version)
  if (changed.length === 0) return known
  // Reads the version together with the count: the roster may have changed since the connection was read.
  const { rows } = await sql<Headcount & { readonly name: string }>`
    select name, roster_version as version, people, separated from connections, lateral (
      select (count(*) filter (where desired is not null))::int as people,
        (count(*) filter (where desired ->> 'separatedAt' is not null))::int as separated
      from roster where connection = connections.name and retracted_at is null) as headcount
    where name = any(${changed.map(({ name }) => name)}::text[])`.execute(db)
  for (const { name, ...headcount } of rows) known.set(name, headcount)
  return known
}

/** Raises the version of the roster and locks the connection. Call it first in a transaction that changes who is desired or has left. */
export async function changeRoster(tx: Db, connection: string): Promise<void> {
  await sql`update connections set roster_version = roster_version + 1 where name = ${connection}`.execute(tx)
}

/**
 * Waits until no other transaction changes who is desired. Call it first in a transaction that locks rows of both the roster and
 * `acknowledged`, because accepting a plan locks the two tables in the other order.
 */
export async function lockRoster(tx: Db, connection: string): Promise<void> {
  await sql`select from connections where name = ${connection} for no key update`.execute(tx)
}

/** The connection of the platform that a connection feeds. */
export type Target = {
  readonly key: string | null
  readonly id: number | null
  /** Where a CUSTOM connection takes its records. */
  readonly resource: number | null
  readonly lacksUpdate: boolean
}

/** The target of a connection. `locks`: whether its row is locked until the transaction ends. */
export async function targetOf(db: Db, connection: string, { locks = false } = {}): Promise<Target> {
  const row = await db
    .selectFrom('connections')
    .select(['target_key', 'target_id', 'target_resource', 'lacks_update'])
    .where('name', '=', connection)
    .$if(locks, (query) => query.forUpdate())
    .executeTakeFirstOrThrow()
  return { key: row.target_key, id: row.target_id, resource: row.target_resource, lacksUpdate: row.lacks_update }
}

/** Stores the target of a connection. */
export async function setTarget(
  db: Db,
  connection: string,
  target: { key: string; id: number | null; resource: number | null },
): Promise<void> {
  await db
    .updateTable('connections')
    .set({ target_key: target.key, target_id: target.id, target_resource: target.resource, lacks_update: false })
    .where('name', '=', connection)
    .execute()
}

/** Records that the platform does not have the update operation. */
export async function setLacksUpdate(db: Db, connection: string): Promise<void> {
  await db.updateTable('connections').set({ lacks_update: true }).where('name', '=', connection).execute()
}

/** Claims the right to look up or create the target. False while another live process has it. */
export async function claimTarget(db: Db, { connection, lease }: TargetClaim): Promise<boolean> {
  const claimed = await db
    .updateTable('connections')
    .set({ target_lease: lease.id })
    .where('name', '=', connection)
    .where(withoutLease(sql`connections.target_lease`))
    .executeTakeFirst()
  return claimed.numUpdatedRows > 0n
}

type TargetClaim = { readonly connection: string; readonly lease: Lease }

/**
 * Whether this process still has that claim. Checked right before a connection is created, because another process may have taken it
 * over.
 */
export async function holdsTarget(db: Db, { connection, lease }: TargetClaim): Promise<boolean> {
  const claim = await db
    .selectFrom('connections')
    .select('name')
    .where('name', '=', connection)
    .where('target_lease', '=', lease.id)
    .executeTakeFirst()
  return claim !== undefined
}

/** Releases the claim, unless another process has taken it over. */
export async function releaseTarget(db: Db, { connection, lease }: TargetClaim): Promise<void> {
  await db
    .updateTable('connections')
    .set({ target_lease: null })
    .where('name', '=', connection)
    .where('target_lease', '=', lease.id)
    .execute()
}

/** Why a connection may not send, and until when. */
export type ConnectionBlock = { readonly until: Date; readonly code: DeliveryFailureCode; readonly reason: string }

type BlockQuery = {
  readonly connection: string
  readonly now: Date
  readonly nextProbeAt: Date
}

/**
 * The block of a connection; null if it may send. When the time of a probe has come, one caller gets null, and the time of the next probe
 * is set.
 */
export async function activeBlock(
  db: Db,
  { connection, now, nextProbeAt }: BlockQuery,
): Promise<ConnectionBlock | null> {
  const block = await db
    .selectFrom('connections')
    .select(['probe_at', 'blocked_code', 'blocked_reason'])
    .where('name', '=', connection)
    .where('blocked_at', 'is not', null)
    .executeTakeFirst()
  if (!block) return null
  // The clocks of two processes may differ a little.
  const maxMinutesAhead = (nextProbeAt.getTime() - now.getTime()) / 60_000 + 1
  const probing = await db
    .updateTable('connections')
    .set({ probe_at: nextProbeAt })
    .where('name', '=', connection)
    .where('blocked_at', 'is not', null)
    .where(hasCome(sql`probe_at`, { now, maxMinutesAhead }))
    .executeTakeFirst()
  if (probing.numUpdatedRows > 0n) return null
  return {
    until: block.probe_at !== null && block.probe_at > now ? block.probe_at : nextProbeAt,
    code: (block.blocked_code ?? 'connection_missing') as DeliveryFailureCode,
    reason: block.blocked_reason ?? '',
  }
}

type NewBlock = {
  readonly connection: string
  readonly status: number
  readonly code: string
  readonly reason: string
  readonly now: Date
  readonly probeAt: Date
}

/** Blocks a connection: records the reason and the time of the next probe. `since` of an existing block stays. */
export async function blockConnection(
  db: Db,
  { connection, status, code, reason, now, probeAt }: NewBlock,
): Promise<void> {
  await db
    .updateTable('connections')
    .set({
      blocked_status: status,
      blocked_code: code,
      blocked_reason: reason,
      blocked_at: sql`coalesce(blocked_at, ${now})`,
      probe_at: probeAt,
    })
    .where('name', '=', connection)
    .execute()
}

/** Forgets the target, so that it is looked up again. It may be another one, whose people are unknown. */
export async function forgetTarget(db: Db, connection: string): Promise<void> {
  await db
    .updateTable('connections')
    .set({ target_id: null, target_resource: null, target_key: '' })
    .where('name', '=', connection)
    .execute()
}

/** Lifts the block of a connection. False if it was not blocked. */
export async function unblockConnection(db: Db, connection: string): Promise<boolean> {
  const freed = await db
    .updateTable('connections')
    .set({ blocked_status: null, blocked_code: null, blocked_reason: null, blocked_at: null, probe_at: null })
    .where('name', '=', connection)
    .where('blocked_at', 'is not', null)
    .executeTakeFirst()
  return freed.numUpdatedRows > 0n
}
