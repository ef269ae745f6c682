import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** How many days after their departure, or after the platform acknowledged it, leavers belong to each sample. */
const leaverDays = 30

type SampleInput = {
  readonly connection: string
  readonly others: number
  readonly seed: string
  readonly now: Date
}

/**
 * The keys of people who are read back as a sample: all leavers of late, first, and so many of the others by chance. The same seed picks
 * the same people.
 */
export async function sampleKeys(db: Db, { connection, others, seed, now }: SampleInput): Promise<string[]> {
  const since = sql`${now}::timestamptz - make_interval(days => ${sql.lit(leaverDays)})`
  const { rows } = await sql<{ identityId: string }>`
    with late as (
      select distinct identity_id from leavers
      where connection = ${connection} and ended_at is null and acknowledged_at is not null
        and greatest(acknowledged_at, effective_at) >= ${since}
    ), chosen as (
      select identity_id from roster
      where connection = ${connection} and desired is not null and retracted_at is null
        and not exists (select 1 from late where late.identity_id = roster.identity_id)
      order by md5(identity_id || ${seed}::text) limit ${others}
    )
    select identity_id as "identityId" from (select identity_id, 0 as place from late union all select identity_id, 1 from chosen) both_kinds
    order by place, identity_id`.execute(db)
  return rows.map(({ identityId }) => identityId)
}
