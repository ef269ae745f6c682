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

/** Keeps an answer. What was said of the same two keys before is replaced. */
export async function keepKeyAnswer(
  tx: Db,
  { connection, former, identityId, same, by, now }: { connection: string; now: Date } & Omit<KeyAnswer, 'answeredAt'>,
): Promise<void> {
  await tx
    .insertInto('key_answers')
    .values({ connection, former, identity_id: identityId, same, answered_by: by, answered_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['connection', 'former', 'identity_id'])
        .doUpdateSet({ same, answered_by: by, answered_at: now }),
    )
    .execute()
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

/** The pairs of a held plan, by their former keys. */
export async function pairsOf(db: Db, runId: string): Promise<Pair[]> {
  const rows = await db
    .selectFrom('key_pairs')
    .innerJoin('runs', 'runs.id', 'key_pairs.run_id')
    .select(['former', 'identity_id', 'in_common', 'clear'])
    .where('run_id', '=', runId)
    .where('runs.state', 'in', ['planned', 'held'])
    .orderBy('former')
    .orderBy('identity_id')
    .execute()
  return rows.map(({ former, identity_id, in_common, clear }) => ({
    former,
    identityId: identity_id,
    by: in_common as Pair['by'],
    clear,
  }))
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
