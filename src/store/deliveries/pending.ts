import { type RawBuilder, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import type { ChangeKind, FieldChanges } from '../../identity/change.ts'
import type { Db } from '../schema.ts'

type Batch = { readonly runId: string; readonly batch: number }

/** The step of a correction of a leaving date, stored before its request. */
export type Step = 'clearing' | 'cleared'

/** A change that is still to be delivered. */
export type PendingChange = {
  readonly identityId: string
  readonly kind: ChangeKind
  /** The record as JSON, as it was stored; null for a retraction only. */
  readonly json: string | null
  readonly separatedAt: string | null
  readonly step: Step | null
}

/** The remaining changes of a batch. */
export type PendingBatch = {
  readonly changes: readonly PendingChange[]
  /** Their records in the same order, in pieces. A comma and a line feed separate two records of a piece. */
  readonly records: readonly string[]
}

/**
 * The same in a few rows with long texts: a thousand rows cost more than everything else that the store does for a batch, and a single
 * row makes both sides allocate memory for each of its long texts.
 */
export type PendingRow = {
  readonly ids: readonly string[]
  readonly kinds: string
  readonly records: string
  /** Columns that few people have, by key. */
  readonly apart: readonly (readonly [string, string | null, Step | null])[] | null
}

const changesOfRow = 100
/** Separates two records. JSON escapes line feeds inside them. */
const separator = ',\n'

/** The statement that reads those rows of a batch. It does not sort, which would take longer than reading. */
export function pendingRows(batch: {
  readonly runId: RawBuilder<unknown>
  readonly batch: RawBuilder<unknown>
  /** A condition for reading anything. */
  readonly where?: RawBuilder<unknown>
}): RawBuilder<PendingRow> {
  return sql<PendingRow>`
    select json_agg(identity_id) as ids, string_agg(kind, ',') as kinds,
      string_agg(coalesce(record::text, ''), ${sql.lit(separator)}) as records,
      json_agg(json_build_array(identity_id, separated_at, step))
        filter (where separated_at is not null or step is not null) as apart
    from (
      select identity_id, kind, step, separated_at, record, (row_number() over () - 1) / ${sql.lit(changesOfRow)} as piece
      from changes
      where run_id = ${batch.runId} and batch = ${batch.batch} and state = 'due' and ${batch.where ?? sql`true`}
    ) due
    group by piece`
}

/** Reads the remaining changes of a batch. */
export async function pendingChanges(db: Db, { runId, batch }: Batch): Promise<PendingBatch> {
  const read = pendingRows({ runId: sql`${runId}`, batch: sql`${batch}` })
  const { rows } = await sql<PendingRow>`${sql.raw(prepared)}${read}`.execute(db)
  return pendingOf(rows)
}

const usual = [null, null, null] as const

/** Decodes the rows of `pendingRows`. */
export function pendingOf(rows: readonly PendingRow[]): PendingBatch {
  const changes = rows.flatMap(({ ids, ...row }) => {
    const kinds = row.kinds.split(',') as ChangeKind[]
    const records = row.records.split(separator)
    const apart = new Map(row.apart?.map((values) => [values[0], values]))
    return ids.map((identityId, i) => {
      const [, separatedAt, step] = apart.get(identityId) ?? usual
      return { identityId, kind: kinds[i] as ChangeKind, json: records[i] || null, separatedAt, step }
    })
  })
  return { changes, records: rows.map(({ records }) => records) }
}

/** The changed fields of each person in a batch, by key. */
export async function changedFields(db: Db, { runId, batch }: Batch): Promise<ReadonlyMap<string, FieldChanges>> {
  const rows = await db
    .selectFrom('changes')
    .select(['identity_id', 'fields'])
    .where('run_id', '=', runId)
    .where('batch', '=', batch)
    .where('state', '=', 'due')
    .execute()
  return new Map(rows.map(({ identity_id, fields }) => [identity_id, fields ?? {}]))
}
