import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** The comparison of everyone on one platform. */
type Walk = {
  readonly nextAt: Date
  readonly walkedAt: Date | null
  readonly syncedAt: Date | null
  readonly requests: number
  readonly failure: string | null
}

/** How long a claim lasts; then another process may take the comparison. */
const claimMinutes = 15

/** A claimed comparison, with its number. */
export type ClaimedWalk = Walk & { readonly number: number }

/** Claims the comparison of a platform if it is due, or with `always` also before; null while another process has it, or if it is not due. */
export async function claimWalk(
  db: Db,
  { platform, always, now }: { readonly platform: string; readonly always: boolean; readonly now: Date },
): Promise<ClaimedWalk | null> {
  const { rows } = await sql<ClaimedWalk>`
    insert into effective_walks (platform, next_at, claimed_until, walks)
    values (${platform}, ${now}, ${now}::timestamptz + ${claimMinutes} * interval '1 minute', 1)
    on conflict (platform) do update set claimed_until = excluded.claimed_until, walks = effective_walks.walks + 1
      where (effective_walks.claimed_until is null or effective_walks.claimed_until <= ${now})
        and (${always}::boolean or effective_walks.next_at <= ${now})
    returning next_at as "nextAt", walked_at as "walkedAt", synced_at as "syncedAt", requests, failure,
      walks as number`.execute(db)
  return rows[0] ?? null
}

/** How a comparison ended. Undefined members stay as they are. */
type WalkEnd = {
  readonly platform: string
  readonly nextAt: Date
  readonly walkedAt?: Date
  readonly syncedAt?: Date | null
  readonly requests?: number
  readonly failure: string | null
}

/** Ends a claim with the outcome and the time of the next comparison. */
export async function endWalk(
  db: Db,
  { platform, nextAt, walkedAt, syncedAt, requests, failure }: WalkEnd,
): Promise<void> {
  await db
    .updateTable('effective_walks')
    .set({
      claimed_until: null,
      next_at: nextAt,
      failure,
      ...(walkedAt !== undefined && { walked_at: walkedAt }),
      ...(syncedAt !== undefined && { synced_at: syncedAt }),
      ...(requests !== undefined && { requests }),
    })
    .where('platform', '=', platform)
    .execute()
}

/** The newest comparison of a platform; null: there was none. */
export async function findWalk(db: Db, platform: string): Promise<Walk | null> {
  const row = await db.selectFrom('effective_walks').selectAll().where('platform', '=', platform).executeTakeFirst()
  if (row === undefined) return null
  const { next_at: nextAt, walked_at: walkedAt, synced_at: syncedAt, requests, failure } = row
  return { nextAt, walkedAt, syncedAt, requests, failure }
}

/** How many people of a connection the platform shows as HR implies. */
export type Coverage = {
  readonly connection: string
  readonly people: number
  readonly effective: number
  readonly at: Date
}

/** Stores the coverage of connections. */
export async function storeCoverage(db: Db, coverage: readonly Coverage[]): Promise<void> {
  if (coverage.length === 0) return
  await db
    .insertInto('effective_coverage')
    .values([...coverage])
    .onConflict((conflict) =>
      conflict.column('connection').doUpdateSet(({ ref }) => ({
        people: ref('excluded.people'),
        effective: ref('excluded.effective'),
        at: ref('excluded.at'),
      })),
    )
    .execute()
}

/** The coverage of each connection that was compared. */
export async function listCoverage(db: Db): Promise<Coverage[]> {
  return await db.selectFrom('effective_coverage').selectAll().orderBy('connection').execute()
}
