import { sql } from 'kysely'
import { type FieldCounts, noPeople, type PeopleCounts, peopleLimits, type Usual } from '../../identity/guards/facts.ts'
import { otherFieldsOf } from '../../identity/guards/limits.ts'
import type { Db } from '../schema.ts'
import type { FeedName } from './runs.ts'

const hourMs = 60 * 60_000
/** Less than a day, so that a nightly export that is some hours early counts as another day. */
const exportHours = 20
/** How many days of runs are searched; no export waits longer before it is read. */
const daysLookedAt = 30

type RecentQuery = {
  readonly connection: string
  readonly feed: FeedName
  readonly asOf: string
  readonly now: Date
}

/**
 * Sums the limit counts of runs of one feed that passed without approval: of exports, the runs with about the same time as `asOf`,
 * however late they were read; of other feeds, the runs of the last day. What a run carried over counts only in the earlier run, and
 * first plans are excluded.
 */
export async function countRecentlyPassed(db: Db, { connection, feed, asOf, now }: RecentQuery): Promise<PeopleCounts> {
  const hoursFrom = (time: number, hours: number) => new Date(time + hours * hourMs)
  const at = Date.parse(asOf)
  const isRecent =
    feed === 'source'
      ? sql`as_of > ${hoursFrom(at, -exportHours)} and as_of < ${hoursFrom(at, exportHours)}
          and created_at > ${hoursFrom(now.getTime(), -24 * daysLookedAt)}`
      : sql`created_at > ${hoursFrom(now.getTime(), -24)}`
  // A run that is cancelled during delivery was accepted: the next one carries the rest. A failed guard means that it was approved.
  const hasPassed = sql`(state in ('delivering', 'finished', 'finished_with_problems') and decided_by is null
    or state = 'cancelled' and exists (select 1 from deliveries where deliveries.run_id = runs.id)
      and not exists (select 1 from json_array_elements(guards) as guard where guard ->> 'ok' = 'false'))`
  const { rows } = await sql<{ of: string; name: string; people: number }>`
    with passed as (
      select people_counts as counts from runs
      where connection = ${connection} and feed = ${feed} and ${hasPassed} and people_counts is not null and ${isRecent}
        and ${isNoFirstPlan}
    ), counted as (
      select 'people' as of, key as name, value from passed, json_each_text(counts) where json_typeof(counts -> key) = 'number'
      union all select 'changed', key, value from passed, json_each_text(counts -> 'changed')
      union all select 'blanked', key, value from passed, json_each_text(counts -> 'blanked'))
    select of, name, sum(value::int)::int as people from counted group by of, name`.execute(db)
  const sums = (of: string) =>
    Object.fromEntries(rows.flatMap((row) => (row.of === of ? [[row.name, row.people]] : [])))
  return { ...noPeople, ...sums('people'), changed: sums('changed'), blanked: sums('blanked') }
}

/** Everybody is new in a first plan, which has guards of its own. */
const isNoFirstPlan = sql<boolean>`coalesce((known_people ->> 'people')::int, 1) > 0`

/** Number of recent runs that define what is usual. */
const runsLookedAt = 90

/** The maximum counts of the newest accepted runs of a feed; null if there are none. Rejected and first plans are excluded. */
export async function usualOf(
  db: Db,
  { connection, feed }: { connection: string; feed: FeedName },
): Promise<Usual | null> {
  const rows = await db
    .selectFrom('runs')
    .select('people_counts')
    .where('connection', '=', connection)
    .where('feed', '=', feed)
    .where('state', 'in', ['delivering', 'finished', 'finished_with_problems', 'unchanged'])
    .where('people_counts', 'is not', null)
    .where(isNoFirstPlan)
    .orderBy('created_at', 'desc')
    .limit(runsLookedAt)
    .execute()
  if (rows.length === 0) return null
  return {
    runs: rows.length,
    most: rows.reduce((most, { people_counts }) => largestCounts(most, people_counts ?? noPeople), noPeople),
  }
}

function largestCounts(a: PeopleCounts, b: PeopleCounts): PeopleCounts {
  const fields = (kind: 'changed' | 'blanked'): FieldCounts =>
    Object.fromEntries(
      otherFieldsOf(a[kind], b[kind]).map((field) => [field, Math.max(a[kind][field] ?? 0, b[kind][field] ?? 0)]),
    )
  const limits = Object.fromEntries(peopleLimits.map((name) => [name, Math.max(a[name], b[name])])) as Omit<
    PeopleCounts,
    'changed' | 'blanked'
  >
  return { ...limits, changed: fields('changed'), blanked: fields('blanked') }
}
