import { type RawBuilder, sql } from 'kysely'
import {
  type PlatformPart,
  platformParts,
  rowParts,
  type StatedPart,
  type Statement,
  statedParts,
} from '../../contract/control/statements.ts'
import { recordAuditEntry, rollcall } from '../audit/trail.ts'
import type { RunOfConnection } from '../keys.ts'
import type { Db, RunSource } from '../schema.ts'
import {
  type Classification,
  classifiedPeople,
  type PopulationDigest,
  populationDigest,
  sendsEverybody,
} from './classify.ts'
import { keyDigest } from './key-digest.ts'

/** How many keys of unaccounted people a statement names. */
const keysNamed = 100
/** How long the next run may wait while its people count as on the way. */
const nextRunWithinHours = 24

type StatementInput = RunOfConnection & {
  /** Leavers are removed from the platform. */
  readonly removes: boolean
  /** Whoever is missing in a snapshot may have left. */
  readonly separatesAbsent: boolean
  readonly now: Date
}

/**
 * Makes the population statement of a connection after an accepted run, and records it in the audit trail. Call it in the transaction that
 * ends the run.
 */
export async function makeStatement(
  tx: Db,
  { runId, connection, removes, separatesAbsent, now }: StatementInput,
): Promise<Statement> {
  const basis = await readBasis(tx, { runId, connection, now })
  const classified: Classification = {
    ...{ connection, removes, now },
    acceptedAsOf: basis.accepted_as_of,
    // By other rules, the export may have said nothing of absent people.
    exportsAccepted: separatesAbsent && basis.hasRulesOfExport ? basis.exports_accepted : null,
    hasNextRun: basis.hasNextRun,
    hasNextDueRun: basis.hasNextDueRun,
    nextRunBlock: basis.hasWaitingRun ? basis.block : null,
    nextDueRunBlock: basis.hasWaitingDueRun ? basis.block : null,
  }
  const { lastContent, lastDigest } = basis
  const { digest, exported } = await readDigest(tx, classified)
  const made =
    lastContent !== null && lastDigest === digest
      ? { id: null, digest, exported, parts: partsOf(lastContent) }
      : await storePeople(tx, classified)
  const statement = summarize(made.parts, { basis, exported: made.exported, runId, connection, now })
  await insertStatement(tx, { statement, ...made })
  await recordStatement(tx, statement, now)
  return statement
}

async function readDigest(tx: Db, classified: Classification): Promise<PopulationDigest> {
  const { rows } = await sql<PopulationDigest>`select * from ${populationDigest(classified)} summed`.execute(tx)
  return rows[0] ?? { digest: '', exported: 0 }
}

/** People and records by part. */
type Parts = {
  readonly stated: Statement['stated']['parts']
  readonly platform: Statement['platform']['parts']
  /** People whom only an event or an operator stated. */
  readonly further: number
  readonly records: number
  readonly unaccounted: readonly string[]
}

function partsOf({ stated, platform, unaccounted }: Statement): Parts {
  const { parts, further } = stated
  return { stated: parts, platform: platform.parts, further, records: platform.records, unaccounted }
}

async function recordStatement(tx: Db, statement: Statement, now: Date): Promise<void> {
  const { connection, runId, stated, platform, rows, rules, addsUp, differences, unaccounted } = statement
  const { version, sha256, end, keys } = statement.export ?? {}
  const details = {
    ...{ addsUp, differences, exported: stated.exported, further: stated.further, stated: stated.parts },
    ...{
      records: platform.records,
      platform: platform.parts,
      rows: rows?.delivered,
      export: version,
      ...(sha256 != null && { sha256 }),
      end,
      keys,
      rules,
    },
    ...(unaccounted.length > 0 && { people: unaccounted }),
  }
  await recordAuditEntry(tx, { act: 'statement.made', connection, by: rollcall, runId, details, now })
}

type Basis = Awaited<ReturnType<typeof readBasis>>

/** What a statement rests on besides people: the run, the accepted export, and what was counted of it. */
async function readBasis(tx: Db, { runId, connection, now }: Pick<StatementInput, 'runId' | 'connection' | 'now'>) {
  const { rows } = await sql<{
    /** The last statement of the connection, and the digest of what its parts followed from; null if there is none. */
    lastContent: Statement | null
    lastDigest: string | null
    configuration: string | null
    accepted_as_of: Date | null
    exports_accepted: number
    hasNextRun: boolean
    hasNextDueRun: boolean
    /** Such runs wait, for however long. */
    hasWaitingRun: boolean
    hasWaitingDueRun: boolean
    /** Which run the platform blocks, and since when; null: none. */
    block: string | null
    /** False if the accepted export was read by another configuration than that of the run. */
    hasRulesOfExport: boolean
    exportRun: string | null
    as_of: Date | null
    list_digest: string | null
    installation: string | null
    source: RunSource | null
    mode: string | null
    counts: { rows: number; keyless: number; keys: number; treated: Record<string, number> } | null
  }>`
    select own.configuration, connections.accepted_as_of, connections.exports_accepted, exported.run_id as "exportRun", exported.as_of, exported.list_digest,
      (select id::text from installation) as installation, last.content as "lastContent", last.people_digest as "lastDigest",
      ${withoutWorkers},
      reading.source, reading.mode, intakes.counts, coalesce(reading.configuration = own.configuration, true) as "hasRulesOfExport",
      next_runs.*, blocked.block
    from runs own join connections on connections.name = own.connection
      left join stated_exports exported on exported.connection = own.connection
      left join runs reading on reading.id = exported.run_id
      left join intakes on intakes.run_id = exported.run_id
      left join lateral (
        select content, people_digest from statements where statements.connection = own.connection order by id desc limit 1) last on true
      cross join lateral (${nextRunsOf(now)}) next_runs
      left join lateral (
        select 'run ' || id || ' is blocked since ' || to_char(connections.blocked_at at time zone 'UTC', 'YYYY-MM-DD') as block
        from runs blocked where blocked.connection = own.connection and blocked.state = 'delivering' and connections.blocked_at is not null
        limit 1) blocked on true
    where own.id = ${runId}`.execute(tx)
  const [basis] = rows
  if (!basis) throw new Error(`run ${runId} does not exist`)
  const isSummed = basis.as_of === null || basis.list_digest !== null
  return isSummed ? basis : { ...basis, list_digest: await sumUpKeys(tx, connection) }
}

/** In SQL, which runs of the connection of the run `own` are about to plan, and which wait: whatever differs, and the days that have come. */
function nextRunsOf(now: Date): RawBuilder<unknown> {
  const isSoon = sql`next.created_at > ${now}::timestamptz - make_interval(hours => ${sql.lit(nextRunWithinHours)})`
  const any = (condition: RawBuilder<unknown>) => sql`coalesce(bool_or(${condition}), false)`
  return sql`
    select ${any(isSoon)} as "hasNextRun", ${any(sql`${isSoon} and next.feed <> 'webhook'`)} as "hasNextDueRun",
      ${any(sql`next.state = 'waiting'`)} as "hasWaitingRun", ${any(sql`next.state = 'waiting' and next.feed <> 'webhook'`)} as "hasWaitingDueRun"
    from runs next
    where next.connection = own.connection and next.state in ('waiting', 'reading', 'planned') and next.id <> own.id
      and ${sendsEverybody(sql.ref('next.feed'))}`
}

// Parallel workers take longer to start than they save here, and take processors from other runs.
const withoutWorkers = sql`set_config('max_parallel_workers_per_gather', '0', true)`

/** Sums up the stated keys, which have changed since the last statement. */
async function sumUpKeys(tx: Db, connection: string): Promise<string | null> {
  const { rows } = await sql<{ list_digest: string | null }>`
    update stated_exports set list_digest = (
      select encode(sha256(convert_to(coalesce(string_agg(digest || E'\n', '' order by digest collate "C"), ''), 'UTF8')), 'hex')
      from (
        select ${keyDigest({ connection, key: sql`identity_id` })} as digest from stated_keys
        where stated_keys.connection = ${connection}) listed)
    where connection = ${connection} returning list_digest`.execute(tx)
  return rows[0]?.list_digest ?? null
}

/** In SQL, the number of records that the platform has, without a look at anybody's part. */
function countRecords({ connection, removes, now }: Classification): RawBuilder<number> {
  const isRemoved = sql`(${removes}::boolean and coalesce(desired ->> 'separatedAt' collate "C" <= ${now.toISOString()}, false))`
  const wasRemoved = sql`(${removes}::boolean and coalesce(confirmed ->> 'separatedAt' collate "C" <= ${now.toISOString()}, false))`
  return sql<number>`(
    (select count(*) from roster where connection = ${connection} and desired is not null and not ${isRemoved})
    - (select count(*) from out_of_sync join roster using (connection, identity_id)
        where connection = ${connection} and desired is not null and not ${isRemoved})
    + (select count(*) from out_of_sync where connection = ${connection} and jsonb_typeof(confirmed) = 'object' and not ${wasRemoved})
    + (select count(*) from foreign_people listed
        left join roster using (connection, identity_id)
        left join out_of_sync using (connection, identity_id)
        where connection = ${connection} and case when out_of_sync.identity_id is null then desired else confirmed end is null)
  )::int`
}

/** In SQL, the number of people whom only an event or an operator has stated since the export, without a look at anybody's part. */
function countFurther({ connection, acceptedAsOf }: Classification): RawBuilder<number> {
  const isNewer = sql`(${acceptedAsOf}::timestamptz is null or date_trunc('milliseconds', as_of) > ${acceptedAsOf})`
  return sql<number>`(
    select count(*) from roster where connection = ${connection} and desired is not null and retracted_at is null and ${isNewer}
      and identity_id not in (select identity_id from stated_keys where connection = ${connection}))::int`
}

type Summary = RunOfConnection & { readonly basis: Basis; readonly exported: number; readonly now: Date }

function summarize(parts: Parts, { basis, exported: known, runId, connection, now }: Summary): Statement {
  const { counts, source, as_of: asOf, mode } = basis
  // A delta adds to what earlier ones stated, so only the store knows how many keys there are.
  const exported = mode === 'snapshot' && counts !== null ? counts.keys : known
  const rows = counts && {
    delivered: counts.rows,
    announced: source?.records ?? null,
    keyless: counts.keyless,
    parts: countsOf(rowParts, counts.treated),
  }
  const statement = {
    ...{ connection, runId, madeAt: now.toISOString(), rules: basis.configuration },
    export: asOf && {
      ...{ runId: basis.exportRun, name: source?.name ?? null, version: source?.version ?? null },
      ...{
        sha256: source?.sha256 ?? null,
        bytes: source?.bytes ?? null,
        asOf: asOf.toISOString(),
        end: source?.end ?? null,
        keys: basis.list_digest ?? '',
        installation: basis.installation ?? '',
      },
    },
    rows,
    stated: { exported, further: parts.further, parts: parts.stated },
    platform: { records: parts.records, parts: parts.platform },
  }
  const differences = differencesOf(statement)
  return { ...statement, addsUp: differences.length === 0, differences, unaccounted: [...parts.unaccounted] }
}

type StatementCounts = Pick<Statement, 'rows' | 'stated' | 'platform'>

/** What does not add up, a sentence each. */
function differencesOf({ rows, stated, platform }: StatementCounts): string[] {
  const unaccounted = stated.parts.unaccounted + platform.parts.unaccounted
  const known = total(stated.parts)
  const treated = rows === null ? 0 : total(rows.parts)
  return [
    ...(rows !== null && rows.announced !== null && rows.announced !== rows.delivered
      ? [`the source has ${rows.announced} rows, and ${rows.delivered} of them were delivered`]
      : []),
    ...(rows !== null && rows.delivered !== treated
      ? [`${rows.delivered} rows were delivered, and ${treated} of them were planned with`]
      : []),
    ...(stated.exported + stated.further === known
      ? []
      : [`HR states ${stated.exported + stated.further} people, and ${known} of them are known here`]),
    ...(platform.records === total(platform.parts)
      ? []
      : [`the platform has ${platform.records} records, and ${total(platform.parts)} of them are accounted for`]),
    ...(unaccounted === 0 ? [] : [`people unaccounted for: ${unaccounted}`]),
  ]
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function countsOf<T extends Readonly<Record<string, string>>>(
  parts: T,
  counts: Readonly<Record<string, number>>,
): Record<keyof T, number> {
  return Object.fromEntries(Object.keys(parts).map((name) => [name, counts[name] ?? 0])) as Record<keyof T, number>
}

type MadeStatement = {
  readonly statement: Statement
  /** The number under which its people were stored; null: nobody has moved. */
  readonly id: string | null
  readonly digest: string
}

async function insertStatement(tx: Db, { statement, id, digest }: MadeStatement): Promise<void> {
  const { connection, runId, madeAt, addsUp } = statement
  await sql`
    insert into statements (id, connection, run_id, made_at, adds_up, content, people_digest) overriding system value
    values (coalesce(${id}::bigint, ${nextId}), ${connection}, ${runId}, ${new Date(madeAt)}, ${addsUp}, ${JSON.stringify(statement)}, ${digest})`.execute(
    tx,
  )
}

const nextId = sql`nextval(pg_get_serial_sequence('statements', 'id'))`

type StoredPeople = PopulationDigest & { readonly id: string; readonly parts: Parts }

/**
 * Stores the people whose part has changed since the last statement, and counts everybody. This is one SQL statement, so that all of it is
 * about one moment: operators and verifications change people meanwhile.
 */
async function storePeople(tx: Db, classified: Classification): Promise<StoredPeople> {
  const { connection } = classified
  const isSame = sql`known.identity_id = people.identity_id and known.stated = people.stated and known.exported = people.exported and known.part = people.part
    and known.on_platform is not distinct from people.on_platform and known.detail is not distinct from people.detail`
  const isUnaccounted = sql`part = ${'unaccounted' satisfies StatedPart & PlatformPart}`
  const { rows } = await sql<PopulationDigest & StoredCounts>`
    with people as materialized (select * from ${classifiedPeople(classified)} classified),
    known as materialized (select * from accounted_people where connection = ${connection} and until is null),
    same as materialized (select people.identity_id from people join known on ${isSame}),
    statement as materialized (select ${nextId} as id),
    ended as (
      update accounted_people set until = statement.id from statement
      where connection = ${connection} and until is null
        and not exists (select from same where same.identity_id = accounted_people.identity_id)
    ), begun as (
      insert into accounted_people (connection, identity_id, stated, exported, part, on_platform, detail, since)
      select ${connection}, identity_id, stated, exported, part, on_platform, detail, statement.id from people, statement
      where not exists (select from same where same.identity_id = people.identity_id)
    )
    select summed.digest, summed.exported, statement.id::text as id,
      (select json_agg(counted) from (
        select stated, part, count(*)::int as people, count(on_platform)::int as records from people group by stated, part) counted) as counts,
      ${countFurther(classified)} as further, ${countRecords(classified)} as records,
      (select coalesce(json_agg(identity_id order by identity_id), '[]') from (
        select identity_id from people where ${isUnaccounted} order by identity_id limit ${keysNamed}) first) as unaccounted
    from statement, ${populationDigest(classified)} summed`.execute(tx)
  const [row] = rows
  if (!row) throw new Error('the population was not counted')
  const { id, digest, exported, ...counts } = row
  return { id, digest, exported, parts: countedParts(counts) }
}

type StoredCounts = Pick<Parts, 'further' | 'records' | 'unaccounted'> & {
  readonly id: string
  readonly counts: readonly PartCount[] | null
}

type PartCount = { readonly stated: boolean; readonly part: string; readonly people: number; readonly records: number }

function countedParts({ counts, ...others }: Omit<StoredCounts, 'id'>): Parts {
  const stated = (counts ?? []).filter((row) => row.stated)
  const absent = (counts ?? []).filter((row) => !row.stated)
  return {
    ...others,
    stated: countsOf(statedParts, Object.fromEntries(stated.map(({ part, people }) => [part, people]))),
    platform: countsOf(platformParts, {
      ...Object.fromEntries(absent.map(({ part, records }) => [part, records])),
      stated: stated.reduce((sum, { records }) => sum + records, 0),
    }),
  }
}
