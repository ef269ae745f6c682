import { sql } from 'kysely'
import type { FieldChange } from '../../identity/change.ts'
import type { FieldName } from '../../identity/record.ts'
import type { Db } from '../schema.ts'

/** What a plan does to one field, joiners left out. */
type FieldSummary = {
  readonly field: FieldName
  readonly people: number
  /** How many of them lose their value, and how many get their first. */
  readonly blanked: number
  readonly filled: number
  /** By how many days dates move, and from which domain addresses move to which: the commonest ways. */
  readonly ways: readonly { readonly way: string; readonly people: number }[]
  /** The commonest replacements of one value by another. */
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

export type RunSummary = {
  readonly fields: readonly FieldSummary[]
  readonly managers: readonly ManagerSummary[]
  /** How many managers have leavers; the first of them are listed. */
  readonly managersCount: number
}

const shownWays = 3
const shownExamples = 3
const shownManagers = 10

/** What the plan of a run does, by field and by manager. The database counts, so that the size of a plan costs no memory here. */
export async function summarizePlan(db: Db, runId: string): Promise<RunSummary> {
  const fields = await sql<Omit<FieldSummary, 'ways' | 'values'>>`
    select told.key as field, count(*)::int as people,
      (count(*) filter (where told.value ->> 'to' is null))::int as blanked,
      (count(*) filter (where told.value ->> 'from' is null))::int as filled,
      (array_agg(identity_id order by identity_id))[1:${shownExamples}::int] as examples
    from changes, jsonb_each(fields) told
    where run_id = ${runId} and kind <> 'join' group by told.key order by people desc, field`.execute(db)
  const ways = await sql<{ field: FieldName; way: string; people: number }>`
    with told as (
      select told.key as field, told.value ->> 'from' as before, told.value ->> 'to' as after
      from changes, jsonb_each(fields) told where run_id = ${runId} and kind <> 'join'
    ), moved as (
      select field, case when field in ('startedAt', 'separatedAt')
          then (case when after > before then '+' else '' end) || (left(after, 10)::date - left(before, 10)::date) || ' days'
          else 'from ' || substring(before from '@[^@]*$') || ' to ' || substring(after from '@[^@]*$') end as way
      from told
      where before is not null and after is not null and (field in ('startedAt', 'separatedAt')
        or field in ('email', 'secondaryEmail') and before like '%@%' and after like '%@%'
          and substring(before from '@[^@]*$') <> substring(after from '@[^@]*$'))
    ), ranked as (
      select field, way, count(*)::int as people, row_number() over (partition by field order by count(*) desc, way) as place
      from moved group by field, way
    )
    select field, way, people from ranked where place <= ${shownWays} order by field, place`.execute(db)
  const values = await sql<FieldChange & { field: FieldName; people: number }>`
    with told as (
      select told.key as field, told.value -> 'from' as before, told.value -> 'to' as after
      from changes, jsonb_each(fields) told where run_id = ${runId} and kind <> 'join'
    ), ranked as (
      select field, before, after, count(*)::int as people,
        row_number() over (partition by field order by count(*) desc, before, after) as place
      from told group by field, before, after
    )
    select field, before as "from", after as "to", people from ranked where place <= ${shownWays} order by field, place`.execute(
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
