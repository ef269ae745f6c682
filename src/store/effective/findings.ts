import { sql } from 'kysely'
import type { EffectiveCause, EffectiveFinding, Evidence } from '../../identity/effective/cause.ts'
import { desiredName } from '../roster/names.ts'
import type { Db } from '../schema.ts'
import { comparisonOfDirectory } from './comparisons.ts'
import { storableJson } from './storable-json.ts'

/**
 * A finding and whom it is about. `connection`: the connection, or the directory that was compared. `identityId` null: no connection states
 * the person. `subject`: names an account of nobody.
 */
export type NewFinding = EffectiveFinding & {
  readonly connection: string
  readonly personConnection?: string
  readonly identityId: string | null
  readonly subject?: string
}

/** A stored finding. `name`: as HR states it. */
export type StoredFinding = {
  readonly connection: string
  /** The connection that states the person. */
  readonly personConnection: string
  readonly subject: string
  readonly identityId: string | null
  readonly personId: number | null
  readonly name: string | null
  readonly cause: EffectiveCause
  readonly evidence: Evidence
  readonly canReset: boolean
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
}

/** A comparison: its number, and when it began. */
type ComparisonTime = { readonly comparison: number; readonly at: Date }

/** Stores findings of one comparison. A known one keeps the time when it was first seen. */
export async function storeFindings(
  db: Db,
  findings: readonly NewFinding[],
  { comparison, at }: ComparisonTime,
): Promise<void> {
  if (findings.length === 0) return
  const rows = findings.map((each) => ({
    ...each,
    personConnection: each.personConnection ?? each.connection,
    subject: subjectOf(each),
  }))
  const single = new Map(
    rows.map((row) => [[row.connection, row.personConnection, row.subject, row.cause].join('\0'), row]),
  )
  const stored = storableJson([...single.values()])
  await sql`
    insert into effective_findings
      (connection, person_connection, subject, identity_id, person_id, cause, evidence, can_reset, first_seen_at, last_seen_at,
        seen_in)
    select connection, "personConnection", subject, "identityId", "personId", cause, evidence, "canReset", ${at}, ${at},
      ${comparison}::integer
    from jsonb_to_recordset(${stored}::jsonb) as found(connection text, "personConnection" text,
      subject text, "identityId" text, "personId" bigint, cause text, evidence jsonb, "canReset" boolean)
    on conflict (connection, person_connection, subject, cause) do update set identity_id = excluded.identity_id,
      person_id = excluded.person_id, evidence = excluded.evidence, can_reset = excluded.can_reset,
      last_seen_at = excluded.last_seen_at, seen_in = excluded.seen_in`.execute(db)
}

function subjectOf({ identityId, personId, subject }: NewFinding): string {
  return subject ?? identityId ?? `person ${personId}`
}

/** Removes the findings of these connections that a comparison has not seen. */
export async function removeResolved(
  db: Db,
  { connections, comparison }: { readonly connections: readonly string[]; readonly comparison: number },
): Promise<void> {
  await sql`
    delete from effective_findings where connection = any(${connections}) and seen_in <> ${comparison}`.execute(db)
}

/** Removes what is stored of connections and directories that the configuration no longer has. */
export async function removeOfOthers(db: Db, known: readonly string[]): Promise<void> {
  await sql`delete from effective_findings where connection <> all(${known})`.execute(db)
  await sql`delete from effective_coverage where connection <> all(${known})`.execute(db)
  const compared = known.map(comparisonOfDirectory)
  await sql`
    delete from effective_comparisons where starts_with(compared, ${comparisonOfDirectory('')}) and compared <> all(${compared})`.execute(
    db,
  )
}

/** A place in the list of findings. */
export type FindingPosition = Pick<StoredFinding, 'connection' | 'personConnection' | 'subject' | 'cause'>

type FindingFilter = {
  readonly connections: readonly string[]
  readonly keys?: readonly string[]
  readonly cause?: EffectiveCause
  readonly after?: FindingPosition
  readonly limit: number
}

/** Lists findings by connection and person. `keys`: only those about these keys, or these numbers of people on the platform. */
export async function listFindings(
  db: Db,
  { connections, keys, cause, after, limit }: FindingFilter,
): Promise<StoredFinding[]> {
  const { connection = '', subject = '', cause: afterCause = '', personConnection = '' } = after ?? {}
  const { rows } = await sql<StoredFinding>`
    select finding.connection, person_connection as "personConnection", subject, finding.identity_id as "identityId", person_id as "personId", cause, evidence,
      can_reset as "canReset", first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", ${desiredName()} as name
    from effective_findings as finding
    left join roster on roster.connection = person_connection and roster.identity_id = finding.identity_id
    where finding.connection = any(${connections})
      and ${keys === undefined ? sql`true` : sql`subject = any(${keys})`}
      and ${cause === undefined ? sql`true` : sql`cause = ${cause}`}
      and (finding.connection collate "C", subject, cause collate "C", person_connection collate "C")
        > (${connection}, ${subject}, ${afterCause}, ${personConnection})
    order by finding.connection collate "C", subject, cause collate "C", person_connection collate "C" limit ${limit}`.execute(
    db,
  )
  return rows
}

/** The findings of a connection of one cause; of leavers, their enabled accounts. */
type FindingCount = { readonly connection: string; readonly cause: EffectiveCause; readonly count: number }

const accountsOfFinding = sql`coalesce((evidence ->> 'accounts')::int, 1)`

/** Counts findings by connection and cause. */
export async function countFindings(db: Db): Promise<FindingCount[]> {
  const { rows } = await sql<FindingCount>`
    select connection, cause, sum(${accountsOfFinding})::int as count from effective_findings
    group by connection, cause order by connection, cause`.execute(db)
  return rows
}

/** The people of a connection, or the accounts of a directory, that an alert is about. */
type AlertedFindings = { readonly name: string; readonly count: number; readonly since: Date }

/** The platform's identity sync runs once a night; a day of grace follows before a wait for it, or for HR, is alerted. */
const graceHours = 48

/**
 * The connections with more findings than the threshold. A wait for the next identity sync, or to be looked up, counts after two days. A paused
 * sync of somebody who is shown right does not count.
 */
export async function alertedFindings(
  db: Db,
  { connections, above, now }: { readonly connections: readonly string[]; readonly above: number; readonly now: Date },
): Promise<AlertedFindings[]> {
  const { rows } = await sql<AlertedFindings>`
    select connection as name, count(distinct subject)::int as count, min(first_seen_at) as since
    from effective_findings
    where connection = any(${connections})
      and not (cause = 'sync_paused' and replace(evidence ->> 'shown', 'SPECIAL_', '') = evidence ->> 'expected')
      and (cause not in ('not_synced', 'not_looked_up') or first_seen_at <= ${now}::timestamptz - ${graceHours} * interval '1 hour')
    group by connection having count(distinct subject) > ${above}`.execute(db)
  return rows
}

/**
 * The directories with more enabled accounts of leavers, or of people whom HR does not know, than the threshold. An account
 * for which HR has a row that is not accepted yet is counted only after two days.
 */
export async function alertedAccounts(
  db: Db,
  { directories, above, now }: { readonly directories: readonly string[]; readonly above: number; readonly now: Date },
): Promise<AlertedFindings[]> {
  const { rows } = await sql<AlertedFindings>`
    select connection as name, sum(${accountsOfFinding})::int as count, min(first_seen_at) as since from effective_findings
    where connection = any(${directories}) and cause in ('account_of_leaver', 'account_unknown')
      and (evidence ->> 'note' is distinct from 'row_waits'
        or first_seen_at <= ${now}::timestamptz - ${graceHours} * interval '1 hour')
    group by connection having sum(${accountsOfFinding}) > ${above}`.execute(db)
  return rows
}
