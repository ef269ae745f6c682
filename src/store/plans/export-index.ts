import { sql } from 'kysely'
import { copyBytes, int4, readBytes, uuidBytes } from '../../database/copy.ts'
import type { RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** What is kept of an index beside its parts. */
type Sealed = { readonly head: string; readonly seal: Buffer }

/** A part is kept in pieces that fill a page of the database each. One of another length is the last of its part. */
const pieceBytes = 8000
const piecesOfPart = 2 ** 16
/** Most parts have fewer bytes. */
const usualPartBytes = 2 ** 21

/**
 * Says that a run begins to read an export by what the last one left behind, and will leave an index itself. What is written of people from
 * now on is noted for it. Running it twice has it begin again.
 */
export async function beginIndex(tx: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await sql`
    insert into export_indexes (run_id, connection, base)
    values (${runId}, ${connection}, (select run_id from export_indexes where connection = ${connection} and accepted))
    on conflict (run_id) do update set base = excluded.base, is_same = false, head = null, seal = null`.execute(tx)
  await sql`delete from export_index_parts where run_id = ${runId}`.execute(tx)
  await sql`update changed_people set run_id = ${runId} where connection = ${connection}`.execute(tx)
}

/** An index as it lies in the database. */
type StoredIndex = Sealed & {
  /** How many bytes all its parts have at most. */
  readonly bytesAtMost: number
  /** Gives the parts one after the other, in memory that is used again for the next one. */
  readonly eachPart: (take: (part: Buffer) => void) => Promise<void>
}

/** What the last accepted export left behind; null for nothing. */
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

/** Keeps a part of what the reading of a run leaves behind. */
export async function storeIndexPart(tx: Db, { runId, part, data }: IndexPart): Promise<void> {
  const id = uuidBytes(runId)
  const rows: Buffer[][] = []
  for (let start = 0; start <= data.length; start += pieceBytes)
    rows.push([id, int4(part * piecesOfPart + rows.length), data.subarray(start, start + pieceBytes)])
  await copyBytes(tx, { table: 'export_index_parts', columns: ['run_id', 'part', 'data'], rows })
}

/** The people of whom something was written since the index was made, or whom the platform does not have as they are desired; at most so many. */
export async function changedPeople(
  db: Db,
  { connection, most }: { readonly connection: string; readonly most: number },
): Promise<string[]> {
  const { rows } = await sql<{ identityId: string }>`
    select identity_id as "identityId" from (
      select identity_id from changed_people where connection = ${connection}
      union select identity_id from out_of_sync where connection = ${connection}) people
    limit ${most}`.execute(db)
  return rows.map(({ identityId }) => identityId)
}

/**
 * Keeps what the reading of a run leaves behind, whose parts are kept already. `same`: the index that it went by. null: nothing. Belongs to
 * the transaction that completes the plan.
 */
export async function storeIndex(tx: Db, runId: string, index: Sealed | 'same' | null): Promise<void> {
  if (index === null) return await dropIndex(tx, runId)
  if (index === 'same') {
    await sql`update export_indexes set is_same = true where run_id = ${runId}`.execute(tx)
    return
  }
  await sql`update export_indexes set head = ${index.head}, seal = ${index.seal} where run_id = ${runId}`.execute(tx)
}

/** Removes what a plan that comes to nothing would have left behind. What was noted for nobody else goes with it. */
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
 * Makes what the plan of a run leaves behind the accepted index, while `commit` makes the plan the truth: what that writes of people is
 * known to the index. Where another index was accepted since the run began to read, its own is void, and what is written is noted.
 */
export async function acceptIndex<T>(
  tx: Db,
  { runId, connection }: RunOfConnection,
  commit: () => Promise<T>,
): Promise<T> {
  // The same row as every plan that is accepted changes, so that no two of them are accepted at once.
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
