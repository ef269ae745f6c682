import { sql } from 'kysely'
import type { FieldChange } from '../../identity/change.ts'
import type { FieldName } from '../../identity/record.ts'
import type { Db } from '../schema.ts'

/** What a plan does to one field, without joiners. */
type FieldSummary = {
  readonly field: FieldName
  readonly people: number
  /** How many lose their value, and how many get their first. */
  readonly blanked: number
  readonly filled: number
  /** The most frequent moves of dates, in days, and of e-mail addresses, by domain. */
  readonly ways: readonly { readonly way: string; readonly people: number }[]
  /** The most frequent replacements of one value by another. */
  readonly values: readonly (FieldChange & { readonly people: number })[]
  /** The first people by key. */
  readonly examples: readonly string[]
}

/** The leavers of one manager, by name where there is one, else by key; null: no manager is known. */
type ManagerSummary = {
  readonly manager: string | null
  readonly leavers: number
  readonly examples: readonly string[]
}

/** What a plan does, by field and by manager. */
export type RunSummary = {
  readonly fields: readonly FieldSummary[]
  readonly managers: readonly ManagerSummary[]
  /** Number of managers with leavers; the first of them are listed. */
  readonly managersCount: number
}

const shownWays = 3
const shownExamples = 3
const shownManagers = 10

/** Summarizes a plan by field and by manager. The database counts, so the size of a plan costs no memory here. */
export async function summarizePlan(db: Db, runId: string): Promise<RunSummary> {
  const fields = await sql<Omit<FieldSummary, 'ways' | 'values'>>`
    select changed.key as field, count(*)::int as people,
      (count(*) filter (where changed.value ->> 'to' is null))::int as blanked,
      (count(*) filter (where changed.value ->> 'from' is null))::int as filled,
      (array_agg(identity_id order by identity_id))[1:${shownExamples}::int] as examples
    from changes, jsonb_each(fields) changed
    where run_id = ${runId} and kind <> 'join' group by changed.key order by people desc, field`.execute(db)
  const ways = await sql<{ field: FieldName; way: string; people: number }>`
    with changed as (
      select changed.key as field, changed.value ->> 'from' as before, changed.value ->> 'to' as after
      from changes, jsonb_each(fields) changed where run_id = ${runId} and kind <> 'join'
    ), moved as (
      select field, case when field in ('startedAt', 'separatedAt')
          then (case when after > before then '+' else '' end) || (left(after, 10)::date - left(before, 10)::date) || ' days'
          else 'from ' || substring(before from '@[^@]*$') || ' to ' || substring(after from '@[^@]*$') end as way
      from changed
      where before is not null and after is not null and (field in ('startedAt', 'separatedAt')
        or field in ('email', 'secondaryEmail') and before like '%@%' and after like '%@%'
          and substring(before from '@[^@]*$') <> substring(after from '@[^@]*$'))
    ), ranked as (
      select field, way, count(*)::int as people, row_number() over (partition by field order by count(*) desc, way) as rank
      from moved group by field, way
    )
    select field, way, people from ranked where rank <= ${shownWays} order by field, rank`.execute(db)
  const values = await sql<FieldChange & { field: FieldName; people: number }>`
    with changed as (
      select changed.key as field, changed.value -> 'from' as before, changed.value -> 'to' as after
      from changes, jsonb_each(fields) changed where run_id = ${runId} and kind <> 'join'
    ), ranked as (
      select field, before, after, count(*)::int as people,
        row_number() over (partition by field order by count(*) desc, before, after) as rank
      from changed group by field, before, after
    )
    select field, before as "from", after as "to", people from ranked where rank <= ${shownWays} order by field, rank`.execute(
    db,
  )
  const managers = await sql<ManagerSummary & { all: number }>`
    with leavers as (
      select identity_id, coalesce(record ->> 'managerName', record ->> 'managerId') as manager
      from changes where run_id = ${runId} and kind = 'leave'
    )
    select manager, count(*)::int as leavers, (count(*) over ())::int as "all",
      (array_agg(identity_id order by identity_id))[1:${shownExamples}::int] as examples
    from leavers group by manager order by count(*) desc, manager limit ${shownManagers}`.execute(db)
  return {
    fields: fields.rows.map((summary) => ({
      ...summary,
      ways: ways.rows.flatMap(({ field, ...way }) => (field === summary.field ? [way] : [])),
      values: values.rows.flatMap(({ field, ...value }) => (field === summary.field ? [value] : [])),
    })),
    managers: managers.rows.map(({ all: _, ...manager }) => manager),
    managersCount: managers.rows[0]?.all ?? 0,
  }
}
