import { type RawBuilder, sql } from 'kysely'
import type { Db, RunSource } from '../schema.ts'

/** The source of the newest accepted plan. */
export type AcceptedSource = {
  readonly source: RunSource | null
  /** The time of the newest accepted snapshot. */
  readonly asOf: string | null
  /** Its mapped fields. */
  readonly fields: readonly string[]
  readonly rows: number | null
  /** The keys at the end of that snapshot, in order. */
  readonly end: readonly string[]
}

/** What the newest accepted plan of a connection was made from. */
export async function acceptedSource(db: Db, connection: string): Promise<AcceptedSource> {
  const row = await db
    .selectFrom('connections')
    .select(['accepted_source', 'accepted_as_of', 'accepted_fields', 'accepted_rows', 'accepted_end'])
    .where('name', '=', connection)
    .executeTakeFirst()
  return {
    source: row?.accepted_source ?? null,
    asOf: row?.accepted_as_of?.toISOString() ?? null,
    fields: row?.accepted_fields ?? [],
    rows: row?.accepted_rows ?? null,
    end: row?.accepted_end ?? [],
  }
}

/** Those of these versions that were accepted or rejected before. */
export async function decidedVersions(
  db: Db,
  { connection, versions }: { connection: string; versions: readonly string[] },
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('decided_sources')
    .select('version')
    .where('connection', '=', connection)
    .where(sql<boolean>`version = any(${versions})`)
    .execute()
  return new Set(rows.map(({ version }) => version))
}

/** Minimum time between two updates of `listed_at`. */
const listedMs = 24 * 60 * 60_000

type ListedVersions = {
  readonly connections: readonly string[]
  readonly versions: readonly string[]
  readonly now: Date
}

/** Records which versions the source still lists, so that retention keeps those that could be read again. */
export async function recordListed(db: Db, { connections, versions, now }: ListedVersions): Promise<void> {
  await db
    .updateTable('decided_sources')
    .set({ listed_at: now })
    .where('connection', 'in', connections)
    .where(sql<boolean>`version = any(${versions})`)
    .where(sql<boolean>`(listed_at is null or listed_at < ${new Date(now.getTime() - listedMs)})`)
    .execute()
}

/** The decision about a source: its plan was accepted, or rejected by an operator. */
export type SourceOutcome = 'accepted' | 'refused'

type SourceDecision = {
  readonly connection: string
  readonly source: RunSource
  readonly outcome: SourceOutcome
  readonly now: Date
}

/** Records the decision about a source. An accepted source stays accepted. */
export async function recordSourceDecision(
  tx: Db,
  { connection, source, outcome, now }: SourceDecision,
): Promise<void> {
  await tx
    .insertInto('decided_sources')
    .values({ connection, version: source.version, source: JSON.stringify(source), outcome, decided_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['connection', 'version'])
        .doUpdateSet({ outcome, source: JSON.stringify(source), archived_at: null })
        .where('decided_sources.outcome', '=', 'refused'),
    )
    .execute()
}

/** In SQL, whether the export of a run waits to be read again, because people of it wait in another held run than this one. */
function waitsFor(run: string, exceptHeldId: string | null): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from runs same join runs held on held.id = same.held_part_run_id
    where same.connection = ${sql.ref(`${run}.connection`)} and same.feed = 'source'
      and same.source ->> 'version' = ${sql.ref(`${run}.source`)} ->> 'version'
      and held.state = 'held' and held.id is distinct from ${exceptHeldId}::uuid)`
}

type HeldDecision = { readonly heldId: string; readonly now: Date }

/**
 * Records an export as decided whose plan was accepted but for people of a held run, once that run is decided about: nothing of it has to be
 * read again.
 */
export async function recordSourceOfHeld(tx: Db, { heldId, now }: HeldDecision): Promise<void> {
  await sql`
    insert into decided_sources (connection, version, source, outcome, decided_at)
    select connection, source ->> 'version', source, 'accepted', ${now} from runs
    where held_part_run_id = ${heldId} and feed = 'source' and source is not null and not ${waitsFor('runs', heldId)}
    on conflict do nothing`.execute(tx)
}

type NewerSource = { readonly runId: string; readonly now: Date }

/**
 * Records the last export before that of this accepted run as decided, if its plan was accepted but for people of a held run: the newer export
 * states of them what HR says now.
 */
export async function recordReplacedSource(tx: Db, { runId, now }: NewerSource): Promise<void> {
  await sql`
    insert into decided_sources (connection, version, source, outcome, decided_at)
    select before.connection, before.source ->> 'version', before.source, 'accepted', ${now}
    from runs newer cross join lateral (
      select * from runs
      where connection = newer.connection and feed = 'source' and mode = 'snapshot' and source is not null
        and source ->> 'version' <> newer.source ->> 'version' and as_of <= newer.as_of and created_at <= newer.created_at
        and state in ('unchanged', 'delivering', 'finished', 'finished_with_problems')
      order by created_at desc limit 1) before
    where newer.id = ${runId} and newer.feed = 'source' and newer.mode = 'snapshot' and newer.source is not null
      and before.held_part_run_id is not null and not ${waitsFor('before', null)}
    on conflict do nothing`.execute(tx)
}

/** The exports that these connections may read again, because people of them wait in a held run. */
export async function versionsToReadAgain(db: Db, connections: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ version: string }>`
    select distinct runs.source ->> 'version' as version from runs join runs held on held.id = runs.held_part_run_id
    where runs.connection = any(${connections}) and runs.feed = 'source' and runs.source is not null and held.state = 'held'`.execute(
    db,
  )
  return new Set(rows.map(({ version }) => version))
}

/** The decided sources that were not archived yet. */
export async function sourcesToArchive(
  db: Db,
  connection: string,
): Promise<{ readonly source: RunSource; readonly outcome: SourceOutcome }[]> {
  const rows = await db
    .selectFrom('decided_sources')
    .select(['source', 'outcome'])
    .where('connection', '=', connection)
    .where('archived_at', 'is', null)
    .orderBy('decided_at')
    .execute()
  return rows.map(({ source, outcome }) => ({ source, outcome: outcome === 'accepted' ? 'accepted' : 'refused' }))
}

/**
 * The linked connections that have not read an export which was decided and is not archived yet. A run that delivers a stored plan does
 * not start runs of linked connections.
 */
export async function linkedConnectionsToRead(
  db: Db,
  { connection, linked }: { connection: string; linked: readonly string[] },
): Promise<readonly string[]> {
  const { rows } = await sql<{ connection: string }>`
    select linked.connection from unnest(${linked}::text[]) as linked(connection)
    where exists (
      select 1 from decided_sources taken
      join runs kept on kept.connection = taken.connection and kept.source ->> 'version' = taken.version
      where taken.connection = ${connection} and taken.archived_at is null
        and kept.feed = 'source' and kept.options ? 'plan'
        and not exists (
          select 1 from decided_sources own where own.connection = linked.connection and own.version = taken.version)
        and not exists (
          select 1 from runs later
          where later.connection = linked.connection and later.feed = 'source' and later.created_at > kept.created_at)
    )
    order by linked.connection`.execute(db)
  return rows.map((row) => row.connection)
}

type ArchivedSource = {
  readonly connection: string
  readonly version: string
  readonly now: Date
}

/** Records that a source was archived: moved or deleted as configured. */
export async function markArchived(db: Db, { connection, version, now }: ArchivedSource): Promise<void> {
  await db
    .updateTable('decided_sources')
    .set({ archived_at: now })
    .where('connection', '=', connection)
    .where('version', '=', version)
    .execute()
}
