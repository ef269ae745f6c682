import { sql } from 'kysely'
import { copyBytes, int4, readBytes, uuidBytes } from '../../database/copy.ts'
import type { RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** The header of an index, without its parts. */
type IndexHeader = { readonly head: string; readonly seal: Buffer }

/** A part is stored in pieces that fill a page of the database. A shorter piece ends its part. */
const pieceBytes = 8000
const piecesOfPart = 2 ** 16
/** Most parts have fewer bytes. */
const usualPartBytes = 2 ** 21

/**
 * Starts the index of a run that reads an export with the accepted index. The changes recorded so far are marked as known to this run, and
 * go when its index is accepted. A trigger records those that follow. Repeating it starts again.
 */
export async function beginIndex(tx: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await sql`
    insert into export_indexes (run_id, connection, base)
    values (${runId}, ${connection}, (select run_id from export_indexes where connection = ${connection} and accepted))
    on conflict (run_id) do update set base = excluded.base, is_same = false, head = null, seal = null`.execute(tx)
  await sql`delete from export_index_parts where run_id = ${runId}`.execute(tx)
  await sql`update changed_people set run_id = ${runId} where connection = ${connection}`.execute(tx)
}

/** An index in the database. */
type StoredIndex = IndexHeader & {
  /** Maximum size of all parts together. */
  readonly bytesAtMost: number
  /** Passes the parts one after the other, in memory that is reused for the next one. */
  readonly eachPart: (take: (part: Buffer) => void) => Promise<void>
}

/** The accepted index of a connection; null if there is none. */
export async function acceptedIndex(db: Db, connection: string): Promise<StoredIndex | null> {
  const row = await db
    .selectFrom('export_indexes')
    .select(['run_id', 'head', 'seal'])
    .select(
      sql<number>`(select count(*)::int from export_index_parts parts where parts.run_id = export_indexes.run_id)`.as(
        'pieces',
      ),
    )
    .where('connection', '=', connection)
    .where('accepted', '=', true)
    .executeTakeFirst()
  if (row?.head == null || row.seal === null) return null
  const { run_id: runId, head, seal, pieces } = row
  return {
    head,
    seal,
    bytesAtMost: pieces * pieceBytes,
    async eachPart(take) {
      let part = Buffer.allocUnsafe(usualPartBytes)
      let length = 0
      await readBytes(db, `select data from export_index_parts where run_id = '${runId}' order by part`, (piece) => {
        if (length + piece.length > part.length) part = Buffer.concat([part], 2 * part.length)
        piece.copy(part, length)
        length += piece.length
        if (piece.length === pieceBytes) return
        take(part.subarray(0, length))
        length = 0
      })
    },
  }
}

type IndexPart = {
  readonly runId: string
  readonly part: number
  readonly data: Buffer
}

/** Stores one part of the index of a run. */
export async function storeIndexPart(tx: Db, { runId, part, data }: IndexPart): Promise<void> {
  const id = uuidBytes(runId)
  const rows: Buffer[][] = []
  for (let start = 0; start <= data.length; start += pieceBytes)
    rows.push([id, int4(part * piecesOfPart + rows.length), data.subarray(start, start + pieceBytes)])
  await copyBytes(tx, { table: 'export_index_parts', columns: ['run_id', 'part', 'data'], rows })
}

/** The people who changed since the index was made, whose platform record differs, or who wait for an approval; at most `most`. */
export async function changedPeople(
  db: Db,
  { connection, most }: { readonly connection: string; readonly most: number },
): Promise<string[]> {
  const { rows } = await sql<{ identityId: string }>`
    select identity_id as "identityId" from (
      select identity_id from changed_people where connection = ${connection}
      union select identity_id from out_of_sync where connection = ${connection}
      union select identity_id from unapproved_people where connection = ${connection}) people
    limit ${most}`.execute(db)
  return rows.map(({ identityId }) => identityId)
}

/**
 * Completes the index of a run, whose parts are stored already. `same`: it equals the index that the run read with. Null: no index. Call
 * it in the transaction that completes the plan.
 */
export async function storeIndex(tx: Db, runId: string, index: IndexHeader | 'same' | null): Promise<void> {
  if (index === null) return await dropIndex(tx, runId)
  if (index === 'same') {
    await sql`update export_indexes set is_same = true where run_id = ${runId}`.execute(tx)
    return
  }
  await sql`update export_indexes set head = ${index.head}, seal = ${index.seal} where run_id = ${runId}`.execute(tx)
}

/** Removes the index of a plan that is dropped, and the recorded changes that no other index needs. */
export async function dropIndex(tx: Db, runId: string): Promise<void> {
  await sql`
    with dropped as (delete from export_indexes where run_id = ${runId} and not accepted returning connection)
    delete from changed_people using dropped
    where changed_people.connection = dropped.connection and not exists (
      select 1 from export_indexes other where other.connection = dropped.connection and other.run_id <> ${runId})`.execute(
    tx,
  )
}

/**
 * Accepts the index of a run in the transaction in which `commit` accepts its plan. The changes that `commit` makes are not recorded: this
 * index has them already. If another index was accepted since this run started, the index of this run is dropped, and they are recorded.
 */
export async function acceptIndex<T>(
  tx: Db,
  { runId, connection }: RunOfConnection,
  commit: () => Promise<T>,
): Promise<T> {
  // Every accepted plan changes this row, so no two plans are accepted at once.
  await sql`select from connections where name = ${connection} for update`.execute(tx)
  const { rows } = await sql<{ isSame: boolean }>`
    select ours.is_same as "isSame" from export_indexes ours
    left join export_indexes theirs on theirs.connection = ours.connection and theirs.accepted
    where ours.run_id = ${runId} and not ours.accepted and (ours.head is not null or ours.is_same)
      and ours.base is not distinct from theirs.run_id`.execute(tx)
  const [index] = rows
  if (!index) {
    const committed = await commit()
    await dropIndex(tx, runId)
    return committed
  }
  await sql`select set_config('rollcall.accepts_index', 'on', true)`.execute(tx)
  const committed = await commit()
  await sql`select set_config('rollcall.accepts_index', '', true)`.execute(tx)
  await sql`delete from changed_people where connection = ${connection} and run_id = ${runId}`.execute(tx)
  if (index.isSame) {
    await sql`delete from export_indexes where run_id = ${runId}`.execute(tx)
    return committed
  }
  await sql`delete from export_indexes where connection = ${connection} and accepted`.execute(tx)
  await sql`update export_indexes set accepted = true where run_id = ${runId}`.execute(tx)
  return committed
}
