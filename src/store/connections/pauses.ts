import { type RawBuilder, sql } from 'kysely'
import type { ConnectionAt } from '../keys.ts'
import type { Db } from '../schema.ts'

/** The pause of a connection: no run starts by itself. */
export type Pause = {
  readonly since: Date
  /** When it ends by itself; null: when an operator ends it. */
  readonly until: Date | null
  readonly reason: string
  readonly by: string
}

/** The pauses at this time, by connection. */
export async function pausedConnections(db: Db, now: Date): Promise<ReadonlyMap<string, Pause>> {
  const rows = await db.selectFrom('pauses').selectAll().where(isPaused(now)).orderBy('connection').execute()
  return new Map(
    rows.map(({ connection, since, until, reason, paused_by }) => [
      connection,
      { since, until, reason, by: paused_by },
    ]),
  )
}

/** The pause of a connection at this time; null if there is none. */
export async function pauseOf(db: Db, { connection, now }: ConnectionAt): Promise<Pause | null> {
  return (await pausedConnections(db, now)).get(connection) ?? null
}

type NewPause = Omit<Pause, 'since'> & {
  readonly connection: string
  readonly now: Date
}

/** Pauses a connection. A pause that exists keeps its start and gets the new reason and end. */
export async function addPause(tx: Db, { connection, until, reason, by, now }: NewPause): Promise<Pause> {
  const values = { until, reason, paused_by: by, ended_at: null }
  const { since } = await tx
    .insertInto('pauses')
    .values({ connection, since: now, ...values })
    .onConflict((c) =>
      c.column('connection').doUpdateSet({
        ...values,
        since: sql<Date>`case when pauses.ended_at is null and (pauses.until is null or pauses.until > ${now})
          then pauses.since else ${now} end`,
      }),
    )
    .returning('since')
    .executeTakeFirstOrThrow()
  return { since, until, reason, by }
}

/** Ends a pause. False if the connection is not paused. */
export async function endPause(tx: Db, { connection, now }: ConnectionAt): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('pauses')
    .set({ ended_at: now })
    .where('connection', '=', connection)
    .where(isPaused(now))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** In SQL, whether a pause is active. */
export function isPaused(now: Date): RawBuilder<boolean> {
  return sql<boolean>`(pauses.ended_at is null and (pauses.until is null or pauses.until > ${now}))`
}
