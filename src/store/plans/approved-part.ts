import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { ChangeKind, PlanCounts, Verdict } from '../../identity/change.ts'
import { verdictsAfterPart } from '../../identity/guards/after-part.ts'
import { noPeople, type PeopleCounts } from '../../identity/guards/facts.ts'
import { openCandidates } from '../key-answers.ts'
import { heldReason } from '../runs/held-runs.ts'
import type { Db } from '../schema.ts'
import { type KindCounts, kindCounts, recordCounts } from './part-counts.ts'
import { stagedDigest } from './plans.ts'

/** Which changes of a held plan an approver splits off: those that fit every list that is given. */
export type PartSelection = {
  readonly kinds?: readonly ChangeKind[]
  /** Null: people without a group. */
  readonly groups?: readonly (string | null)[]
  /** Keys. */
  readonly people?: readonly string[]
}

/** In SQL, whether a change is in the part. */
export function isInPart({ kinds, groups, people }: PartSelection): RawBuilder<boolean> {
  const named = groups?.filter((group) => group !== null)
  const ofGroup = named && sql`(changes.group_value is not null and changes.group_value = any(${named}::text[]))`
  const withoutGroup = groups?.includes(null) ? sql`changes.group_value is null` : null
  const conditions = [
    ...(kinds ? [sql`changes.kind = any(${kinds}::text[])`] : []),
    ...(ofGroup ? [withoutGroup ? sql`(${ofGroup} or ${withoutGroup})` : ofGroup] : []),
    ...(people ? [sql`changes.identity_id = any(${people}::text[])`] : []),
  ]
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** What a selection names and the plan does not have. */
type UnknownInPlan = {
  readonly kinds: readonly ChangeKind[]
  readonly groups: readonly (string | null)[]
  readonly people: readonly string[]
}

/** Finds what a selection names and a plan does not have. */
export async function unknownInPlan(db: Db, runId: string, selection: PartSelection): Promise<UnknownInPlan> {
  const { kinds = [], groups = [], people = [] } = selection
  const { rows } = await sql<UnknownInPlan>`
    select
      array(select name from unnest(${kinds}::text[]) name
        where not exists (select from changes where run_id = ${runId} and kind = name)) as kinds,
      array(select name from unnest(${groups}::text[]) name
        where not exists (select from changes where run_id = ${runId} and group_value is not distinct from name)) as groups,
      array(select name from unnest(${people}::text[]) name
        where not exists (select from changes where run_id = ${runId} and identity_id = name)) as people`.execute(db)
  return rows[0] ?? { kinds: [], groups: [], people: [] }
}

/** A part of a held plan, before it is split off. */
export type PlanPart = {
  /** Names the part: a digest of its changes. */
  readonly digest: string
  readonly counts: KindCounts
  /** Its changes, also those that send a person again without a difference. */
  readonly people: number
  /** The changes of the plan, those of the part included. */
  readonly peopleOfPlan: number
  /** What stays held. */
  readonly remaining: KindCounts
}

/** Reads what a part of a held plan would be. */
export async function readPart(db: Db, runId: string, selection: PartSelection): Promise<PlanPart> {
  const only = isInPart(selection)
  const { people, peopleOfPlan } = await countPeople(db, runId, only)
  return {
    digest: await stagedDigest(db, runId, { only }),
    counts: await kindCounts(db, runId, only),
    people,
    peopleOfPlan,
    remaining: await kindCounts(db, runId, sql<boolean>`not ${only}`),
  }
}

type GroupQuery = { readonly runId: string; readonly search?: string | undefined; readonly limit: number }

/** A group of the people in a plan; null: those without a group. */
type PlanGroup = { readonly group: string | null; readonly people: number; readonly leavers: number }

/** Lists the groups of the people in a plan whose name contains a text, the largest first, and counts all that do. */
export async function planGroups(
  db: Db,
  { runId, search, limit }: GroupQuery,
): Promise<{ readonly data: PlanGroup[]; readonly count: number }> {
  const { rows } = await sql<PlanGroup & { count: number }>`
    select group_value as "group", count(*)::int as people, (count(*) filter (where kind = 'leave'))::int as leavers,
      (count(*) over ())::int as count
    from changes
    where run_id = ${runId} and (${search ?? null}::text is null or strpos(lower(group_value), lower(${search ?? ''})) > 0)
    group by group_value order by count(*) desc, group_value collate "C" limit ${limit}`.execute(db)
  return { data: rows.map(({ count: _, ...group }) => group), count: rows[0]?.count ?? 0 }
}

async function countPeople(db: Db, runId: string, only: RawBuilder<boolean>) {
  const { rows } = await sql<{ people: number; peopleOfPlan: number }>`
    select count(*) filter (where ${only})::int as people, count(*)::int as "peopleOfPlan"
    from changes where run_id = ${runId}`.execute(db)
  return rows[0] ?? { people: 0, peopleOfPlan: 0 }
}

/** Locks a held run, so that nobody else decides about it before this transaction ends. False: it is no longer held. */
export async function lockHeldRun(tx: Db, runId: string): Promise<boolean> {
  const { rows } = await sql`select from runs where id = ${runId} and state = 'held' for update`.execute(tx)
  return rows.length > 0
}

type ApprovedPartInput = {
  readonly runId: string
  readonly selection: PartSelection
  readonly now: Date
}

/**
 * Moves a part of a held plan to a new planned run, in the transaction that locks the held run. The source, its events, rejected rows and
 * what else the export states stay with the held run: the new run concerns only its own people. Returns the new run; its limits are
 * counted by `recordPartCounts`. Throws if people of the plan are then in both runs or in none.
 */
export async function storeApprovedPart(tx: Db, { runId, selection, now }: ApprovedPartInput): Promise<string> {
  const id = randomUUID()
  const before = await countPeople(tx, runId, isInPart(selection))
  await sql`
    insert into runs (id, connection, feed, trigger, options, state, mode, as_of, rows, records, warnings, verification, guards,
      configuration, basis, requested_by, known_people, part_of_run_id, created_at, started_at)
    select ${id}, connection, feed, trigger, options - 'again' - 'plan' - 'joined', 'planned', 'delta', as_of, rows, 0, '[]', 'null', guards,
      configuration, basis, requested_by, known_people, id, ${now}, ${now}
    from runs where id = ${runId}`.execute(tx)
  await sql`
    update plan_entries set run_id = ${id} from changes
    where plan_entries.run_id = ${runId} and changes.run_id = ${runId} and changes.identity_id = plan_entries.identity_id
      and changes.identity_id in (select identity_id from changes where run_id = ${runId} and ${isInPart(selection)})`.execute(
    tx,
  )
  await sql`update changes set run_id = ${id} where run_id = ${runId} and ${isInPart(selection)}`.execute(tx)
  // The export without a person counts when it is accepted: until then it can be read again, and would count twice.
  await sql`
    update plan_entries set absences = roster.absences
    from runs join roster on roster.connection = runs.connection
    where plan_entries.run_id = ${id} and runs.id = ${id} and roster.identity_id = plan_entries.identity_id
      and plan_entries.absences > 0 and plan_entries.desired ->> 'separatedAt' is null`.execute(tx)
  // Whoever approves both keys of a pair answers that they are two people.
  await sql`
    delete from key_change_candidates candidate using changes
    where candidate.run_id = ${runId} and changes.run_id = ${id}
      and changes.identity_id in (candidate.former, candidate.identity_id)`.execute(tx)
  const all = sql<boolean>`true`
  const [part, rest] = [await countPeople(tx, id, all), await countPeople(tx, runId, all)]
  if (part.people !== before.people || part.people + rest.people !== before.peopleOfPlan)
    throw new Error(`run ${runId}: ${part.people} and ${rest.people} people do not make ${before.peopleOfPlan}`)
  return id
}

type PartCounts = {
  readonly runId: string
  readonly partId: string
  /** How many people of the part each limit counts. */
  readonly people: PeopleCounts
}

/** Records the counts and digests of a part and of what stays held, and what the guards find in the latter. */
export async function recordPartCounts(tx: Db, { runId, partId, people }: PartCounts): Promise<void> {
  const held = await tx
    .selectFrom('runs')
    .select(['connection', 'counts', 'people_counts', 'guards', 'reason'])
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  const others = { unchanged: 0, rejected: 0, incomplete: 0 }
  const counts: PlanCounts = { ...others, ...(await kindCounts(tx, partId)) }
  const restCounts: PlanCounts = { ...others, ...held.counts, ...(await kindCounts(tx, runId)) }
  const rest = less(held.people_counts ?? noPeople, people)
  await recordCounts(tx, partId, { counts, people })
  await recordCounts(tx, runId, { counts: restCounts, people: rest })
  const verdicts = held.guards ?? []
  if (verdicts.every(({ ok }) => ok)) return
  const guards = verdictsAfterPart(verdicts, {
    ...{ part: people, rest },
    kinds: await changesByKind(tx, runId),
    people: await namedInPlan(tx, runId, verdicts),
    keyChangeCandidates: await openCandidates(tx, { connection: held.connection, runId }),
  })
  await tx
    .updateTable('runs')
    .set({ guards: JSON.stringify(guards), reason: heldReason(guards) })
    .where('id', '=', runId)
    .execute()
}

/** How many changes of each kind a plan has, also those that send a person again without a difference. */
async function changesByKind(tx: Db, runId: string): Promise<Partial<Record<ChangeKind, number>>> {
  const { rows } = await sql<{ kind: ChangeKind; people: number }>`
    select kind, count(*)::int as people from changes where run_id = ${runId} group by kind`.execute(tx)
  return Object.fromEntries(rows.map(({ kind, people }) => [kind, people]))
}

/** Those of the people named by verdicts whom a plan has. */
async function namedInPlan(tx: Db, runId: string, verdicts: readonly Verdict[]): Promise<ReadonlySet<string>> {
  const named = verdicts.flatMap(({ people = [] }) => people)
  const { rows } = await sql<{ key: string }>`
    select identity_id as key from changes where run_id = ${runId} and identity_id = any(${named}::text[])`.execute(tx)
  return new Set(rows.map(({ key }) => key))
}

/** The counts of a plan without those of its part. */
function less(whole: PeopleCounts, part: PeopleCounts): PeopleCounts {
  const numbers = Object.entries(whole).map(([name, count]) => {
    const other = part[name as keyof PeopleCounts] ?? 0
    if (typeof count === 'number') return [name, Math.max(0, count - Number(other))]
    const fields = Object.entries(count).map(([field, people]) => [
      field,
      Math.max(0, people - (Object(other)[field] ?? 0)),
    ])
    return [name, Object.fromEntries(fields.filter(([, people]) => people !== 0))]
  })
  return Object.fromEntries(numbers) as PeopleCounts
}
