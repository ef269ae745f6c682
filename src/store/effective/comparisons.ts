import { sql } from 'kysely'
import type { AcceptedList } from '../../identity/effective/accounts.ts'
import type { Db } from '../schema.ts'
import { storableJson } from './storable-json.ts'

/**
 * The comparison of everyone on one platform, or of all accounts of one directory, with HR. `requests` were sent to the platform;
 * `unreadable` counts rows of the list of accounts.
 */
type Comparison = {
  /** When the next comparison is due. */
  readonly nextAt: Date
  /** When the newest comparison that succeeded began. */
  readonly comparedAt: Date | null
  /** The time of what was compared: the platform's newest identity sync, or the time of the list of accounts. */
  readonly syncedAt: Date | null
  readonly requests: number
  readonly unreadable: number
  /** The last accepted list of accounts. */
  readonly list: AcceptedList | null
  /** Why the newest comparison failed; null if it succeeded. */
  readonly failure: string | null
}

/** The default length of a claim. Afterwards another process may claim the comparison. */
const defaultClaimMinutes = 15

/** A claimed comparison, with its number. */
export type ClaimedComparison = Comparison & { readonly number: number }

/** The name of the comparison of a directory. The name of a platform's comparison is its base URL. */
export function comparisonOfDirectory(directory: string): string {
  return `directory ${directory}`
}

type ComparisonClaim = {
  /** The name of the comparison. */
  readonly compared: string
  readonly always: boolean
  readonly now: Date
  /** Must be longer than the comparison may take. */
  readonly claimMinutes?: number
}

/** Claims a comparison if it is due, or at any time with `always`. Returns null while another process has it, or if it is not due. */
export async function claimComparison(
  db: Db,
  { compared, always, now, claimMinutes = defaultClaimMinutes }: ComparisonClaim,
): Promise<ClaimedComparison | null> {
  const { rows } = await sql<ClaimedComparison>`
    insert into effective_comparisons (compared, next_at, claimed_until, number)
    values (${compared}, ${now}, ${now}::timestamptz + ${claimMinutes} * interval '1 minute', 1)
    on conflict (compared) do update set claimed_until = excluded.claimed_until, number = effective_comparisons.number + 1
      where (effective_comparisons.claimed_until is null or effective_comparisons.claimed_until <= ${now})
        and (${always}::boolean or effective_comparisons.next_at <= ${now})
    returning next_at as "nextAt", compared_at as "comparedAt", synced_at as "syncedAt", requests, unreadable,
      list, failure, number`.execute(db)
  return rows[0] ?? null
}

/** How a comparison ended. Undefined members stay as they are. */
type ComparisonEnd = {
  readonly compared: string
  /** The number of the claim. */
  readonly number: number
  readonly nextAt: Date
  readonly comparedAt?: Date
  readonly syncedAt?: Date | null
  readonly requests?: number
  readonly unreadable?: number
  readonly list?: AcceptedList
  readonly failure: string | null
}

/** Makes a comparison due at this time if it is due later, as when its schedule was changed. */
export async function bringForward(
  db: Db,
  { compared, nextAt }: { readonly compared: string; readonly nextAt: Date },
): Promise<void> {
  await db
    .updateTable('effective_comparisons')
    .set({ next_at: nextAt })
    .where('compared', '=', compared)
    .where('next_at', '>', nextAt)
    .execute()
}

/** Whether the claim with this number is still the newest. If it is, no other process can claim the comparison until the transaction ends. */
export async function holdsClaim(
  tx: Db,
  { compared, number }: { readonly compared: string; readonly number: number },
): Promise<boolean> {
  const { rows } = await sql`
    select compared from effective_comparisons where compared = ${compared} and number = ${number} for update`.execute(
    tx,
  )
  return rows.length > 0
}

/** Ends a claim with the outcome and the time of the next comparison. Does nothing if another process has claimed the comparison since. */
export async function endComparison(
  db: Db,
  { compared, number, nextAt, comparedAt, syncedAt, requests, unreadable, list, failure }: ComparisonEnd,
): Promise<void> {
  await db
    .updateTable('effective_comparisons')
    .set({
      claimed_until: null,
      next_at: nextAt,
      // PostgreSQL stores no NUL, and a reason may quote a list.
      failure: failure?.replaceAll('\0', '\uFFFD') ?? null,
      failed_at: failure === null ? null : sql`coalesce(failed_at, now())`,
      ...(comparedAt !== undefined && { compared_at: comparedAt }),
      ...(syncedAt !== undefined && { synced_at: syncedAt }),
      ...(requests !== undefined && { requests }),
      ...(unreadable !== undefined && { unreadable }),
      ...(list !== undefined && { list: storableJson(list) }),
    })
    .where('compared', '=', compared)
    .where('number', '=', number)
    .execute()
}

/** The newest comparison; null if there was none. */
export async function findComparison(db: Db, compared: string): Promise<Comparison | null> {
  const row = await db
    .selectFrom('effective_comparisons')
    .selectAll()
    .where('compared', '=', compared)
    .executeTakeFirst()
  if (row === undefined) return null
  const { next_at: nextAt, compared_at: comparedAt, synced_at: syncedAt, requests, unreadable, list, failure } = row
  return { nextAt, comparedAt, syncedAt, requests, unreadable, list, failure }
}

/** The directories whose newest list was refused, and since when their comparisons fail. */
export async function refusedDirectories(
  db: Db,
  directories: readonly string[],
): Promise<{ readonly name: string; readonly failure: string; readonly since: Date }[]> {
  const byComparison = new Map(directories.map((name) => [comparisonOfDirectory(name), name]))
  if (byComparison.size === 0) return []
  const rows = await db
    .selectFrom('effective_comparisons')
    .select(['compared', 'failure', 'failed_at'])
    .where('compared', 'in', [...byComparison.keys()])
    .execute()
  return rows.flatMap(({ compared, failure, failed_at: since }) => {
    const name = byComparison.get(compared)
    return name === undefined || failure === null || since === null ? [] : [{ name, failure, since }]
  })
}

/**
 * Connections whose people were not compared with the platform since this time, although comparisons were tried. `since`: the last comparison,
 * or the first one that failed if there was none (`isNever`). A connection of records has a resource, and is never compared.
 */
export async function connectionsNotCompared(
  db: Db,
  { connections, since }: { readonly connections: readonly string[]; readonly since: Date },
): Promise<{ readonly name: string; readonly since: Date; readonly isNever: boolean }[]> {
  const { rows } = await sql<{ name: string; since: Date; isNever: boolean }>`
    select known.name, min(coalesce(coverage.at, newest.failed_at)) as since, coverage.at is null as "isNever"
    from unnest(${connections}::text[]) as known(name)
    join effective_comparisons as newest on not starts_with(newest.compared, ${comparisonOfDirectory('')})
    left join effective_coverage as coverage on coverage.connection = known.name
    where coalesce(coverage.at, newest.failed_at) <= ${since}
      and newest.next_at > coalesce(coverage.at, newest.failed_at) + interval '1 day'
      and (coverage.at is not null or exists (
        select from connections
        where connections.name = known.name and target_id is not null and target_resource is null))
    group by known.name, coverage.at
    order by known.name`.execute(db)
  return rows
}

/** How many people of a connection match HR's data on the platform, or how many accounts of a directory have no finding. */
export type Coverage = {
  readonly connection: string
  readonly people: number
  readonly effective: number
  readonly at: Date
}

/** Stores the coverage of connections. */
export async function storeCoverage(db: Db, coverage: readonly Coverage[]): Promise<void> {
  if (coverage.length === 0) return
  await db
    .insertInto('effective_coverage')
    .values([...coverage])
    .onConflict((conflict) =>
      conflict.column('connection').doUpdateSet(({ ref }) => ({
        people: ref('excluded.people'),
        effective: ref('excluded.effective'),
        at: ref('excluded.at'),
      })),
    )
    .execute()
}

/** The coverage of each connection that was compared. */
export async function listCoverage(db: Db): Promise<Coverage[]> {
  return await db.selectFrom('effective_coverage').selectAll().orderBy('connection').execute()
}
