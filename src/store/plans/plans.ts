import { type RawBuilder, sql } from 'kysely'
import { type CopyValue, copyRows } from '../../database/copy.ts'
import { errorCode, Failure } from '../../errors.ts'
import type { Change, PlanCounts, Verdict } from '../../identity/change.ts'
import type { DesiredState } from '../../identity/decide/decide.ts'
import type { OvertakenEvent } from '../../identity/decide/decider.ts'
import type { KnownFault } from '../../identity/decide/faults.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import type { HeldAgain, StatedOtherwise } from '../../identity/decide/unapproved.ts'
import { isJoinedByRecord, storedFields } from '../../identity/difference.ts'
import { changeDigest, planHasher } from '../../identity/digest.ts'
import type { PeopleCounts } from '../../identity/guards/facts.ts'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import type { IdentityRecord, Origin, Reject } from '../../identity/record.ts'
import { recordAuditEntry, rollcall } from '../audit/trail.ts'
import { changeRoster } from '../connections/connections.ts'
import { deleteAnswered } from '../deliveries/outcomes.ts'
import { markUncertain } from '../deliveries/uncertain.ts'
import { passOnEvents } from '../inbox/inbox.ts'
import { recordOvertakenEvents } from '../inbox/overtaken.ts'
import { recordCandidates } from '../key-answers.ts'
import type { RunOfConnection } from '../keys.ts'
import { oneByOne } from '../one-by-one.ts'
import { acceptFaults, dropFaults, recordBlockedPeople, recordFaults } from '../rejects/known-faults.ts'
import { hasRosterEntries } from '../roster/roster.ts'
import { endApproved, endStatedOtherwise, markHeldAgain, planUnapprovedEnds } from '../roster/unapproved-people.ts'
import { acceptWaiting, type PlannedWaiting, storeWaiting } from '../roster/waiting.ts'
import type { ClaimedRun } from '../runs/claims.ts'
import { type SourceHeader, storeHeader } from '../runs/headers.ts'
import { isSplitOff } from '../runs/held-runs.ts'
import { setRunState } from '../runs/runs.ts'
import type { Db, RosterCounts, RunSource, Verification } from '../schema.ts'
import { dropStagedKeys } from '../statement/intake.ts'
import { type BatchLimits, type BatchNumbers, createDeliveries, type DeliveredBy } from './batches.ts'
import { entriesOfPlan } from './entries.ts'
import { dropIndex } from './export-index.ts'

/** A change of a plan with its row. */
export type StagedChange = { readonly change: Change; readonly origin: Origin | null }

/** Maximum number of rejects that are stored one by one, besides the first of each event. The others are counted. */
export const rejectsKept = 10_000

/** Removes what an earlier attempt of this run stored. */
export async function clearPlan(db: Db, runId: string): Promise<void> {
  for (const table of ['changes', 'plan_entries', 'rejects', 'waiting_rows'] as const) {
    await db.deleteFrom(table).where('run_id', '=', runId).execute()
  }
}

/**
 * Adds people to the plan of a run. Fails as `isStagedTwice` says if one is already in the plan; with `again` those people are skipped.
 * `numbers` assigns batches; without it the changes get them when the plan is accepted.
 */
export async function stagePeople(
  db: Db,
  runId: string,
  planned: readonly PlannedPerson[],
  { again = false, numbers = null }: { readonly again?: boolean; readonly numbers?: BatchNumbers | null } = {},
): Promise<void> {
  const people = planned.map(writtenForm)
  const staged = {
    plan_entries: people.filter(({ entry, isEntry }) => entry !== null && !isEntry),
    changes: people.filter(({ change }) => change !== null),
  }
  for (const table of ['plan_entries', 'changes'] as const) {
    const fresh = again ? await notYetStaged(db, { runId, table, people: staged[table] }) : staged[table]
    if (fresh.length === 0) continue
    const columns = stagedColumns[table]
    const rows = fresh.map((person) => [runId, ...Object.values(columns).map((written) => written(person, numbers))])
    await copyRows(db, { table, columns: ['run_id', ...Object.keys(columns)], rows })
  }
}

/** Whether staging failed because a person is already in the plan. */
export function isStagedTwice(error: unknown): boolean {
  return errorCode(error) === uniqueViolation
}

const uniqueViolation = '23505'

type StagedTable = {
  readonly runId: string
  readonly table: 'plan_entries' | 'changes'
  readonly people: readonly WrittenPerson[]
}

async function notYetStaged(db: Db, { runId, table, people }: StagedTable): Promise<WrittenPerson[]> {
  const rows = await db
    .selectFrom(table)
    .select('identity_id')
    .where('run_id', '=', runId)
    .where(sql<boolean>`identity_id = any(${people.map(({ identityId }) => identityId)})`)
    .execute()
  const staged = new Set(rows.map(({ identity_id }) => identity_id))
  return people.filter(({ identityId }) => {
    if (staged.has(identityId)) return false
    staged.add(identityId)
    return true
  })
}

/** A planned person with the records as text. Equal records are serialized once. */
type WrittenPerson = PlannedPerson & {
  readonly desired: string | null
  readonly record: string | null
  /** Only the change has to be stored. */
  readonly isEntry: boolean
}

function writtenForm(person: PlannedPerson): WrittenPerson {
  const sent = recordOf(person.change)
  const written = json(sent)
  const isSame = person.entry !== null && person.entry.desired === sent
  const isEntry = isSame && (person.follows ?? false)
  return { ...person, record: written, desired: isSame ? written : json(person.entry?.desired), isEntry }
}

type Columns = Readonly<Record<string, (person: WrittenPerson, numbers: BatchNumbers | null) => CopyValue>>

const stagedColumns: { readonly plan_entries: Columns; readonly changes: Columns } = {
  plan_entries: {
    identity_id: ({ identityId }) => identityId,
    desired: ({ desired }) => desired,
    inferred: ({ entry }) => entry?.inferred ?? false,
    deferred_to: ({ entry }) => entry?.deferredTo ?? null,
    cleared_date: ({ entry }) => entry?.clearedDate ?? null,
    deferred_zone: ({ entry }) => entry?.deferredZone ?? null,
    due_at: ({ entry }) => entry && dueAt(entry),
    held_departure: ({ entry }) => json(entry?.heldDeparture),
    is_by_operator: ({ entry }) => entry?.isByOperator ?? false,
    as_of: ({ entry }) => entry?.asOf ?? null,
    employment_as_of: ({ entry }) => entry?.employmentAsOf ?? null,
    export_is_silent: ({ entry }) => entry?.exportIsSilent ?? false,
    field_times: ({ entry }) => json(entry?.fieldTimes),
    absences: ({ entry }) => entry?.absences ?? 0,
    group_value: ({ entry }) => entry?.group ?? null,
  },
  changes: {
    identity_id: ({ identityId }) => identityId,
    kind: ({ change }) => change?.kind ?? null,
    record: (person) => person.record,
    separated_at: ({ change }) => recordOf(change)?.separatedAt ?? null,
    fields: ({ change }) => fieldsOf(change),
    inferred: ({ change }) => change?.kind !== 'retract' && (change?.inferred ?? false),
    carried: ({ change }) => change?.carried ?? false,
    reason: ({ change }) => (change?.kind === 'retract' ? change.reason : null),
    origin: ({ origin }) => json(origin),
    is_entry: ({ isEntry }) => isEntry,
    batch: (person, numbers) =>
      person.change === null || numbers === null
        ? null
        : numbers(person.change.kind, Buffer.byteLength(person.record ?? '')),
    state: () => 'due',
    digest: ({ change }) => change && changeDigest(change),
    group_value: ({ entry, group }) => group ?? entry?.group ?? null,
  },
}

/** The fields of a joiner follow from the record. */
function fieldsOf(change: Change | null): string | null {
  return change === null || change.kind === 'retract' || isJoinedByRecord(change) ? null : json(change.fields)
}

function recordOf(change: Change | null): IdentityRecord | null {
  return change === null || change.kind === 'retract' ? null : change.record
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

/** The start of the day that a leaving date or a held departure waits for. Where the clock is set forward at midnight, it is later. */
function dueAt({ deferredTo, deferredZone, heldDeparture }: DesiredState): string | null {
  if (heldDeparture !== null) return startOf(heldDeparture.until, heldDeparture.timeZone)
  if (deferredTo === null || deferredZone === null) return null
  return startOf(deferredTo, deferredZone)
}

function startOf(day: string, timeZone: string): string {
  return Temporal.PlainDate.from(day).toZonedDateTime(timeZone).toInstant().toString()
}

/** Removes people from a plan, because a later row of the source contradicts or replaces what was staged. */
export async function unstagePeople(db: Db, runId: string, identityIds: readonly string[]): Promise<void> {
  if (identityIds.length === 0) return
  for (const table of ['changes', 'plan_entries'] as const) {
    await db
      .deleteFrom(table)
      .where('run_id', '=', runId)
      .where(sql<boolean>`identity_id = any(${identityIds})`)
      .execute()
  }
}

type DigestOptions = { readonly pageSize?: number; readonly only?: RawBuilder<boolean> }

const everyChange = sql<boolean>`true`

/** The digest of a staged plan, or of the changes for which the condition `only` holds. */
export async function stagedDigest(
  db: Db,
  runId: string,
  { pageSize = 50_000, only = everyChange }: DigestOptions = {},
): Promise<string> {
  const hasher = planHasher()
  for (let after = ''; ; ) {
    const { rows } = await sql<{ digests: string; last: string; people: number; unknown: boolean }>`
      select string_agg(digest, '' order by identity_id) as digests, max(identity_id) as last, count(*)::int as people,
        bool_or(digest is null) as unknown
      from (
        select identity_id, digest from changes where run_id = ${runId} and identity_id > ${after} and ${only}
        order by identity_id limit ${pageSize}
      ) page having count(*) > 0`.execute(db)
    const [page] = rows
    if (page?.unknown) return await digestOfChanges(db, runId, only)
    if (page) hasher.addDigests(page.digests)
    if (!page || page.people < pageSize) return hasher.digest()
    after = page.last
  }
}

/** The same from the changes, for a plan without stored digests. */
async function digestOfChanges(db: Db, runId: string, only: RawBuilder<boolean>): Promise<string> {
  const hasher = planHasher()
  for await (const page of stagedChanges(db, runId, { only })) for (const { change } of page) hasher.add(change)
  return hasher.digest()
}

/** A run's changes in key order, page by page; with `only` those for which the condition holds. */
export async function* stagedChanges(
  db: Db,
  runId: string,
  { pageSize = 5000, only = everyChange }: DigestOptions = {},
): AsyncGenerator<StagedChange[]> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('changes')
      .select(['identity_id', 'kind', 'record', 'fields', 'inferred', 'carried', 'reason', 'origin'])
      .where('run_id', '=', runId)
      .where('identity_id', '>', after)
      .where(only)
      .orderBy('identity_id')
      .limit(pageSize)
      .execute()
    const last = rows.at(-1)
    if (last) yield rows.map((row) => ({ change: toChange(row), origin: row.origin }))
    if (!last || rows.length < pageSize) return
    after = last.identity_id
  }
}

type ChangeRow = {
  identity_id: string
  kind: string
  record: IdentityRecord | null
  fields: unknown
  inferred: boolean
  carried: boolean
  reason: string | null
}

/** Maps a row of `changes` to a change. */
export function toChange(row: ChangeRow): Change {
  if (row.kind === 'retract') {
    return { kind: 'retract', identityId: row.identity_id, reason: row.reason ?? '', carried: row.carried }
  }
  return {
    kind: row.kind,
    identityId: row.identity_id,
    record: row.record,
    fields: storedFields(row),
    inferred: row.inferred,
    carried: row.carried,
  } as Change
}

/** A plan besides its changes and entries. */
export type PlanSummary = {
  readonly mode: 'snapshot' | 'delta'
  /** Null: there was nothing new to read. */
  readonly source: RunSource | null
  readonly asOf: string
  readonly rows: number
  readonly records: number
  readonly counts: PlanCounts
  readonly guards: readonly Verdict[]
  /** The counts of people for the limits. */
  readonly people: PeopleCounts
  /** The number of people before the plan. */
  readonly known: RosterCounts
  /** Missing and new keys that may be one person each. */
  readonly pairs: readonly KeyChangeCandidate[]
  readonly digest: string
  /** Digests of the connection's configuration, and of that with all decisions of operators. */
  readonly configuration: string
  readonly basis: string
  /** The mapped fields of the source; null if its header cannot be mapped. */
  readonly fields: readonly string[] | null
  /** The columns of the source; absent if it was not read as a whole, or its header cannot be mapped. */
  readonly header?: SourceHeader
  /** The keys at the end of the source of people who have not left, in order. */
  readonly endKeys: readonly string[]
  readonly warnings: readonly string[]
  readonly verification: Verification | null
  readonly rejects: readonly Reject[]
  /** The faults of the whole source; null if nothing was read. */
  readonly faults: readonly KnownFault[] | null
  /** Changes of waiting rows; null or undefined: none. */
  readonly waiting?: PlannedWaiting | null
  /** Changes that were left out of an approved part and that the plan makes again. */
  readonly heldAgain?: readonly HeldAgain[]
  /** Of an export: such changes of people whom it states without them. */
  readonly statedOtherwise?: readonly StatedOtherwise[]
  /** In a plan of events: those without effect. */
  readonly overtaken?: readonly OvertakenEvent[]
}

/**
 * Completes a plan. It supersedes held plans of the same feed: of events, only those that were planned again; of a person, a revert or a
 * separation, only those about the same subject. False: another attempt has taken over.
 */
export async function markPlanned(tx: Db, claim: ClaimedRun, plan: PlanSummary, now: Date): Promise<boolean> {
  const { id, connection, feed } = claim.run
  if (!(await setRunState(tx, { id, to: 'planned', now, attempt: claim.attempt }))) return false
  await storeSummary(tx, claim.run, plan)
  await storeRejects(tx, id, plan.rejects)
  if (plan.header) await storeHeader(tx, id, plan.header)
  if (feed === 'webhook') await recordOvertakenEvents(tx, { runId: id, overtaken: plan.overtaken ?? [] })
  await recordCandidates(tx, id, plan.pairs)
  if (plan.waiting) await storeWaiting(tx, { runId: id, connection, waiting: plan.waiting })
  await markHeldAgain(tx, { runId: id, connection, changes: plan.heldAgain ?? [] })
  await planUnapprovedEnds(tx, { runId: id, connection, changes: plan.statedOtherwise ?? [] })
  if (plan.faults !== null) {
    const source = plan.source?.name ?? null
    await recordFaults(tx, { runId: id, connection, source, rejects: plan.faults, now })
  }
  await supersedeHeldPlans(tx, claim.run, { hasNothingNew: plan.source === null, now })
  return true
}

async function storeSummary(tx: Db, { id, options }: ClaimedRun['run'], plan: PlanSummary): Promise<void> {
  await tx
    .updateTable('runs')
    .set({
      mode: plan.mode,
      source: plan.source === null ? null : JSON.stringify(plan.source),
      as_of: new Date(plan.asOf),
      rows: plan.rows,
      records: plan.records,
      counts: JSON.stringify(plan.counts),
      guards: JSON.stringify(plan.guards),
      people_counts: JSON.stringify(plan.people),
      known_people: JSON.stringify(plan.known),
      digest: plan.digest,
      configuration: plan.configuration,
      basis: plan.basis,
      fields: JSON.stringify(plan.fields),
      end_keys: JSON.stringify(plan.endKeys),
      warnings: JSON.stringify(plan.warnings),
      options: JSON.stringify(options),
      verification: JSON.stringify(plan.verification),
    })
    .where('id', '=', id)
    .execute()
}

async function storeRejects(tx: Db, runId: string, rejects: readonly Reject[]): Promise<void> {
  await sql`
    insert into rejects
      (run_id, line, column_name, reason, identity_id, event, cell_only, may_leave, fingerprint, unlisted, retry_at, cause, expected)
    select ${runId}, line, "column", reason, "identityId", event, "cellOnly", "mayLeave", fingerprint, unlisted, "retryAt", cause, expected
    from jsonb_to_recordset(${JSON.stringify(rejects)}::jsonb)
      as r(line integer, "column" text, reason text, "identityId" text, event text, "cellOnly" boolean, "mayLeave" boolean,
        fingerprint text, unlisted jsonb, "retryAt" timestamptz, cause text, expected text)`.execute(tx)
}

/** Drops the held plans that the new plan replaces. Its run takes over their events. */
async function supersedeHeldPlans(
  tx: Db,
  { id, connection, feed, options }: ClaimedRun['run'],
  { hasNothingNew, now }: { readonly hasNothingNew: boolean; readonly now: Date },
): Promise<void> {
  const older = await tx
    .selectFrom('runs')
    .select(['id', 'options'])
    .where('connection', '=', connection)
    .where('state', '=', 'held')
    .where('feed', '=', feed)
    .where(sql<boolean>`not options ? 'retract'`)
    // Without a new export, nothing states again what was split off the last one.
    .where(sql<boolean>`not (${feed === 'source' && hasNothingNew} and ${isSplitOff})`)
    .execute()
  const again = options.again?.runId
  const replaced = older.filter((held) => {
    if (feed === 'revert') return held.options.revert?.runId === options.revert?.runId
    if (feed === 'separation') return held.id === again
    if (feed === 'person') return held.options.person?.identityId === options.person?.identityId
    return feed !== 'webhook' || options.held || held.id === again
  })
  for (const held of replaced) {
    await setRunState(tx, { id: held.id, to: 'superseded', now, reason: `a newer plan exists: run ${id}` })
    await dropPlan(tx, held.id, now)
    await recordAuditEntry(tx, {
      act: 'run.superseded',
      connection,
      by: rollcall,
      runId: held.id,
      details: { newer: id },
      now,
    })
    if (feed === 'webhook') await passOnEvents(tx, { from: held.id, to: id })
  }
  // The plan needs the events of that run, which was decided meanwhile.
  if (feed === 'webhook' && again !== undefined && !options.held && replaced.length === 0)
    throw new Failure('conflict', `run ${again}, whose plan was to be made again, was decided meanwhile`)
}

/** Drops a plan that will not be delivered. Its changes stay as a record. */
export async function dropPlan(tx: Db, runId: string, now: Date): Promise<void> {
  await dropIndex(tx, runId)
  await dropFaults(tx, runId)
  await dropStagedKeys(tx, runId)
  await recordCandidates(tx, runId, [])
  await tx.deleteFrom('plan_entries').where('run_id', '=', runId).execute()
  await tx.deleteFrom('waiting_rows').where('run_id', '=', runId).execute()
  // Batches first: one that ends now has either stored its answer, or finds itself cancelled.
  const cancelled = await tx
    .updateTable('deliveries')
    .set({ state: 'cancelled' })
    .where('run_id', '=', runId)
    .where('state', '=', 'due')
    .returning(['batch', 'attempts'])
    .execute()
  // Batches that were attempted without an answer may have reached the platform.
  for (const { batch, attempts } of cancelled) if (attempts > 0) await markUncertain(tx, { runId, batch, now })
  await sql`
    update changes set state = 'dropped'
    where run_id = ${runId} and state = 'due' and not exists (
      select 1 from deliveries answered
      where answered.run_id = changes.run_id and answered.batch = changes.batch and answered.answer is not null)`.execute(
    tx,
  )
}

type CommitInput = RunOfConnection & {
  readonly limits: BatchLimits
  readonly speaksOfAbsent: boolean
  readonly by?: DeliveredBy
  readonly now: Date
}

/**
 * Accepts a plan: its entries become the roster, and its changes become due in batches. Held plans that are affected are marked, so that
 * an approval sends nothing outdated. Call it in the transaction that moves the run to `delivering`. Returns the number of batches; 0:
 * nothing to deliver.
 */
export async function commitPlan(
  tx: Db,
  { runId, connection, limits, speaksOfAbsent, by = 'people', now }: CommitInput,
): Promise<number> {
  await changeRoster(tx, connection)
  // Checking each person for a conflict costs half as much as writing them.
  const isFirst = !(await hasRosterEntries(tx, connection))
  await markOutdatedPlans(tx, { runId, connection })
  await storeAcknowledged(tx, { runId, connection, isFirst })
  await acceptFaults(tx, { runId, connection, entries: entriesOfPlan(runId), now })
  await recordCandidates(tx, runId, [])
  await sql`
    insert into roster
      (connection, identity_id, desired, inferred, deferred_to, cleared_date, deferred_zone, due_at, held_departure, is_by_operator, as_of,
        employment_as_of, export_is_silent, field_times, absences, group_value, exports_before)
    select name, identity_id, desired, inferred, deferred_to, cleared_date, deferred_zone, due_at, held_departure, is_by_operator, as_of,
      employment_as_of, export_is_silent, field_times, absences, group_value, exports_accepted
    from ${entriesOfPlan(runId)} entry, connections where name = ${connection}
    ${isFirst ? nothing : whereKnown}`.execute(tx)
  await tx.deleteFrom('plan_entries').where('run_id', '=', runId).execute()
  await acceptWaiting(tx, { runId, connection })
  await recordBlockedPeople(tx, { runId, connection, now })
  await acceptSource(tx, { runId, speaksOfAbsent })
  await acceptRetractions(tx, { runId, connection, now })
  await endApproved(tx, { runId, connection })
  await endStatedOtherwise(tx, runId)
  return await createDeliveries(tx, { runId, limits, by, now })
}

/** Stores what the next plan is compared with. An export that is older than the newest accepted one does not change it. */
async function acceptSource(
  tx: Db,
  { runId, speaksOfAbsent }: { runId: string; speaksOfAbsent: boolean },
): Promise<void> {
  const isNewest = sql`(runs.mode <> 'snapshot' or accepted_as_of is null or accepted_as_of <= runs.as_of)`
  await sql`
    update connections set accepted_source = runs.source,
      accepted_fields = case when json_typeof(runs.fields) = 'array' then runs.fields else accepted_fields end
    from runs
    where runs.id = ${runId} and connections.name = runs.connection and runs.feed = 'source' and runs.source is not null
      and ${isNewest}`.execute(tx)
  await sql`
    update connections set accepted_as_of = runs.as_of, accepted_rows = runs.rows, accepted_end = runs.end_keys,
      exports_accepted = exports_accepted + ${speaksOfAbsent ? 1 : 0}
    from runs
    where runs.id = ${runId} and connections.name = runs.connection and runs.mode = 'snapshot' and ${isNewest}`.execute(
    tx,
  )
}

type RunAt = RunOfConnection & {
  readonly now: Date
}

/**
 * Retracts the people of a plan. Since it was made, another run may have retracted a person, or an operator may have withdrawn the
 * retraction: then nothing is deleted.
 */
async function acceptRetractions(tx: Db, { runId, connection, now }: RunAt): Promise<void> {
  await sql`
    update changes set state = 'dropped' from roster
    where changes.run_id = ${runId} and changes.kind = 'retract' and changes.carried = (roster.retracted_at is null)
      and roster.connection = ${connection} and roster.identity_id = changes.identity_id`.execute(tx)
  await sql`
    update roster set retracted_reason = changes.reason, retracted_at = ${now}
    from changes
    where changes.run_id = ${runId} and changes.kind = 'retract' and changes.state = 'due'
      and not changes.carried
      and roster.connection = ${connection} and roster.identity_id = changes.identity_id`.execute(tx)
}

const nothing = sql``

/** In SQL, how a plan updates known people. */
const whereKnown = sql`
  on conflict (connection, identity_id) do update set
    desired = excluded.desired, inferred = excluded.inferred, deferred_to = excluded.deferred_to, cleared_date = excluded.cleared_date,
    deferred_zone = excluded.deferred_zone, due_at = excluded.due_at, held_departure = excluded.held_departure,
    is_by_operator = excluded.is_by_operator,
    as_of = excluded.as_of, employment_as_of = excluded.employment_as_of, export_is_silent = excluded.export_is_silent,
    field_times = excluded.field_times, absences = excluded.absences, group_value = excluded.group_value,
    forgotten_at = case when roster.retracted_at is null and excluded.desired ->> 'separatedAt' is null then null
      else roster.forgotten_at end`

/**
 * Marks held plans as outdated whose differences start from other facts than before. An accepted export affects every held plan; other
 * plans affect those with the same people, and a held plan of an export also if they bring older facts about people that it only lists. A
 * leaving date whose day has come, the parts of the held plan itself, and the export or roster plan of which it was split off, do not count.
 * Held retractions are never outdated.
 */
async function markOutdatedPlans(tx: Db, { runId, connection }: RunOfConnection): Promise<void> {
  await sql`
    with overtaken as (
      select held.id, count(*) as people
      from runs held join runs ours on ours.id = ${runId} cross join lateral (
        select identity_id from (
          select identity_id from plan_entries where run_id = held.id
          union select identity_id from changes where run_id = held.id
        ) named
        where ours.mode is not distinct from 'snapshot'
          or exists (select 1 from plan_entries where run_id = ours.id and identity_id = named.identity_id)
          or exists (select 1 from changes where run_id = ours.id and identity_id = named.identity_id)
        union
        select entry.identity_id
        from plan_entries entry left join roster
          on roster.connection = held.connection and roster.identity_id = entry.identity_id
        where entry.run_id = ours.id and ours.feed <> 'roster' and held.mode = 'snapshot' and (entry.as_of < held.as_of
          or entry.employment_as_of < held.as_of
            and (entry.desired ->> 'separatedAt', entry.deferred_to)
              is distinct from (roster.desired ->> 'separatedAt', roster.deferred_to)
          or exists (
            select 1 from jsonb_each_text(entry.field_times) stated
            where stated.value::timestamptz < held.as_of and entry.desired -> stated.key is distinct from roster.desired -> stated.key))
      ) overtaken
      where held.connection = ${connection} and held.state = 'held' and held.id <> ours.id and not held.options ? 'retract'
        and held.passed_part_run_id is distinct from ours.id and ours.part_of_run_id is distinct from held.id
        and (ours.feed = 'webhook' or ours.held_part_run_id is distinct from held.id)
      group by held.id
    )
    update runs set outdated_reason = case people when 1 then 'facts about 1 person of it were' else 'facts about ' || people || ' of its people were' end
      || ' accepted since, by run ' || ${runId}::text
    from overtaken where overtaken.id = runs.id`.execute(tx)
}

/** Statistics are refreshed if a plan brings at least this share of the rows of a table. */
const changedShare = 0.1

/**
 * Refreshes statistics of tables to which a plan added much: without them, finding the people of one batch reads the whole table. A table
 * that is being analyzed for another run is skipped. `yieldToShortWork` is awaited before each table.
 */
export async function refreshStatistics(db: Db, runId: string, yieldToShortWork?: () => Promise<void>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where oid in ('roster'::regclass, 'acknowledged'::regclass, 'changes'::regclass)
      and ${changedShare}::float8 * reltuples <= (select sum(people) from deliveries where run_id = ${runId})
    order by relname`.execute(db)
  for (const { name } of rows) {
    await yieldToShortWork?.()
    await sql`analyze (skip_locked) ${sql.table(name)}`.execute(db)
  }
}

type AcknowledgedInput = RunOfConnection & {
  readonly isFirst: boolean
}

/**
 * Stores the acknowledged record of everybody with a change to send, before `desired` changes, and removes it for people without a
 * change. Retracted people keep theirs.
 */
async function storeAcknowledged(tx: Db, { runId, connection, isFirst }: AcknowledgedInput): Promise<void> {
  const toSend = sql`exists (
    select 1 from changes
    where changes.run_id = entry.run_id and changes.identity_id = entry.identity_id and changes.state = 'due' ${oneByOne})`
  await deleteAnswered(tx, connection)
  await sql`
    update acknowledged set run_id = ${runId} from changes
    where changes.run_id = ${runId} and changes.state = 'due'
      and acknowledged.connection = ${connection} and acknowledged.identity_id = changes.identity_id`.execute(tx)
  await sql`
    insert into acknowledged (connection, identity_id, confirmed, run_id)
    select ${connection}, entry.identity_id, roster.desired, ${runId}
    from plan_entries entry left join roster on roster.connection = ${connection} and roster.identity_id = entry.identity_id
    where entry.run_id = ${runId} and roster.desired is distinct from entry.desired
      and (roster.retracted_at is not null or ${toSend})
    on conflict do nothing`.execute(tx)
  await sql`
    insert into acknowledged (connection, identity_id, confirmed, run_id)
    select ${connection}, changes.identity_id, roster.desired, ${runId}
    from changes left join roster on roster.connection = ${connection} and roster.identity_id = changes.identity_id
    where changes.run_id = ${runId} and is_entry and not carried
    ${isFirst ? nothing : sql`on conflict do nothing`}`.execute(tx)
  await sql`
    delete from acknowledged using plan_entries entry, roster
    where entry.run_id = ${runId} and acknowledged.connection = ${connection} and acknowledged.identity_id = entry.identity_id
      and roster.connection = ${connection} and roster.identity_id = entry.identity_id and roster.retracted_at is null
      and not ${toSend} and (acknowledged.confirmed is not distinct from entry.desired or not exists (
        select from runs ours join changes held on held.run_id = ours.held_part_run_id
        where ours.id = ${runId} and held.identity_id = entry.identity_id))`.execute(tx)
}
