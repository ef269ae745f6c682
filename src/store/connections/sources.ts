import { sql } from 'kysely'
import type { Db, RunSource } from '../schema.ts'

/** What the last accepted plan of a connection's source was made from. */
export type AcceptedSource = {
  readonly source: RunSource | null
  /** When the last accepted snapshot was true. */
  readonly asOf: string | null
  /** The mapped fields that it held. */
  readonly fields: readonly string[]
  readonly rows: number | null
  /** The keys at the end of the last accepted snapshot, in their order. */
  readonly end: readonly string[]
}

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

/** Which of these versions of a source were accepted, or refused by a person, before. */
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

/** How often it is written down that a source still lists what was decided about. */
const listedMs = 24 * 60 * 60_000

type ListedVersions = {
  readonly connections: readonly string[]
  readonly versions: readonly string[]
  readonly now: Date
}

/** Notes which versions the source of these connections lists, so that retention does not forget one that could be read again. */
export async function recordListed(db: Db, { connections, versions, now }: ListedVersions): Promise<void> {
  await db
    .updateTable('decided_sources')
    .set({ listed_at: now })
    .where('connection', 'in', connections)
    .where(sql<boolean>`version = any(${versions})`)
    .where(sql<boolean>`(listed_at is null or listed_at < ${new Date(now.getTime() - listedMs)})`)
    .execute()
}

/** What was decided about a source: its plan was accepted, or refused by a person. */
export type SourceOutcome = 'accepted' | 'refused'

type SourceDecision = {
  readonly connection: string
  readonly source: RunSource
  readonly outcome: SourceOutcome
  readonly now: Date
}

/** Notes that a source was read and decided about. A source that was accepted stays accepted. */
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

/** The sources that were decided about and not yet moved or deleted as configured. */
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
 * Of these linked connections, those that have not read an export that was decided about and not yet moved. The run that delivers a kept
 * plan starts no run of a linked connection.
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

export async function markArchived(db: Db, { connection, version, now }: ArchivedSource): Promise<void> {
  await db
    .updateTable('decided_sources')
    .set({ archived_at: now })
    .where('connection', '=', connection)
    .where('version', '=', version)
    .execute()
}
