import { sql } from 'kysely'
import { type FieldCounts, noPeople, type PeopleCounts, peopleLimits, type Usual } from '../../identity/guards/facts.ts'
import { otherFieldsOf } from '../../identity/guards/limits.ts'
import type { FieldName } from '../../identity/record.ts'
import type { Db } from '../schema.ts'
import type { FeedName } from './runs.ts'

/** What the limits of people count of small runs, of one feed, that passed since then without a person's approval. */
export async function passedSince(
  db: Db,
  { connection, feed, since }: { connection: string; feed: FeedName; since: Date },
): Promise<PeopleCounts> {
  const passed = sql`
    select id, counts from runs
    where connection = ${connection} and feed = ${feed} and state in ('delivering', 'finished', 'finished_with_problems')
      and decided_by is null and created_at > ${since}`
  const kinds = await sql<{ kind: string; people: number }>`
    with passed as (${passed})
    select kind, sum(people::int)::int as people from passed, json_each_text(passed.counts) as counted(kind, people) group by kind`.execute(
    db,
  )
  const fields = await sql<{ field: FieldName; all: number; blanked: number }>`
    with passed as (${passed})
    select field, count(*)::int as "all", (count(*) filter (where value ->> 'to' is null))::int as blanked
    from passed join changes on changes.run_id = passed.id, jsonb_each(changes.fields) as told(field, value)
    where not changes.carried and value ->> 'from' is not null
    group by field`.execute(db)

  const byKind = new Map(kinds.rows.map(({ kind, people }) => [kind, people]))
  const byField = new Map(fields.rows.map((row) => [row.field, row]))
  const named = otherFieldsOf(Object.fromEntries(byField))
  const each = (count: (row: { all: number; blanked: number }) => number) =>
    Object.fromEntries(named.map((field) => [field, count(byField.get(field) ?? { all: 0, blanked: 0 })]))
  return {
    leavers: byKind.get('leave') ?? 0,
    joiners: byKind.get('join') ?? 0,
    returns: byKind.get('return') ?? 0,
    redates: byKind.get('correct') ?? 0,
    contractorFlips: byField.get('isContractor')?.all ?? 0,
    emailChanges: byField.get('email')?.all ?? 0,
    changed: each(({ all, blanked }) => all - blanked),
    blanked: each(({ blanked }) => blanked),
  }
}

/** So many runs say what is usual. */
const runsLookedAt = 90

/** The most that the newest accepted runs of a feed had; null where there were none. A plan that was rejected was not usual. */
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
    .orderBy('created_at', 'desc')
    .limit(runsLookedAt)
    .execute()
  if (rows.length === 0) return null
  return {
    runs: rows.length,
    most: rows.reduce((most, { people_counts }) => largest(most, people_counts ?? noPeople), noPeople),
  }
}

function largest(a: PeopleCounts, b: PeopleCounts): PeopleCounts {
  const fields = (counted: 'changed' | 'blanked'): FieldCounts =>
    Object.fromEntries(
      otherFieldsOf(a[counted], b[counted]).map((field) => [
        field,
        Math.max(a[counted][field] ?? 0, b[counted][field] ?? 0),
      ]),
    )
  const limits = Object.fromEntries(peopleLimits.map((name) => [name, Math.max(a[name], b[name])])) as Omit<
    PeopleCounts,
    'changed' | 'blanked'
  >
  return { ...limits, changed: fields('changed'), blanked: fields('blanked') }
}
