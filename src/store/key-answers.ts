import { sql } from 'kysely'
import type { Alias, KeyAnswers, KeyChangeCandidate } from '../identity/key-change-candidates.ts'
import { candidateName } from '../identity/key-change-candidates.ts'
import type { PeopleKeys, PersonKey } from './keys.ts'
import type { Db } from './schema.ts'

/** The answer of an operator about two keys. `same`: they name one person, who has the former key on the platform. */
export type KeyAnswer = {
  readonly former: string
  readonly identityId: string
  readonly same: boolean
  readonly by: string
  readonly answeredAt: Date
}

/** Lists the answers about keys of a connection, the oldest first. For one person, `former` is the key on the platform. */
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

/** Each answer names the previous key, so that withdrawing one does not affect later ones. */
function firstKeyOf(key: string, formers: ReadonlyMap<string, string>): string {
  const former = formers.get(key)
  return former === undefined ? key : firstKeyOf(former, formers)
}

/** The answers in the form that planning uses. */
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

/** Resolves a key to the key on the platform; the key itself if it has no alias. */
export async function resolveKey(db: Db, { connection, identityId }: PersonKey): Promise<string> {
  const { rows } = await sql<{ key: string }>`
    with recursive keys as (
      select ${identityId}::text collate "C" as key, 0 as depth
      union all
      select answer.former, keys.depth + 1 from keys join key_answers answer
        on answer.connection = ${connection} and answer.identity_id = keys.key and answer.same)
    select key from keys order by depth desc limit 1`.execute(db)
  return rows[0]?.key ?? identityId
}

/** The later keys of a person, the oldest first. */
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

type KeyInAny = { readonly connection?: string | undefined; readonly identityId: string }

/** All keys of the person who has this key in a connection, or in any. */
export async function keysOfPerson(db: Db, { connection, identityId }: KeyInAny): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ connection: string }>`
    select distinct connection from key_answers
    where (identity_id = ${identityId} or former = ${identityId}) and same
      and ${connection === undefined ? sql`true` : sql`connection = ${connection}`}`.execute(db)
  const keys = new Set([identityId])
  for (const row of rows) {
    const firstKey = await resolveKey(db, { connection: row.connection, identityId })
    const later = await laterKeys(db, { connection: row.connection, identityId: firstKey })
    for (const key of [firstKey, ...later]) keys.add(key)
  }
  return keys
}

/** Two keys to answer. `firstKey`: the key on the platform of the person that `former` names. */
type AnsweredKeys = Pick<KeyChangeCandidate, 'former' | 'identityId'> & { readonly firstKey: string }

type NewKeyAnswers = {
  readonly connection: string
  readonly pairs: readonly AnsweredKeys[]
  readonly same: boolean
  readonly by: string
  readonly now: Date
}

/** Stores answers, and replaces earlier ones about the same keys. */
export async function storeKeyAnswers(tx: Db, { connection, pairs, same, by, now }: NewKeyAnswers): Promise<void> {
  const answered = sql`jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as p(former text, "identityId" text, "firstKey" text)`
  if (same)
    await sql`
      delete from key_answers using ${answered}
      where connection = ${connection} and key_answers.former = p."firstKey" and identity_id = p."identityId"
        and not key_answers.same`.execute(tx)
  // Planning compares two people by the first key. An existing answer keeps the key that it names.
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

/** Withdraws the answer about a key and the person with `former` on the platform; null if there is none. */
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

/** Stores the key change candidates of a plan for as long as the plan waits. */
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

/** An unanswered candidate with the held run that found it. */
type OpenCandidate = KeyChangeCandidate & { readonly runId: string }

type CandidateFilter = {
  readonly connection: string
  readonly runId?: string
  readonly limit?: number
}

/** Lists the unanswered candidates of held plans by former key: of one run, or of a connection. */
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

/** The held run whose export has the new key as a joiner and the former key as employed; null if there is none. */
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

/** Those of these people whose e-mail address another, remaining person has too: it does not identify them. */
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
  readonly reason: string
}

/** Marks the held plans that contain these people as outdated, so that an approval plans them again. Returns their number. */
export async function markPlansOutdated(tx: Db, { connection, identityIds, reason }: OutdatedPeople): Promise<number> {
  const { numAffectedRows } = await sql`
    update runs set outdated_reason = ${reason}
    where connection = ${connection} and state = 'held' and not options ? 'retract' and (
      exists (select 1 from plan_entries where run_id = runs.id and identity_id = any(${identityIds}))
      or exists (select 1 from changes where run_id = runs.id and identity_id = any(${identityIds})))`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}
