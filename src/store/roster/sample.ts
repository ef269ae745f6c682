import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** How long leavers are part of each sample, in days after their departure or its acknowledgement. */
const leaverDays = 30

type SampleInput = {
  readonly connection: string
  readonly others: number
  readonly seed: string
  readonly now: Date
}

/** The keys of a sample: all recent leavers first, then a random choice of the others. The same seed chooses the same people. */
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
    select identity_id as "identityId" from (select identity_id, 0 as rank from late union all select identity_id, 1 from chosen) both_kinds
    order by rank, identity_id`.execute(db)
  return rows.map(({ identityId }) => identityId)
}
