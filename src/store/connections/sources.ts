import { sql } from 'kysely'
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
