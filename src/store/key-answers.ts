import { sql } from 'kysely'
import type { Alias, KeyAnswers, Pair } from '../identity/rekeyed.ts'
import { pairName } from '../identity/rekeyed.ts'
import type { Db } from './schema.ts'

/** What a person said of two keys. `same`: they are one person, whom the platform has under the former one. */
export type KeyAnswer = {
  readonly former: string
  readonly identityId: string
  readonly same: boolean
  readonly by: string
  readonly answeredAt: Date
}

/** What people have said of the keys of a connection, the oldest first. */
export async function listKeyAnswers(db: Db, connection: string): Promise<KeyAnswer[]> {
  const rows = await db
    .selectFrom('key_answers')
    .selectAll()
    .where('connection', '=', connection)
    .orderBy('answered_at')
    .orderBy('former')
    .orderBy('identity_id')
    .execute()
  return rows.map(({ former, identity_id, same, answered_by, answered_at }) => ({
    former,
    identityId: identity_id,
    same,
    by: answered_by,
    answeredAt: answered_at,
  }))
}

/** The same as rows are read by it. */
export async function keyAnswers(db: Db, connection: string): Promise<KeyAnswers> {
  const answers = await listKeyAnswers(db, connection)
  const aliases = new Map<string, Alias>()
  for (const { former, identityId, same } of answers) {
    if (same) aliases.set(identityId, { identityId: former, order: aliases.size + 1 })
  }
  return { aliases, twoPeople: new Set(answers.flatMap((answer) => (answer.same ? [] : [pairName(answer)]))) }
}

/** The person whom a key names: the key itself, unless HR has issued it to a person who is known under another one. */
export async function personNamed(
  db: Db,
  { connection, identityId }: { connection: string; identityId: string },
): Promise<string> {
  const alias = await db
    .selectFrom('key_answers')
    .select('former')
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .where('same', '=', true)
    .executeTakeFirst()
  return alias?.former ?? identityId
}

/** The keys that name a person since, besides their own, the oldest first. */
export async function laterKeys(
  db: Db,
  { connection, identityId }: { connection: string; identityId: string },
): Promise<string[]> {
  const rows = await db
    .selectFrom('key_answers')
    .select('identity_id')
    .where('connection', '=', connection)
    .where('former', '=', identityId)
    .where('same', '=', true)
    .orderBy('answered_at')
    .orderBy('identity_id')
    .execute()
  return rows.map(({ identity_id }) => identity_id)
}

/** Keeps answers. What was said of the same two keys before is replaced. Further keys of a former person go along to the new one. */
export async function keepKeyAnswers(
  tx: Db,
  {
    connection,
    pairs,
    same,
    by,
    now,
  }: {
    connection: string
    pairs: readonly Pick<Pair, 'former' | 'identityId'>[]
    same: boolean
    by: string
    now: Date
  },
): Promise<void> {
  await sql`
    insert into key_answers (connection, former, identity_id, same, answered_by, answered_at)
    select ${connection}, former, "identityId", ${same}, ${by}, ${now}
    from jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as p(former text, "identityId" text)
    on conflict (connection, former, identity_id) do update set same = excluded.same, answered_by = excluded.answered_by,
      answered_at = excluded.answered_at`.execute(tx)
  if (!same) return
  await sql`
    update key_answers further set former = p.former
    from jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as p(former text, "identityId" text)
    where further.connection = ${connection} and further.former = p."identityId" and further.same`.execute(tx)
}

/** Takes an answer back; null if there was none. */
export async function dropKeyAnswer(
  tx: Db,
  { connection, former, identityId }: { connection: string; former: string; identityId: string },
): Promise<{ readonly same: boolean } | null> {
  const dropped = await tx
    .deleteFrom('key_answers')
    .where('connection', '=', connection)
    .where('former', '=', former)
    .where('identity_id', '=', identityId)
    .returning('same')
    .executeTakeFirst()
  return dropped ?? null
}

/** Keeps the pairs of a plan for as long as the plan waits. */
export async function notePairs(tx: Db, runId: string, pairs: readonly Pair[]): Promise<void> {
  await tx.deleteFrom('key_pairs').where('run_id', '=', runId).execute()
  if (pairs.length === 0) return
  await sql`
    insert into key_pairs (run_id, former, identity_id, in_common, clear)
    select ${runId}, former, "identityId", by, clear
    from jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as p(former text, "identityId" text, by text, clear boolean)`.execute(
    tx,
  )
}

/** A pair that no one has answered yet, with the held run in which it was found. */
export type OpenPair = Pair & { readonly runId: string }

/** The pairs of held plans, by their former keys: those of one run, or of a connection. */
export async function openPairs(
  db: Db,
  { connection, runId, limit }: { connection: string; runId?: string; limit?: number },
): Promise<OpenPair[]> {
  let query = db
    .selectFrom('key_pairs')
    .innerJoin('runs', 'runs.id', 'key_pairs.run_id')
    .leftJoin('key_answers', (join) =>
      join
        .onRef('key_answers.connection', '=', 'runs.connection')
        .onRef('key_answers.former', '=', 'key_pairs.former')
        .onRef('key_answers.identity_id', '=', 'key_pairs.identity_id'),
    )
    .select(['run_id', 'key_pairs.former', 'key_pairs.identity_id', 'in_common', 'clear'])
    .where('runs.connection', '=', connection)
    .where('runs.state', '=', 'held')
    .where('key_answers.former', 'is', null)
    .orderBy('key_pairs.former')
    .orderBy('key_pairs.identity_id')
  if (runId !== undefined) query = query.where('run_id', '=', runId)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map(({ run_id, former, identity_id, in_common, clear }) => ({
    runId: run_id,
    former,
    identityId: identity_id,
    by: in_common as Pair['by'],
    clear,
  }))
}

/** The held run whose export lists a new key, and the person as employed under the former one; null if none does. */
export async function runWithBoth(
  db: Db,
  { connection, former, identityId }: { connection: string; former: string; identityId: string },
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select held.id from runs held join changes on changes.run_id = held.id and changes.identity_id = ${identityId}
    where held.connection = ${connection} and held.state = 'held' and held.mode = 'snapshot' and changes.kind = 'join'
      and not exists (
        select 1 from key_pairs pair
        where pair.run_id = held.id and pair.former = ${former} and pair.identity_id = ${identityId})
      and not exists (
        select 1 from plan_entries entry where entry.run_id = held.id and entry.identity_id = ${former}
          and (entry.absences > 0 or entry.deferred_to is not null or entry.wanted ->> 'separatedAt' is not null))
    limit 1`.execute(db)
  return rows[0]?.id ?? null
}

/** Those of these people whose e-mail address a further person of the roster has too, who stays: it says nothing of who they are. */
export async function sharedAddresses(
  db: Db,
  { connection, identityIds }: { connection: string; identityIds: readonly string[] },
): Promise<ReadonlySet<string>> {
  if (identityIds.length === 0) return new Set()
  const { rows } = await sql<{ identity_id: string }>`
    select distinct gone.identity_id
    from roster gone join roster other
      on other.connection = gone.connection and lower(other.wanted ->> 'email') = lower(gone.wanted ->> 'email')
    where gone.connection = ${connection} and gone.identity_id = any(${identityIds})
      and not other.identity_id = any(${identityIds}) and other.wanted ->> 'separatedAt' is null
      and other.retracted_at is null
    union
    select gone.identity_id
    from roster gone join roster other
      on other.connection = gone.connection and other.traits ->> 'address' = gone.traits ->> 'address'
    where gone.connection = ${connection} and gone.identity_id = any(${identityIds})
      and gone.wanted ->> 'email' like chr(1) || '%' and other.wanted ->> 'email' like chr(1) || '%'
      and not other.identity_id = any(${identityIds}) and other.wanted ->> 'separatedAt' is null
      and other.retracted_at is null`.execute(db)
  return new Set(rows.map(({ identity_id }) => identity_id))
}

/** Marks the held plans that speak of these people: what they rest on has changed, so that an approval has them made again. */
export async function noteKeysMoved(
  tx: Db,
  { connection, identityIds, what }: { connection: string; identityIds: readonly string[]; what: string },
): Promise<number> {
  const { numAffectedRows } = await sql`
    update runs set moved = ${what}
    where connection = ${connection} and state = 'held' and not options ? 'retract' and (
      exists (select 1 from plan_entries where run_id = runs.id and identity_id = any(${identityIds}))
      or exists (select 1 from changes where run_id = runs.id and identity_id = any(${identityIds})))`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}
