import { type RawBuilder, sql } from 'kysely'
import type { ChangeKind } from '../../identity/change.ts'
import type { DeliveryKind } from '../deliveries/claim.ts'
import type { Db } from '../schema.ts'

/** Maximum number of people and of bytes in a batch. */
export type BatchLimits = { readonly batchSize: number; readonly batchBytes: number }

/** The requests by which each kind of change of a person is delivered, in the order in which they are numbered. */
const jobOf: Readonly<Record<ChangeKind, Exclude<DeliveryKind, 'session'>>> = {
  join: 'upsert',
  update: 'upsert',
  leave: 'update',
  return: 'update',
  correct: 'update',
  retract: 'delete',
}

/** How changes are delivered: as people, as records change by change, or as one session that holds every record. */
export type DeliveredBy = 'people' | 'direct' | 'session'

/** In SQL, the job of a change. The record of a leaver is deleted, and that of a returning person is written completely. */
const jobsInSql: Readonly<Record<DeliveredBy, RawBuilder<string>>> = {
  people: sql`case when kind in ('join', 'update') then 'upsert' when kind = 'retract' then 'delete' else 'update' end`,
  direct: sql`case when kind in ('join', 'return') then 'upsert' when kind in ('leave', 'retract') then 'delete' else 'update' end`,
  session: sql`'session'`,
}

/**
 * While a plan grows, the number of batches per kind is unknown. Each kind has its own range until the plan is accepted, so that the
 * batches of the first kind, which has most changes of a large plan, keep their numbers.
 */
const before: Readonly<Record<Exclude<DeliveryKind, 'session'>, number>> = {
  upsert: 0,
  update: 2 ** 29,
  delete: 2 ** 30,
}

/** Returns the number of the batch for a change with this many bytes. */
export type BatchNumbers = (kind: ChangeKind, bytes: number) => number

/** Numbers the batches of a growing plan: each change goes into the last batch of its kind, or into a new one. */
export function batchNumbers({ batchSize, batchBytes }: BatchLimits): BatchNumbers {
  const last = new Map<DeliveryKind, { number: number; people: number; bytes: number }>()
  return (kind, bytes) => {
    const job = jobOf[kind]
    const batch = last.get(job) ?? { number: before[job] + 1, people: 0, bytes: 0 }
    const isFull = batch.people > 0 && (batch.people >= batchSize || batch.bytes + bytes > batchBytes)
    const next = isFull
      ? { number: batch.number + 1, people: 1, bytes }
      : { ...batch, people: batch.people + 1, bytes: batch.bytes + bytes }
    last.set(job, next)
    return next.number
  }
}

type Batch = {
  readonly batch: number | null
  readonly kind: DeliveryKind
  /** Differs from `kind` if the batch mixes kinds. */
  readonly last_kind: DeliveryKind
  readonly people: number
  readonly bytes: number
}

type DeliveryInput = {
  readonly runId: string
  readonly limits: BatchLimits
  readonly by: DeliveredBy
  readonly now: Date
}

/**
 * Creates the deliveries of a plan: with the staged batches, or with new ones if those exceed the limits or are mostly empty. Numbering a
 * large plan again rewrites each change, which costs more than everything else. Returns the number of batches.
 */
export async function createDeliveries(tx: Db, { runId, limits, by, now }: DeliveryInput): Promise<number> {
  const staged = await batchesOf(tx, runId, by)
  // Changes are staged as for people. For records they are numbered by their job.
  const isUsable = by === 'people' && areWithin(staged, limits) && areFilled(staged, limits)
  if (!isUsable) await numberAgain(tx, { runId, limits, by })
  const batches = isUsable ? await inOneRow(tx, runId, staged) : await batchesOf(tx, runId, by)
  if (batches.length === 0) return 0
  await sql`
    insert into deliveries (run_id, batch, kind, state, due_at, people)
    select ${runId}, batch, kind, 'due', ${now}, people
    from jsonb_to_recordset(${JSON.stringify(batches)}::jsonb) as b(batch integer, kind text, people integer)`.execute(
    tx,
  )
  return batches.length
}

async function batchesOf(tx: Db, runId: string, by: DeliveredBy): Promise<Batch[]> {
  const jobInSql = jobsInSql[by]
  const { rows } = await sql<Batch>`
    select batch, min(${jobInSql}) as kind, max(${jobInSql}) as last_kind, count(*)::int as people,
      coalesce(sum(octet_length(record::text)), 0)::float8 as bytes
    from changes where run_id = ${runId} and state = 'due' group by batch order by batch`.execute(tx)
  return rows
}

function areWithin(batches: readonly Batch[], { batchSize, batchBytes }: BatchLimits): boolean {
  return batches.every(
    ({ batch, kind, last_kind, people, bytes }) =>
      batch !== null && kind === last_kind && people <= batchSize && (bytes <= batchBytes || people === 1),
  )
}

/** Whether the batches are well filled, also if much of the plan was removed after staging. */
function areFilled(batches: readonly Batch[], { batchSize, batchBytes }: BatchLimits): boolean {
  let needed = 0
  const open = { kind: '', people: 0, bytes: 0 }
  for (const { kind, people, bytes } of batches) {
    const fits = kind === open.kind && open.people + people <= batchSize && open.bytes + bytes <= batchBytes
    if (!fits) needed += 1
    Object.assign(open, fits ? { people: open.people + people, bytes: open.bytes + bytes } : { kind, people, bytes })
  }
  return batches.length - needed <= batches.length / 4
}

/** Renumbers the other kinds so that they follow the first. */
async function inOneRow(tx: Db, runId: string, staged: readonly Batch[]): Promise<Batch[]> {
  let end = 0
  const moved = new Map<DeliveryKind, number>()
  for (const job of ['upsert', 'update', 'delete'] as const) {
    const own = staged.flatMap(({ kind, batch }) => (kind === job && batch !== null ? [batch] : []))
    const [first] = own
    if (first === undefined) continue
    const by = end + 1 - first
    // The first kind keeps its numbers, also where a batch is missing.
    if (first > before.update) {
      moved.set(job, by)
      await sql`
        update changes set batch = batch + ${by}::int
        where run_id = ${runId} and batch between ${first} and ${own.at(-1)} and state = 'due'`.execute(tx)
    }
    end = (own.at(-1) ?? end) + (moved.get(job) ?? 0)
  }
  return staged.map((batch) => ({ ...batch, batch: (batch.batch ?? 0) + (moved.get(batch.kind) ?? 0) }))
}

type NumberingInput = {
  readonly runId: string
  readonly limits: BatchLimits
  readonly by: DeliveredBy
}

/**
 * Numbers the batches again in the order of the keys. A batch ends with the record that fills it, so it is full at the limit minus the
 * size of its largest record. A record of more than half the limit gets a batch of its own.
 */
async function numberAgain(tx: Db, { runId, limits, by }: NumberingInput): Promise<void> {
  if (by === 'session') {
    // All records become live at once, so that all of their changes are closed at once.
    await sql`update changes set batch = 1 where run_id = ${runId} and state = 'due'`.execute(tx)
    return
  }
  const { batchSize, batchBytes } = limits
  await sql`
    with kinds as (
      select ctid as row_ctid, identity_id, ${jobsInSql[by]} as job, coalesce(octet_length(record::text), 0) as bytes
      from changes where run_id = ${runId} and state = 'due'
    ), counted as (
      select row_ctid, identity_id, job, bytes, bytes > ${batchBytes}::int / 2 as is_large,
        (row_number() over (partition by job order by identity_id) - 1) / ${batchSize}::int as by_count
      from kinds
    ), portions as (
      select row_ctid, job, by_count, is_large,
        case when is_large then row_number() over portion
          else sum(bytes) over portion / (${batchBytes}::int - max(bytes) over (partition by job, by_count, is_large)) end as by_bytes
      from counted window portion as (partition by job, by_count, is_large order by identity_id)
    ), batches as (
      select row_ctid, dense_rank() over (order by job desc, by_count, is_large, by_bytes) as batch from portions
    )
    update changes set batch = batches.batch
    from batches where changes.ctid = batches.row_ctid`.execute(tx)
}
