import { sql } from 'kysely'
import type { RunEffect } from '../../identity/decide/revert.ts'
import { toChange } from '../plans/plans.ts'
import type { Db } from '../schema.ts'

type Row = Parameters<typeof toChange>[0] & { delivered: boolean; was_inferred: boolean; changed_by: string | null }

/** The changes of a run in key order, page by page, with what other runs did to the same people before and after it. */
export async function* effectsOf(db: Db, runId: string, pageSize = 1000): AsyncGenerator<RunEffect[]> {
  for (let after = ''; ; ) {
    const { rows } = await sql<Row>`
      select changes.identity_id, changes.kind, changes.record, changes.fields, changes.inferred, changes.carried, changes.reason,
        changes.state = 'confirmed' or (changes.state = 'due' and deliveries.answer is not null) as delivered,
        coalesce((
          select earlier.inferred from changes earlier join runs on runs.id = earlier.run_id
          where earlier.identity_id = changes.identity_id and runs.connection = own.connection
            and runs.started_at < own.started_at and case when earlier.fields is null then to_jsonb(earlier.separated_at) else earlier.fields -> 'separatedAt' -> 'to' end
              = coalesce(changes.fields -> 'separatedAt' -> 'desiredBefore', changes.fields -> 'separatedAt' -> 'from')
          order by runs.started_at desc limit 1), false) as was_inferred,
        (
          select later.run_id from changes later join runs on runs.id = later.run_id
          where later.identity_id = changes.identity_id and runs.connection = own.connection
            and runs.started_at > own.started_at and not later.carried and (later.state in ('confirmed', 'problem')
              or later.state = 'due' and exists (
                select 1 from deliveries where deliveries.run_id = later.run_id and deliveries.batch = later.batch))
          order by runs.started_at desc limit 1) as changed_by
      from changes join runs own on own.id = changes.run_id
      left join deliveries on deliveries.run_id = changes.run_id and deliveries.batch = changes.batch
      where changes.run_id = ${runId} and changes.identity_id > ${after}
      order by changes.identity_id limit ${pageSize}`.execute(db)
    const last = rows.at(-1)
    if (last) yield rows.map(toEffect)
    if (!last || rows.length < pageSize) return
    after = last.identity_id
  }
}

function toEffect(row: Row): RunEffect {
  return {
    change: toChange(row),
    isDelivered: row.delivered,
    wasInferred: row.was_inferred,
    changedBy: row.changed_by,
  }
}
