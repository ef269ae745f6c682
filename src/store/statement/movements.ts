import { sql } from 'kysely'
import type { Movement, MovementKind } from '../../contract/control/statements.ts'
import type { Origin } from '../../identity/record.ts'
import type { Answer, Db } from '../schema.ts'
import { isForgottenKey, storedKeyDigest } from './key-digest.ts'
import { firstStatementFrom, type StoredStatement, statementAt } from './read.ts'
import { type RemovedStatement, removedStatements } from './removed.ts'

/** In SQL, whether a person belongs to the population: employed on the platform, and known from HR. */
const isCounted = sql`(on_platform is not distinct from 'employed' and part <> 'foreign')`

/** A period: from the last statement before it to its last statement. */
type Period = { readonly connection: string; readonly from: Date; readonly to: Date }

/** The population at both ends of a period, and everybody who came into it or left it. */
type PopulationChange = {
  /** The last statement before the period; the first one in it if that was removed. */
  readonly start: StoredStatement | null
  readonly end: StoredStatement | null
  readonly startKeys: readonly string[]
  readonly endKeys: readonly string[]
  readonly movements: readonly Movement[]
  readonly removed: readonly RemovedStatement[]
}

/**
 * Who was employed on the platform at the start and at the end of a period, and who came and left in between, each with the row, the run
 * and the answer of the platform behind it. The start and those who came are those at the end and those who left.
 */
export async function populationChange(db: Db, { connection, from, to }: Period): Promise<PopulationChange> {
  const removed = await removedStatements(db, { connection, from, to })
  const end = await statementAt(db, { connection, before: to })
  const isStartKept = !removed.some(({ at }) => at < from.toISOString())
  const start = isStartKept
    ? await statementAt(db, { connection, before: from })
    : ((await firstStatementFrom(db, { connection, from, to })) ?? end)
  const [after, until] = [start?.id ?? 0, end?.id ?? 0]
  return {
    removed,
    start,
    end,
    startKeys: await populationAt(db, { connection, statement: after }),
    endKeys: await populationAt(db, { connection, statement: until }),
    movements: await movementsBetween(db, { connection, after, until }),
  }
}

type StatementKey = { readonly connection: string; readonly statement: number }

async function populationAt(db: Db, { connection, statement }: StatementKey): Promise<readonly string[]> {
  const { rows } = await sql<{ key: string }>`
    select identity_id as key from accounted_people
    where connection = ${connection} and since <= ${statement} and (until is null or until > ${statement}) and ${isCounted}
    order by identity_id`.execute(db)
  return rows.map(({ key }) => key)
}

/** A key of an export with its digest; null: that of a person who was forgotten. */
export type ExportedKey = { readonly digest: string; readonly key: string | null }

/** The keys of the export that a statement rests on, by digest. The SHA-256 of the digests, each with a line end, is in the statement. */
export async function exportedKeys(db: Db, { connection, statement }: StatementKey): Promise<readonly ExportedKey[]> {
  const key = sql`identity_id`
  const { rows } = await sql<ExportedKey>`
    select * from (
      select ${storedKeyDigest({ connection, key })} as digest, case when ${isForgottenKey(key)} then null else identity_id end as key
      from accounted_people
      where connection = ${connection} and since <= ${statement} and (until is null or until > ${statement}) and exported) listed
    order by digest collate "C"`.execute(db)
  return rows
}

type MovementRow = {
  readonly identityId: string
  readonly entered: boolean
  readonly wasCounted: boolean
  readonly part: string | null
  readonly detail: string | null
  readonly madeAt: Date | null
  readonly runId: string | null
  readonly change: string | null
  readonly changeRunId: string | null
  readonly origin: Origin | null
  readonly isInferred: boolean | null
  readonly sourceName: string | null
  /** The operator who stated the departure. */
  readonly statedBy: string | null
  readonly answer: Answer | null
  readonly answeredAt: Date | null
}

type Range = { readonly connection: string; readonly after: number; readonly until: number }

/** The kinds of changes after which somebody may be in the population, and after which not. */
const [entering, leaving] = [
  ['join', 'return', 'correct', 'update'],
  ['leave', 'correct', 'retract', 'update'],
]
/** In SQL, whether a change is about employment, and not only about other fields. */
const movesPeople = sql`(changes.kind in ('join', 'return', 'leave', 'retract') or changes.fields -> 'separatedAt' is not null)`

/** In SQL, when the last statement was made before the person moved in the other direction; a change before it is about an older movement. */
const sinceLastMove = sql`coalesce((
  select max(before.made_at) from statements before
  where before.connection = runs.connection and before.id < (
    select max(earlier.until) from parts earlier
    where earlier.identity_id = moves.identity_id and earlier.counted = moves.entered and earlier.until <= moves.at)), '-infinity')`

async function movementsBetween(db: Db, { connection, after, until }: Range): Promise<readonly Movement[]> {
  const { rows } = await sql<MovementRow>`
    with parts as (select *, ${isCounted} as counted from accounted_people where connection = ${connection}),
    moves as (
      select current.identity_id, current.since as at, current.counted as entered, current.part, current.detail
      from parts current left join parts previous
        on previous.identity_id = current.identity_id and previous.until = current.since
      where current.since > ${after} and current.since <= ${until} and current.counted <> coalesce(previous.counted, false)
      union all
      select ended.identity_id, ended.until, false, null, null from parts ended
      where ended.until > ${after} and ended.until <= ${until} and ended.counted and not exists (
        select from parts next where next.identity_id = ended.identity_id and next.since = ended.until)
    )
    select moves.identity_id as "identityId", entered, part, detail, statements.made_at as "madeAt", statements.run_id as "runId",
      exists (select from parts earlier where earlier.identity_id = moves.identity_id and earlier.counted and earlier.since < moves.at)
        as "wasCounted",
      change.kind as change, change.run_id as "changeRunId", change.origin, change.inferred as "isInferred",
      change.source ->> 'name' as "sourceName", change.stated_by as "statedBy", change.answer, change.answered_at as "answeredAt"
    from moves left join statements on statements.id = moves.at left join lateral (
      select changes.kind, changes.run_id, changes.origin, changes.inferred, runs.source,
        (select stated_by from leavers where connection = ${connection} and identity_id = changes.identity_id and stated_by is not null
          and left(changes.separated_at, 10) in (
            select effective_on union all select day ->> 'on' from jsonb_array_elements(previous_dates) day)
          order by leavers.id desc limit 1) as stated_by,
        coalesce(changes.answer, deliveries.answer) as answer,
        coalesce(changes.answered_at, deliveries.answered_at) as answered_at
      from changes join runs on runs.id = changes.run_id left join deliveries using (run_id, batch)
      where runs.connection = ${connection} and changes.identity_id = moves.identity_id and changes.state in ('due', 'confirmed')
        and (changes.fields is null or ${movesPeople}) and coalesce(runs.finished_at, 'infinity') > ${sinceLastMove}
        and runs.state <> 'held' and runs.created_at <= coalesce(statements.made_at, 'infinity')
        and changes.kind = any(case when moves.entered then ${entering}::text[] else ${leaving}::text[] end)
      order by coalesce(${movesPeople}, false) desc, runs.created_at desc, runs.id limit 1) change on true
    order by moves.at, moves.identity_id`.execute(db)
  return rows.map((row) => ({
    identityId: row.identityId,
    kind: kindOf(row),
    entered: row.entered,
    at: row.madeAt?.toISOString() ?? null,
    statementRunId: row.runId,
    runId: row.changeRunId,
    evidence: evidenceOf(row),
    status: row.answer === null ? null : String(row.answer.status),
    answeredAt: row.answeredAt?.toISOString() ?? null,
  }))
}

function kindOf({ entered, wasCounted, part, detail, change }: MovementRow): MovementKind {
  if (entered) return wasCounted ? 'return' : 'join'
  if (change === 'retract' || detail === 'retracted') return 'retraction'
  return part === null || part === 'foreign' ? 'removal' : 'leave'
}

/** The row, event or operator that states a movement; for a departure by absence, the export that has no row. */
function evidenceOf({ origin, isInferred, sourceName, entered, statedBy }: MovementRow): string | null {
  if (origin === null) {
    if (!entered && !isInferred && statedBy !== null) return `stated by ${statedBy}`
    return isInferred && sourceName !== null ? `no row in ${sourceName}` : null
  }
  return 'file' in origin ? `${origin.file}, line ${origin.line}` : `event ${origin.event}`
}
