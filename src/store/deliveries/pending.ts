import { type RawBuilder, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import type { ChangeKind, FieldChanges } from '../../identity/change.ts'
import type { Db } from '../schema.ts'

type Batch = { readonly runId: string; readonly batch: number }

/** How far a correction of a leaving date has come; stored before the request that it names. */
export type Step = 'clearing' | 'cleared'

/** A change that is still to be delivered. */
export type PendingChange = {
  readonly identityId: string
  readonly kind: ChangeKind
  /** The record as JSON, as it was stored; null for a retraction only. */
  readonly json: string | null
  readonly separatedAt: string | null
  readonly step: Step | null
  /** The record lacks fields whose values are not kept, as the platform has them already. */
  readonly partial: boolean
}

/** What is left to do in a batch. */
export type Pending = {
  /** In key order. */
  readonly changes: readonly PendingChange[]
  /** Their records in the same order, each on a line of its own. */
  readonly records: string
}

/** The same as one row with a text for each column: a thousand rows cost more than everything else that the store does for a batch. */
export type PendingRow = {
  /** null: nothing is left. */
  readonly ids: readonly string[] | null
  readonly kinds: string
  readonly records: string
  /** What is said of few people, by key. */
  readonly apart: readonly (readonly [string, string | null, Step | null, boolean])[] | null
}

/** The statement that reads that row of a batch. */
export function pendingRow(batch: {
  readonly runId: RawBuilder<unknown>
  readonly batch: RawBuilder<unknown>
  /** Unless this holds, nothing is read. */
  readonly where?: RawBuilder<unknown>
}): RawBuilder<PendingRow> {
  return sql<PendingRow>`
    select json_agg(identity_id) as ids, string_agg(kind, ',') as kinds,
      string_agg(coalesce(record::text, ''), E'\n') as records,
      json_agg(json_build_array(identity_id, separated_at, step, partial))
        filter (where separated_at is not null or step is not null or partial) as apart
    from (
      select identity_id, kind, step, separated_at, record, partial from changes
      where run_id = ${batch.runId} and batch = ${batch.batch} and state = 'due' and ${batch.where ?? sql`true`}
      order by identity_id
    ) due`
}

/** Reads what is left to do in a batch. */
export async function pendingChanges(db: Db, { runId, batch }: Batch): Promise<Pending> {
  const read = pendingRow({ runId: sql`${runId}`, batch: sql`${batch}` })
  const { rows } = await sql<PendingRow>`${sql.raw(prepared)}${read}`.execute(db)
  return pendingOf(rows[0] ?? null)
}

const usual = [null, null, null, false] as const

export function pendingOf(row: PendingRow | null): Pending {
  if (!row?.ids) return { changes: [], records: '' }
  const kinds = row.kinds.split(',') as ChangeKind[]
  // JSON escapes the line ends within it.
  const records = row.records.split('\n')
  const apart = new Map(row.apart?.map((said) => [said[0], said]))
  const changes = row.ids.map((identityId, i) => {
    const [, separatedAt, step, partial] = apart.get(identityId) ?? usual
    return { identityId, kind: kinds[i] as ChangeKind, json: records[i] || null, separatedAt, step, partial }
  })
  return { changes, records: row.records }
}

/** The fields that the changes of a batch change, by key. */
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
