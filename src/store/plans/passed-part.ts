import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { ChangeKind } from '../../identity/change.ts'
import type { DesiredState } from '../../identity/decide/decide.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import { splitEmployment } from '../../identity/decide/split-employment.ts'
import { noPeople, type PeopleCounts } from '../../identity/guards/facts.ts'
import type { IdentityRecord, Origin, RosterEntry } from '../../identity/record.ts'
import { rosterEntries } from '../roster/roster.ts'
import type { Db } from '../schema.ts'
import { kindCounts, recordCounts } from './part-counts.ts'
import { stagePeople, toChange } from './plans.ts'

const peopleAtOnce = 1000

/** The limit that counts each kind of change. */
const countedAs: { readonly [K in ChangeKind]?: Exclude<keyof PeopleCounts, 'changed' | 'blanked'> } = {
  leave: 'leavers',
  join: 'joiners',
  return: 'returns',
  correct: 'redates',
}

type PassedPartInput = {
  readonly runId: string
  readonly kinds: readonly ChangeKind[]
  readonly onlyEmployment: boolean
  /** Whether leavers are removed from the platform. */
  readonly removes: boolean
  readonly now: Date
}

/**
 * Stores the passed part of a held plan: the changes that are sent although the rest is held. Moves changes of these kinds to a new planned
 * run, in the transaction that holds the rest. With `onlyEmployment`, other changes of known people stay in the held plan. Both plans get the digest and counts of their content. Returns the new run; null if the
 * plan has no such change.
 */
export async function storePassedPart(
  tx: Db,
  { runId, kinds, onlyEmployment, removes, now }: PassedPartInput,
): Promise<string | null> {
  const { rows: matches } = await sql`
    select 1 from changes where run_id = ${runId} and kind = any(${kinds}) limit 1`.execute(tx)
  if (matches.length === 0) return null
  const id = randomUUID()
  // It concerns only its own people, and decides nothing about the source.
  await sql`
    insert into runs (id, connection, feed, trigger, options, state, mode, as_of, rows, records, warnings, verification, guards,
      configuration, requested_by, held_part_run_id, created_at, started_at)
    select ${id}, connection, feed, trigger, '{}', 'planned', 'delta', as_of, rows, 0, '[]', 'null',
      (select coalesce(json_agg(guard), '[]') from json_array_elements(guards) guard where (guard ->> 'ok')::boolean),
      configuration, requested_by, id, ${now}, ${now}
    from runs where id = ${runId}`.execute(tx)
  if (onlyEmployment) await splitPeople(tx, { from: runId, to: id, kinds, removes })
  await sql`
    update plan_entries set run_id = ${id} from changes
    where plan_entries.run_id = ${runId} and changes.run_id = ${runId} and changes.identity_id = plan_entries.identity_id
      and changes.kind = any(${kinds})`.execute(tx)
  await sql`update changes set run_id = ${id} where run_id = ${runId} and kind = any(${kinds})`.execute(tx)
  await recordParts(tx, { runId, id, kinds })
  return id
}

type SplitRow = {
  identity_id: string
  kind: string
  record: IdentityRecord
  fields: unknown
  inferred: boolean
  carried: boolean
  reason: string | null
  origin: Origin | null
  connection: string
  entry: DesiredState | null
  group_value: string | null
}

type SplitInput = {
  readonly from: string
  readonly to: string
  readonly kinds: readonly ChangeKind[]
  readonly removes: boolean
}

/** Splits people with further changes besides a departure, a return or a corrected date. The other changes stay in the held plan. */
async function splitPeople(tx: Db, { from, to, kinds, removes }: SplitInput): Promise<void> {
  for (let after = ''; ; ) {
    const { rows } = await sql<SplitRow>`
      select changes.identity_id, changes.kind, changes.record, changes.fields, changes.inferred, changes.carried, changes.reason,
        changes.origin, runs.connection,
        case when entry.run_id is not null then json_build_object(
          'desired', entry.desired, 'inferred', entry.inferred, 'deferredTo', entry.deferred_to, 'clearedDate', entry.cleared_date,
          'deferredZone', entry.deferred_zone, 'asOf', entry.as_of, 'employmentAsOf', entry.employment_as_of,
          'exportIsSilent', entry.export_is_silent, 'fieldTimes', entry.field_times, 'absences', entry.absences, 'heldDeparture', entry.held_departure,
          'isByOperator', entry.is_by_operator, 'group', entry.group_value) end as entry, changes.group_value
      from changes join runs on runs.id = changes.run_id
      left join plan_entries entry on entry.run_id = changes.run_id and entry.identity_id = changes.identity_id
      where changes.run_id = ${from} and changes.kind = any(${kinds}) and changes.kind <> 'join'
        and changes.identity_id > ${after}
        and exists (select 1 from jsonb_object_keys(changes.fields) fields (name) where fields.name <> 'separatedAt')
      order by changes.identity_id limit ${peopleAtOnce}`.execute(tx)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.identity_id
    const known = await rosterEntries(tx, {
      connection: last.connection,
      identityIds: rows.map(({ identity_id }) => identity_id),
    })
    const split = rows.flatMap((row) => splitPerson(row, known.get(row.identity_id), removes))
    const keys = split.map(({ first: { identityId } }) => identityId)
    await stagePeople(
      tx,
      to,
      split.map(({ first }) => first),
    )
    await sql`delete from changes where run_id = ${from} and identity_id = any(${keys})`.execute(tx)
    await stagePeople(
      tx,
      from,
      split.map(({ rest }) => rest),
    )
  }
}

function splitPerson(
  row: SplitRow,
  known: RosterEntry | undefined,
  removes: boolean,
): { readonly first: PlannedPerson; readonly rest: PlannedPerson }[] {
  const { identity_id: identityId, origin, group_value: group } = row
  const change = toChange(row)
  if (change.kind === 'retract' || known === undefined) return []
  const split = splitEmployment(known, change, row.entry, { removes })
  if (split === null) return []
  const { first, rest } = split
  return [
    {
      first: { identityId, ...first, origin, group },
      rest: { identityId, entry: null, change: rest, origin, group },
    },
  ]
}

type SplitRuns = {
  readonly runId: string
  readonly id: string
  readonly kinds: readonly ChangeKind[]
}

/** Records the counts and digest of both runs. */
async function recordParts(tx: Db, { runId, id, kinds }: SplitRuns): Promise<void> {
  const held = await tx
    .selectFrom('runs')
    .select(['counts', 'people_counts'])
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  const before: PeopleCounts = held.people_counts ?? noPeople
  const { leftJoiners = 0 } = before
  const movedLimits: readonly string[] = kinds.flatMap((kind) => countedAs[kind] ?? [])
  const peopleCountsOf = (run: 'held' | 'part') => {
    const isInRun = (limit: string) => movedLimits.includes(limit) === (run === 'part')
    const counts = Object.fromEntries(
      Object.entries(before).map(([name, count]) => {
        if (typeof count !== 'number') return [name, run === 'held' ? count : noPeople.changed]
        return [name, isInRun(name) ? count : 0]
      }),
    )
    // Joiners who have already left count as leavers, and move with the joiners.
    const joinedLeavers = isInRun('joiners') ? leftJoiners : 0
    return {
      ...counts,
      leftJoiners: joinedLeavers,
      leavers: joinedLeavers + (isInRun('leavers') ? before.leavers - leftJoiners : 0),
    }
  }
  const ofHeld = await kindCounts(tx, runId)
  const ofPart = await kindCounts(tx, id)
  const others = { unchanged: 0, rejected: 0, incomplete: 0 }
  await recordCounts(tx, id, { counts: { ...ofPart, ...others }, people: peopleCountsOf('part') })
  await recordCounts(tx, runId, { counts: { ...others, ...held.counts, ...ofHeld }, people: peopleCountsOf('held') })
  await tx.updateTable('runs').set({ passed_part_run_id: id }).where('id', '=', runId).execute()
}
