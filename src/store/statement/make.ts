import { sql } from 'kysely'
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
import type { Db } from '../schema.ts'
import { type Classification, classifiedPeople } from './classify.ts'

/** How many keys of unaccounted people a statement names. */
const keysNamed = 100

type StatementInput = RunOfConnection & {
  /** Leavers are removed from the platform. */
  readonly removes: boolean
  readonly now: Date
}

/**
 * Makes the population statement of a connection after an accepted run, and records it in the audit trail. Call it in the transaction that
 * ends the run.
 */
export async function makeStatement(tx: Db, { runId, connection, removes, now }: StatementInput): Promise<Statement> {
  const basis = await readBasis(tx, { runId, connection })
  const classified: Classification = {
    ...{ connection, removes, now },
    acceptedAsOf: basis.accepted_as_of,
    hasNextRun: basis.hasNextRun,
  }
  const tally = await tallyParts(tx, classified)
  const statement = summarize(tally, { basis, runId, connection, now, records: await countRecords(tx, classified) })
  const unaccounted = statement.addsUp ? [] : await unaccountedKeys(tx, classified)
  const complete = { ...statement, unaccounted }
  await storeStatement(tx, classified, { statement: complete, digest: tally.digest })
  const { stated, platform, addsUp, differences } = complete
  const keys = complete.export?.keys
  const details = {
    ...{ addsUp, exported: stated.exported, further: stated.further, stated: stated.parts },
    ...{ records: platform.records, platform: platform.parts, rows: complete.rows?.delivered, keys },
    ...{ export: complete.export?.version, end: complete.export?.end, rules: complete.rules, people: unaccounted },
    differences,
  }
  await recordAuditEntry(tx, { act: 'statement.made', connection, by: rollcall, runId, details, now })
  return complete
}

type Basis = Awaited<ReturnType<typeof readBasis>>

/** What a statement rests on besides people: the run, the accepted export, and what was counted of it. */
async function readBasis(tx: Db, { runId, connection }: RunOfConnection) {
  await fillListDigest(tx, connection)
  const { rows } = await sql<{
    configuration: string | null
    accepted_as_of: Date | null
    hasNextRun: boolean
    exportRun: string | null
    as_of: Date | null
    list_digest: string | null
    source: { name: string; version: string; bytes: number; end?: string; records?: number } | null
    mode: string | null
    counts: { rows: number; keyless: number; keys: number; treated: Record<string, number> } | null
  }>`
    select own.configuration, connections.accepted_as_of, exported.run_id as "exportRun", exported.as_of, exported.list_digest,
      reading.source, reading.mode, intakes.counts,
      exists (select from runs next where next.connection = own.connection and next.state in ('waiting', 'reading', 'planned')
        and next.id <> own.id) as "hasNextRun"
    from runs own join connections on connections.name = own.connection
      left join stated_exports exported on exported.connection = own.connection
      left join runs reading on reading.id = exported.run_id
      left join intakes on intakes.run_id = exported.run_id
    where own.id = ${runId}`.execute(tx)
  const [basis] = rows
  if (!basis) throw new Error(`run ${runId} does not exist`)
  return basis
}

/** Computes the digest of the stated keys, if they have changed since the last statement. */
async function fillListDigest(tx: Db, connection: string): Promise<void> {
  await sql`
    update stated_exports set list_digest = (
      select encode(sha256(convert_to(coalesce(string_agg(identity_id || E'\n', '' order by identity_id), ''), 'UTF8')), 'hex')
      from stated_keys where stated_keys.connection = ${connection})
    where connection = ${connection} and list_digest is null`.execute(tx)
}

type Tally = {
  readonly stated: Readonly<Record<string, number>>
  readonly platform: Readonly<Record<string, number>>
  readonly further: number
  /** Depends on everybody's part, and not on their order. */
  readonly digest: string
}

/** Counts everybody by part, in one pass. */
async function tallyParts(tx: Db, classified: Classification): Promise<Tally> {
  const { connection } = classified
  const { rows } = await sql<{ stated: boolean; part: string; people: number; records: number; digest: string }>`
    select stated, part, count(*)::int as people, count(on_platform)::int as records,
      bit_xor(hashtextextended(concat_ws(E'\n', identity_id, part, on_platform, detail), 0))::text as digest
    from ${classifiedPeople(classified)} classified group by stated, part order by stated, part`.execute(tx)
  const { rows: exported } = await sql<{ keys: number }>`
    select count(*)::int as keys from stated_keys where connection = ${connection}`.execute(tx)
  const stated = rows.filter((row) => row.stated)
  const total = stated.reduce((sum, { people }) => sum + people, 0)
  return {
    stated: Object.fromEntries(stated.map((row) => [row.part, row.people])),
    platform: {
      ...Object.fromEntries(rows.filter((row) => !row.stated).map((row) => [row.part, row.records])),
      stated: stated.reduce((sum, { records }) => sum + records, 0),
    },
    further: total - (exported[0]?.keys ?? 0),
    digest: rows.map(({ stated: is, part, digest }) => `${is ? 'stated' : 'platform'} ${part} ${digest}`).join('\n'),
  }
}

/** Counts the records that the platform has, without a look at anybody's part. */
async function countRecords(tx: Db, { connection, removes, now }: Classification): Promise<number> {
  const isRemoved = sql`(${removes}::boolean and coalesce(desired ->> 'separatedAt' collate "C" <= ${now.toISOString()}, false))`
  const wasRemoved = sql`(${removes}::boolean and coalesce(confirmed ->> 'separatedAt' collate "C" <= ${now.toISOString()}, false))`
  const { rows } = await sql<{ records: number }>`
    select (
      (select count(*) from roster where connection = ${connection} and desired is not null and not ${isRemoved})
      - (select count(*) from out_of_sync join roster using (connection, identity_id)
          where connection = ${connection} and desired is not null and not ${isRemoved})
      + (select count(*) from out_of_sync where connection = ${connection} and jsonb_typeof(confirmed) = 'object' and not ${wasRemoved})
      + (select count(*) from foreign_people listed
          left join roster using (connection, identity_id)
          left join out_of_sync using (connection, identity_id)
          where connection = ${connection} and case when out_of_sync.identity_id is null then desired else confirmed end is null)
    )::int as records`.execute(tx)
  return rows[0]?.records ?? 0
}

type Summary = RunOfConnection & { readonly basis: Basis; readonly now: Date; readonly records: number }

function summarize(tally: Tally, { basis, runId, connection, now, records }: Summary): Statement {
  const { counts, source, as_of: asOf, mode } = basis
  const stated = countsOf(statedParts, tally.stated)
  const platform = countsOf(platformParts, tally.platform)
  // A delta adds to what earlier ones stated, so only the store knows how many keys there are.
  const isCounted = mode === 'snapshot' && counts !== null
  const exported = isCounted ? counts.keys : sum(stated) - tally.further
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
        bytes: source?.bytes ?? null,
        asOf: asOf.toISOString(),
        end: source?.end ?? null,
        keys: basis.list_digest ?? '',
      },
    },
    ...{ rows, stated: { exported, further: tally.further, parts: stated }, platform: { records, parts: platform } },
  }
  const differences = differencesOf(statement)
  return { ...statement, addsUp: differences.length === 0, differences, unaccounted: [] }
}

type Counted = Pick<Statement, 'rows' | 'stated' | 'platform'>

/** What does not add up, a sentence each. */
export function differencesOf({ rows, stated, platform }: Counted): string[] {
  const unaccounted = stated.parts.unaccounted + platform.parts.unaccounted
  const known = sum(stated.parts)
  const treated = rows === null ? 0 : sum(rows.parts)
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
    ...(platform.records === sum(platform.parts)
      ? []
      : [`the platform has ${platform.records} records, and ${sum(platform.parts)} of them are accounted for`]),
    ...(unaccounted === 0 ? [] : [`people unaccounted for: ${unaccounted}`]),
  ]
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

function countsOf<T extends Readonly<Record<string, string>>>(
  parts: T,
  counts: Readonly<Record<string, number>>,
): Record<keyof T, number> {
  return Object.fromEntries(Object.keys(parts).map((name) => [name, counts[name] ?? 0])) as Record<keyof T, number>
}

async function unaccountedKeys(tx: Db, classified: Classification): Promise<string[]> {
  const isUnaccounted = sql`part = ${'unaccounted' satisfies StatedPart & PlatformPart}`
  const { rows } = await sql<{ key: string }>`
    select identity_id as key from ${classifiedPeople(classified)} classified where ${isUnaccounted}
    order by identity_id limit ${keysNamed}`.execute(tx)
  return rows.map(({ key }) => key)
}

type MadeStatement = { readonly statement: Statement; readonly digest: string }

/** Stores a statement, and the people whose part has changed since the last one. */
async function storeStatement(tx: Db, classified: Classification, { statement, digest }: MadeStatement): Promise<void> {
  const { connection, runId, addsUp } = statement
  const { rows: before } = await sql<{ digest: string }>`
    select people_digest as digest from statements where connection = ${connection} order by id desc limit 1`.execute(
    tx,
  )
  const { rows } = await sql<{ id: string }>`
    insert into statements (connection, run_id, made_at, adds_up, content, people_digest)
    values (${connection}, ${runId}, ${statement.madeAt}, ${addsUp}, ${JSON.stringify(statement)}, ${digest})
    returning id::text`.execute(tx)
  const [made] = rows
  if (!made || before[0]?.digest === digest) return
  const isSame = sql`known.identity_id = people.identity_id and known.stated = people.stated and known.part = people.part
    and known.on_platform is not distinct from people.on_platform and known.detail is not distinct from people.detail`
  await sql`
    with people as materialized (select * from ${classifiedPeople(classified)} classified),
    known as materialized (select * from accounted_people where connection = ${connection} and until is null),
    ended as (
      update accounted_people set until = ${made.id}
      where connection = ${connection} and until is null and not exists (
        select from people join known on ${isSame} where known.identity_id = accounted_people.identity_id)
    )
    insert into accounted_people (connection, identity_id, stated, part, on_platform, detail, since)
    select ${connection}, identity_id, stated, part, on_platform, detail, ${made.id} from people
    where not exists (select from known where ${isSame})`.execute(tx)
}
