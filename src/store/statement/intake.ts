import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import { sql } from 'kysely'
import type { RowPart } from '../../contract/control/statements.ts'
import type { RunOfConnection } from '../keys.ts'
import type { Db } from '../schema.ts'

/** Why no row of a key is used; `retracted`: one is, and it has the person deleted. */
export type Treatment = Extract<RowPart, 'rejected' | 'outOfScope' | 'notAPerson' | 'ignored'> | 'retracted'

/** How many rows a plan treats in each way. */
export type RowCounts = Readonly<Record<RowPart, number>>

/** What an export held, counted independently of the plan, and how the plan treats its rows. */
export type Intake = {
  readonly rows: number
  /** Rows whose key is blank or cannot be read. */
  readonly keyless: number
  /** Different keys. */
  readonly keys: number
  /** Depends on the set of keys and not on their order. */
  readonly digest: string
  /** The keys, in any order. */
  listKeys(): readonly string[]
  readonly treatedRows: RowCounts
  readonly treatments: ReadonlyMap<string, Treatment>
}

/** The keys of an export as they wait for the acceptance of its plan. */
type StagedKeys = { readonly keys: readonly string[]; readonly treatments: Readonly<Record<string, Treatment>> }

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
/** Maximum number of keys per statement. */
const keysAtOnce = 20_000

type StoredIntake = RunOfConnection & { readonly intake: Intake }

/** Stores what the export of a run held. The keys are left out if they are those of the accepted export, treated in the same way. */
export async function storeIntake(tx: Db, { runId, connection, intake }: StoredIntake): Promise<void> {
  const { rows, keyless, keys, treatedRows, treatments } = intake
  const digest = digestOf(intake)
  const accepted = await acceptedDigest(tx, connection)
  const staged: StagedKeys | null =
    accepted === digest ? null : { keys: intake.listKeys(), treatments: Object.fromEntries(treatments) }
  const row = {
    counts: JSON.stringify({ rows, keyless, keys, treated: treatedRows }),
    digest,
    keys: staged && (await compress(JSON.stringify(staged))),
  }
  await tx
    .insertInto('intakes')
    .values({ run_id: runId, ...row })
    .onConflict((conflict) => conflict.column('run_id').doUpdateSet(row))
    .execute()
}

/** The digest of the keys with their treatments. */
function digestOf({ digest, treatments }: Intake): string {
  if (treatments.size === 0) return digest
  const named = [...treatments].map((entry) => JSON.stringify(entry)).sort()
  return `${digest}-${hash('sha256', named.join('\n')).slice(0, 32)}`
}

async function acceptedDigest(tx: Db, connection: string): Promise<string | null> {
  const row = await tx
    .selectFrom('stated_exports')
    .select('digest')
    .where('connection', '=', connection)
    .executeTakeFirst()
  return row?.digest ?? null
}

/**
 * Accepts the keys of a run's export as those that HR states: a snapshot replaces them, a delta adds to them. A snapshot that is older than
 * the newest accepted one changes nothing. Call it in the transaction that accepts the plan, before the plan is committed.
 */
export async function acceptIntake(tx: Db, { runId, connection }: RunOfConnection): Promise<void> {
  const run = await tx
    .selectFrom('intakes')
    .innerJoin('runs', 'runs.id', 'intakes.run_id')
    .innerJoin('connections', 'connections.name', 'runs.connection')
    .select(['intakes.digest', 'intakes.keys', 'runs.mode', 'runs.as_of', 'connections.accepted_as_of'])
    .where('intakes.run_id', '=', runId)
    .executeTakeFirst()
  if (!run?.as_of) return
  const { digest, keys, mode, as_of: asOf, accepted_as_of: acceptedAsOf } = run
  const isSnapshot = mode === 'snapshot'
  if (isSnapshot && acceptedAsOf !== null && acceptedAsOf > asOf) {
    await dropStagedKeys(tx, runId)
    return
  }
  if (keys !== null) await storeKeys(tx, { connection, keys, isSnapshot })
  const accepted = { run_id: runId, as_of: asOf, digest }
  await tx
    .insertInto('stated_exports')
    .values({ connection, ...accepted })
    .onConflict((conflict) =>
      conflict.column('connection').doUpdateSet({ ...accepted, ...(keys !== null && { list_digest: null }) }),
    )
    .execute()
  await dropStagedKeys(tx, runId)
}

/** Removes the keys of a plan that is accepted or dropped. The counts stay. */
export async function dropStagedKeys(tx: Db, runId: string): Promise<void> {
  await sql`update intakes set keys = null where run_id = ${runId} and keys is not null`.execute(tx)
}

type KeysOfExport = { readonly connection: string; readonly keys: Buffer; readonly isSnapshot: boolean }

async function storeKeys(tx: Db, { connection, keys: stored, isSnapshot }: KeysOfExport): Promise<void> {
  const { keys, treatments }: StagedKeys = JSON.parse((await decompress(stored)).toString('utf8'))
  if (isSnapshot)
    await sql`
      delete from stated_keys where connection = ${connection}
        and not exists (select from unnest(${keys}::text[]) given where given = stated_keys.identity_id)`.execute(tx)
  for (let start = 0; start < keys.length; start += keysAtOnce) {
    const portion = keys.slice(start, start + keysAtOnce)
    const why = portion.map((key) => (Object.hasOwn(treatments, key) ? (treatments[key] ?? null) : null))
    await sql`
      insert into stated_keys (connection, identity_id, treatment)
      select ${connection}, key, treatment from unnest(${portion}::text[], ${why}::text[]) given(key, treatment)
      on conflict (connection, identity_id) do update set treatment = excluded.treatment
        where stated_keys.treatment is distinct from excluded.treatment`.execute(tx)
  }
}
