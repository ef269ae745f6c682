import { type RawBuilder, sql } from 'kysely'
import type { FieldChange, FieldChanges } from '../../identity/change.ts'
import { storedFields } from '../../identity/difference.ts'
import type { FieldName, IdentityRecord } from '../../identity/record.ts'
import { digested, type ValueDigests } from '../../identity/value-digests.ts'
import { record, rollcall } from '../audit/trail.ts'
import { traitsOf, valueDigests } from '../roster/value-digests.ts'
import { dropWaitingValues } from '../roster/waiting.ts'
import { settledStates } from '../runs/runs.ts'
import type { Db, RunAccount } from '../schema.ts'

/** What one turn has made digests of. */
type Digested = { readonly people: number; readonly changes: number }

/** So many people are changed in one transaction. */
const atOnce = 1000
/** So many transactions make one turn; the next one goes on. */
const portionsATurn = 200

/**
 * Puts digests in the place of values of a connection that keeps none: of people whom the platform has as wanted, and of changes that
 * were answered or dropped. What a portion leaves is found by the next one, also after a crash. Without the key of this installation
 * there is nothing to make digests with, and the values wait for it.
 */
export async function digestValues(
  db: Db,
  { connection, portions = portionsATurn }: { readonly connection: string; readonly portions?: number },
  now: Date,
): Promise<Digested> {
  const digests = valueDigests(db, connection)
  if (digests === null) return { people: 0, changes: 0 }
  let left = portions
  let people = 0
  let changes = 0
  const place = { connection, digests, now }
  for (; left > 0 && (await markFormer(db, place)); left--);
  for (let found = atOnce; left > 0 && found === atOnce; left--) {
    found = await digestPeople(db, place)
    people += found
  }
  for (let found = atOnce; left > 0 && found === atOnce; left--) found = await digestAcknowledged(db, place)
  for (const run of await runsWithValues(db, connection)) {
    if (left <= 0) break
    const done = await digestRun(db, run, { ...place, portions: left })
    changes += done.changes
    left -= done.portions
  }
  return { people, changes }
}

type Place = { readonly connection: string; readonly digests: ValueDigests; readonly now: Date }

/** One portion of the people who were known before: their values become digests as those of everybody. False: there is none left. */
async function markFormer(db: Db, { connection, now }: Place): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ digested_to: string | null }>`
      select digested_to from connections where name = ${connection} for update`.execute(tx)
    const from = rows[0]?.digested_to ?? null
    if (from === null) return false
    const { rows: marked } = await sql<{ identity_id: string }>`
      with portion as (
        select identity_id from roster where connection = ${connection} and identity_id > ${from}
        order by identity_id limit ${atOnce}
      ), marked as (
        update roster set to_digest = true from portion
        where roster.connection = ${connection} and roster.identity_id = portion.identity_id and ${holdsClear(sql`roster.wanted`)}
      )
      select identity_id from portion order by identity_id desc limit 1`.execute(tx)
    const to = marked[0]?.identity_id ?? null
    await sql`update connections set digested_to = ${to} where name = ${connection}`.execute(tx)
    if (to === null) await record(tx, { act: 'values.digested', connection, by: rollcall, now })
    return true
  })
}

/** One portion of the people whose values the platform has as wanted, or who are withheld. Answers how many. */
async function digestPeople(db: Db, { connection, digests }: Place): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const isAnswered = sql<boolean>`to_digest and not exists (
      select 1 from out_of_sync
      where out_of_sync.connection = roster.connection and out_of_sync.identity_id = roster.identity_id
        and (roster.retracted_at is null or out_of_sync.confirmed is not null))`
    const { rows: locked } = await sql<{ identity_id: string }>`
      select identity_id from roster where connection = ${connection} and ${isAnswered}
      order by identity_id limit ${atOnce} for update skip locked`.execute(tx)
    // Looked at again under the lock: a plan that was accepted meanwhile may want something that nothing has acknowledged yet.
    const { rows } = await sql<{ identity_id: string; wanted: IdentityRecord | null }>`
      select identity_id, wanted from roster
      where connection = ${connection} and identity_id = any(${locked.map(({ identity_id }) => identity_id)}) and ${isAnswered}`.execute(
      tx,
    )
    const people = rows.map(({ identity_id, wanted }) => ({
      identity_id,
      wanted: wanted && digested(wanted, digests),
      // What is not new was known before, in the same words.
      traits: wanted && traitsOf(wanted, digests, () => false),
    }))
    if (people.length > 0) {
      await sql`
        update roster set wanted = d.wanted, traits = coalesce(roster.traits, '{}') || coalesce(d.traits, '{}'), to_digest = false
        from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as d(identity_id text, wanted jsonb, traits jsonb)
        where roster.connection = ${connection} and roster.identity_id = d.identity_id`.execute(tx)
    }
    return locked.length
  })
}

/** One portion of what the platform has of people of whom HR wants something else. */
async function digestAcknowledged(db: Db, { connection, digests }: Place): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ identity_id: string; confirmed: IdentityRecord }>`
      select identity_id, confirmed from acknowledged
      where connection = ${connection} and confirmed is not null and ${holdsClear(sql`confirmed`)}
      order by identity_id limit ${atOnce} for update skip locked`.execute(tx)
    const people = rows.map(({ identity_id, confirmed }) => ({ identity_id, confirmed: digested(confirmed, digests) }))
    if (people.length > 0) {
      await sql`
        update acknowledged set confirmed = d.confirmed
        from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as d(identity_id text, confirmed jsonb)
        where acknowledged.connection = ${connection} and acknowledged.identity_id = d.identity_id`.execute(tx)
    }
    return people.length
  })
}

/** In SQL, whether a record holds a value that a digest can stand for. */
function holdsClear(of: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from jsonb_each_text(case jsonb_typeof(${of}) when 'object' then ${of} end) told (name, value)
    where name not in ('identityId', 'separatedAt') and value not like chr(1) || '%')`
}

type RunWithValues = { readonly id: string; readonly isSettled: boolean }

async function runsWithValues(db: Db, connection: string): Promise<RunWithValues[]> {
  const { rows } = await sql<RunWithValues>`
    select id, state = any(${settledStates}) as "isSettled" from runs
    where connection = ${connection} and values_digested_at is null and values_removed_at is null
      and (state = 'delivering' or state = any(${settledStates}))
    order by created_at`.execute(db)
  return rows
}

type ChangeRow = {
  readonly identity_id: string
  readonly record: IdentityRecord | null
  readonly fields: FieldChanges | null
}

type StoredChange = ChangeRow & Parameters<typeof storedFields>[0]

/** The changes of a run that were answered or dropped, and once it has ended all of them with what else it holds. */
async function digestRun(
  db: Db,
  { id, isSettled }: RunWithValues,
  { connection, digests, now, portions }: Place & { readonly portions: number },
): Promise<{ readonly changes: number; readonly portions: number }> {
  let changes = 0
  let after = ''
  for (let portion = 1; portion <= portions; portion++) {
    const { rows } = await sql<StoredChange>`
      select changes.identity_id, changes.kind, changes.record, changes.fields, changes.inferred from changes
      left join deliveries on deliveries.run_id = changes.run_id and deliveries.batch = changes.batch
      where changes.run_id = ${id} and not changes.digested and changes.identity_id > ${after}
        and (${isSettled} or changes.state in ('confirmed', 'dropped') or (changes.state = 'due' and deliveries.answer is not null))
      order by changes.identity_id limit ${atOnce}`.execute(db)
    const last = rows.at(-1)
    if (last) {
      await storeDigested(
        db,
        id,
        rows.map((row) => digestedChange({ ...row, fields: storedFields(row) as FieldChanges | null }, digests)),
      )
      changes += rows.length
      after = last.identity_id
    }
    if (rows.length === atOnce) continue
    if (isSettled) await digestRest(db, { runId: id, connection, now })
    return { changes, portions: portion }
  }
  return { changes, portions }
}

function digestedChange({ identity_id, record: sent, fields }: ChangeRow, digests: ValueDigests): ChangeRow {
  const told = Object.entries(fields ?? {}) as [FieldName, FieldChange][]
  const sideOf = (side: 'from' | 'to' | 'desiredBefore') =>
    digested(
      { identityId: identity_id, ...Object.fromEntries(told.map(([field, was]) => [field, was[side]])) },
      digests,
    )
  const [from, to, before] = [sideOf('from'), sideOf('to'), sideOf('desiredBefore')]
  return {
    identity_id,
    record: sent && digested(sent, digests),
    fields:
      fields &&
      Object.fromEntries(
        told.map(([name, was]) => {
          const sides = { from: from[name] ?? null, to: to[name] ?? null }
          const { [name]: desiredBefore } = before
          return [name, { ...was, ...sides, ...(desiredBefore !== undefined && { desiredBefore }) }]
        }),
      ),
  }
}

async function storeDigested(db: Db, runId: string, rows: readonly ChangeRow[]): Promise<void> {
  await sql`
    update changes set record = d.record, fields = d.fields, digest = null, answer = changes.answer - 'message', digested = true
    from json_to_recordset(${JSON.stringify(rows)}::json) as d(identity_id text, record json, fields jsonb)
    where changes.run_id = ${runId} and changes.identity_id = d.identity_id`.execute(db)
}

/** What a run holds besides its changes: cells of a person, messages that may quote values, and values that no list holds. */
async function digestRest(
  db: Db,
  { runId, connection, now }: { runId: string; connection: string; now: Date },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const stored = await tx.selectFrom('run_accounts').select('account').where('run_id', '=', runId).executeTakeFirst()
    if (stored?.account.person) {
      const account = JSON.stringify(withoutCells(stored.account))
      await tx.updateTable('run_accounts').set({ account }).where('run_id', '=', runId).execute()
    }
    await sql`update deliveries set answer = answer - 'message', last_failure = null where run_id = ${runId}`.execute(
      tx,
    )
    await sql`update rejects set unlisted = null where run_id = ${runId} and unlisted is not null`.execute(tx)
    await sql`
      update standing_rejects set unlisted = null
      where connection = ${connection} and run_id = ${runId} and unlisted is not null`.execute(tx)
    await tx.updateTable('runs').set({ values_digested_at: now }).where('id', '=', runId).execute()
  })
}

/** What stays of a cell besides what was made of it: the key, the leaving date, and which word a status was taken for. */
const shown: ReadonlySet<string> = new Set(['identityId', 'separatedAt'])
const worded: ReadonlySet<string> = new Set(['status', 'action'])

/** An account without the texts of the cells of its person, and what was read from them. */
export function withoutCells(account: RunAccount): RunAccount {
  if (!account.person) return account
  const rows = account.person.rows.map((row) => ({
    ...row,
    cells: row.cells.map((cell) => {
      if (cell.text === null || (shown.has(cell.field) && cell.reason === null)) return cell
      return { ...cell, text: null, value: worded.has(cell.field) ? cell.value : null, gone: true as const }
    }),
  }))
  return { ...account, person: { ...account.person, rows } }
}

/** How a connection keeps values: since when as digests, and which key made those. */
type DigestState = { readonly since: Date | null; readonly keyName: string | null }

export async function digestState(db: Db, connection: string): Promise<DigestState> {
  const row = await db
    .selectFrom('connections')
    .select(['digests_since', 'digest_key'])
    .where('name', '=', connection)
    .executeTakeFirst()
  return { since: row?.digests_since ?? null, keyName: row?.digest_key ?? null }
}

/** Notes whether values of a connection are kept, once that has changed. Those that were kept until then become digests. */
export async function noteKeeping(
  db: Db,
  { connection, keepsValues, now }: { connection: string; keepsValues: boolean; now: Date },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const changed = await sql`
      update connections set keeps_values = ${keepsValues},
        digests_since = case when ${keepsValues} then digests_since else coalesce(digests_since, ${now}) end,
        digested_to = case when ${keepsValues} then null else '' end
      where name = ${connection} and keeps_values <> ${keepsValues}`.execute(tx)
    if (Number(changed.numAffectedRows ?? 0n) === 0) return
    if (!keepsValues) await dropWaitingValues(tx, connection)
    const act = keepsValues ? 'values.kept' : 'values.not_kept'
    await record(tx, { act, connection, by: rollcall, now })
  })
}

/** Notes which key makes the digests of a connection. */
export async function noteDigestKey(db: Db, connection: string, keyName: string): Promise<void> {
  await db.updateTable('connections').set({ digest_key: keyName }).where('name', '=', connection).execute()
}
