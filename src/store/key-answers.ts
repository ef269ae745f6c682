import { sql } from 'kysely'
import type { Alias, KeyAnswers, KeyChangeCandidate } from '../identity/key-change-candidates.ts'
import { candidateName } from '../identity/key-change-candidates.ts'
import type { PeopleKeys, PersonKey } from './keys.ts'
import type { Db } from './schema.ts'

/** What a person said of two keys. `same`: they are one person, whom the platform has under the former one. */
export type KeyAnswer = {
  readonly former: string
  readonly identityId: string
  readonly same: boolean
  readonly by: string
  readonly answeredAt: Date
}

/** What people have said of the keys of a connection, the oldest first. Of one person, `former` is the key that the platform has. */
export async function listKeyAnswers(db: Db, connection: string): Promise<KeyAnswer[]> {
  const rows = await db
    .selectFrom('key_answers')
    .selectAll()
    .where('connection', '=', connection)
    .orderBy('answered_at')
    .orderBy('former')
    .orderBy('identity_id')
    .execute()
  const formers = new Map(rows.flatMap(({ former, identity_id, same }) => (same ? [[identity_id, former]] : [])))
  return rows.map(({ former, identity_id, same, answered_by, answered_at }) => ({
    former: same ? firstKeyOf(former, formers) : former,
    identityId: identity_id,
    same,
    by: answered_by,
    answeredAt: answered_at,
  }))
}

/** Each answer names the key before it, so that one that is taken back takes none of the later ones with it. */
function firstKeyOf(key: string, formers: ReadonlyMap<string, string>): string {
  const former = formers.get(key)
  return former === undefined ? key : firstKeyOf(former, formers)
}

/** The same as rows are read by it. */
export async function keyAnswers(db: Db, connection: string): Promise<KeyAnswers> {
  const answers = await listKeyAnswers(db, connection)
  const aliases = new Map<string, Alias>()
  for (const { former, identityId, same } of answers) {
    if (same) aliases.set(identityId, { identityId: former, order: aliases.size + 1 })
  }
  return {
    aliases,
    differentPeople: new Set(answers.flatMap((answer) => (answer.same ? [] : [candidateName(answer)]))),
  }
}

/** The person whom a key names: the key itself, unless HR has issued it to a person who is known under another one. */
export async function resolveKey(db: Db, { connection, identityId }: PersonKey): Promise<string> {
  const { rows } = await sql<{ key: string }>`
    with recursive keys as (
      select ${identityId}::text collate "C" as key, 0 as place
      union all
      select answer.former, keys.place + 1 from keys join key_answers answer
        on answer.connection = ${connection} and answer.identity_id = keys.key and answer.same)
    select key from keys order by place desc limit 1`.execute(db)
  return rows[0]?.key ?? identityId
}

/** The keys that name a person since, besides their own, the oldest first. */
export async function laterKeys(db: Db, { connection, identityId }: PersonKey): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    with recursive keys as (
      select ${identityId}::text collate "C" as key, null::timestamptz as answered_at
      union all
      select answer.identity_id, answer.answered_at from keys join key_answers answer
        on answer.connection = ${connection} and answer.former = keys.key and answer.same)
    select key from keys where answered_at is not null order by answered_at, key`.execute(db)
  return rows.map(({ key }) => key)
}

/** Two keys of which a person says something. `firstKey`: the one under which the platform has whoever `former` names. */
type AnsweredKeys = Pick<KeyChangeCandidate, 'former' | 'identityId'> & { readonly firstKey: string }

type NewKeyAnswers = {
  readonly connection: string
  readonly pairs: readonly AnsweredKeys[]
  readonly same: boolean
  readonly by: string
  readonly now: Date
}

/** Keeps answers. What was said of the same two keys before is replaced. */
export async function storeKeyAnswers(tx: Db, { connection, pairs, same, by, now }: NewKeyAnswers): Promise<void> {
  const answered = sql`jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as p(former text, "identityId" text, "firstKey" text)`
  if (same)
    await sql`
      delete from key_answers using ${answered}
      where connection = ${connection} and key_answers.former = p."firstKey" and identity_id = p."identityId"
        and not key_answers.same`.execute(tx)
  // A run asks whether two keys are two people by the first key. An answer that is there already keeps the key that it names.
  const former = same
    ? sql`coalesce((
        select known.former from key_answers known
        where known.connection = ${connection} and known.identity_id = p."identityId" and known.same), p.former)`
    : sql`p."firstKey"`
  await sql`
    insert into key_answers (connection, former, identity_id, same, answered_by, answered_at)
    select ${connection}, ${former}, "identityId", ${same}, ${by}, ${now} from ${answered}
    on conflict (connection, former, identity_id) do update set same = excluded.same, answered_by = excluded.answered_by,
      answered_at = excluded.answered_at`.execute(tx)
}

type KeyPair = PersonKey & {
  readonly former: string
}

/** Takes back what was said of a key and the person whom the platform has under `former`; null if nothing was. */
export async function dropKeyAnswer(
  tx: Db,
  { connection, former, identityId }: KeyPair,
): Promise<{ readonly same: boolean } | null> {
  const isOnePerson = (await resolveKey(tx, { connection, identityId })) === former
  let query = tx
    .deleteFrom('key_answers')
    .where('connection', '=', connection)
    .where('identity_id', '=', identityId)
    .where('same', '=', isOnePerson)
  if (!isOnePerson) query = query.where('former', '=', former)
  return (await query.returning('same').executeTakeFirst()) ?? null
}

/** Keeps the pairs of a plan for as long as the plan waits. */
export async function recordCandidates(tx: Db, runId: string, pairs: readonly KeyChangeCandidate[]): Promise<void> {
  await tx.deleteFrom('key_change_candidates').where('run_id', '=', runId).execute()
  if (pairs.length === 0) return
  await sql`
    insert into key_change_candidates (run_id, former, identity_id, in_common, clear)
    select ${runId}, former, "identityId", by, clear
    from jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as p(former text, "identityId" text, by text, clear boolean)`.execute(
    tx,
  )
}

/** A pair that no one has answered yet, with the held run in which it was found. */
type OpenCandidate = KeyChangeCandidate & { readonly runId: string }

type CandidateFilter = {
  readonly connection: string
  readonly runId?: string
  readonly limit?: number
}

/** The pairs of held plans, by their former keys: those of one run, or of a connection. */
export async function openCandidates(db: Db, { connection, runId, limit }: CandidateFilter): Promise<OpenCandidate[]> {
  const isOpen = sql<boolean>`not exists (
    select 1 from key_answers answer
    where answer.connection = runs.connection and answer.identity_id = key_change_candidates.identity_id
      and (answer.same or answer.former = key_change_candidates.former))`
  let query = db
    .selectFrom('key_change_candidates')
    .innerJoin('runs', 'runs.id', 'key_change_candidates.run_id')
    .select(['run_id', 'key_change_candidates.former', 'key_change_candidates.identity_id', 'in_common', 'clear'])
    .where('runs.connection', '=', connection)
    .where('runs.state', '=', 'held')
    .where(isOpen)
    .orderBy('key_change_candidates.former')
    .orderBy('key_change_candidates.identity_id')
  if (runId !== undefined) query = query.where('run_id', '=', runId)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map(({ run_id, former, identity_id, in_common, clear }) => ({
    runId: run_id,
    former,
    identityId: identity_id,
    by: in_common as KeyChangeCandidate['by'],
    clear,
  }))
}

/** The held run whose export lists a new key, and the person as employed under the former one; null if none does. */
export async function heldRunWithBothKeys(db: Db, { connection, former, identityId }: KeyPair): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select held.id from runs held join changes on changes.run_id = held.id and changes.identity_id = ${identityId}
    where held.connection = ${connection} and held.state = 'held' and held.mode = 'snapshot' and changes.kind = 'join'
      and not exists (
        select 1 from key_change_candidates pair
        where pair.run_id = held.id and pair.former = ${former} and pair.identity_id = ${identityId})
      and not exists (
        select 1 from plan_entries entry where entry.run_id = held.id and entry.identity_id = ${former}
          and (entry.absences > 0 or entry.deferred_to is not null or entry.desired ->> 'separatedAt' is not null))
    limit 1`.execute(db)
  return rows[0]?.id ?? null
}

/** Those of these people whose e-mail address a further person of the roster has too, who stays: it says nothing of who they are. */
export async function sharedAddresses(db: Db, { connection, identityIds }: PeopleKeys): Promise<ReadonlySet<string>> {
  if (identityIds.length === 0) return new Set()
  const { rows } = await sql<{ identity_id: string }>`
    select distinct gone.identity_id
    from roster gone join roster other
      on other.connection = gone.connection and lower(other.desired ->> 'email') = lower(gone.desired ->> 'email')
    where gone.connection = ${connection} and gone.identity_id = any(${identityIds})
      and not other.identity_id = any(${identityIds}) and other.desired ->> 'separatedAt' is null
      and other.retracted_at is null`.execute(db)
  return new Set(rows.map(({ identity_id }) => identity_id))
}

type OutdatedPeople = PeopleKeys & {
  readonly what: string
}

/** Marks the held plans that speak of these people: what they rest on has changed, so that an approval has them made again. */
export async function markPlansOutdated(tx: Db, { connection, identityIds, what }: OutdatedPeople): Promise<number> {
  const { numAffectedRows } = await sql`
    update runs set outdated_reason = ${what}
    where connection = ${connection} and state = 'held' and not options ? 'retract' and (
      exists (select 1 from plan_entries where run_id = runs.id and identity_id = any(${identityIds}))
      or exists (select 1 from changes where run_id = runs.id and identity_id = any(${identityIds})))`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}
