import type { Reading } from '../../connectors/connector.ts'
import { createDecider, type Decider } from '../../identity/decide/decider.ts'
import { findKeyChanges, noKeyChanges } from '../../identity/decide/key-changes.ts'
import { eventRows, exportRows } from '../../identity/decide/row-models.ts'
import { sendDifferences, sendEverybody } from '../../identity/decide/sending.ts'
import { storeEach, storingFor } from '../../identity/decide/storing.ts'
import { type PlanSummary, rejectsKept } from '../../store/plans/plans.ts'
import type { HeldPart } from '../../store/plans/held-part.ts'
import { knownFaults } from '../../store/rejects/known-faults.ts'
import { hasEmployed, headcount, hasRosterEntries, rosterEntries } from '../../store/roster/roster.ts'
import type { PlannedWaiting } from '../../store/roster/waiting.ts'
import type { Db, RunSource } from '../../store/schema.ts'
import { traceStep } from '../../telemetry/traces.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { type BeforeReading, lookUpBefore } from './before-reading.ts'
import { type PlanWorkspace, decideRest, stagePage } from './decide-people.ts'
import type { OpenedFeed } from './feeds.ts'
import { type Judged, judgePlan, type WasRead } from './judge-plan.ts'
import type { SealedIndex } from './change-filter/index-parts.ts'
import { type Sparing, spareReading } from './change-filter/known-records.ts'
import { UnsafeFilterError } from './change-filter/unchanged-records.ts'
import { type Progress, readRows } from './read-rows.ts'
import { splitPlan, verdictsOnRest } from './split-plan.ts'
import type { Stage } from './stage.ts'
import { addDueRows, planWaitingRows, withdrawnWarning } from './waiting-rows.ts'
import { pinWarnings, collectWarnings } from './warnings.ts'
import type { PersonWatch } from './watch-person.ts'

type Context = Pick<SyncContext, 'store' | 'now' | 'indexing' | 'yieldToShortWork'>

type Preparing = {
  readonly feed: OpenedFeed
  readonly stage: Stage
  readonly everybody: boolean
  readonly splits: { readonly behindHeld: boolean } | null
  readonly only?: PersonWatch
  /** Whether the reading may go by what the last export left behind. `leaving`: it leaves something behind itself. */
  readonly sparing?: { readonly leaving: Leaving | null; readonly onWhole: (reason: string) => void }
  readonly signal: AbortSignal
  readonly onProgress: Progress
}

/** The run that leaves an index behind, and where the parts of it are kept. */
type Leaving = { readonly runId: string; readonly keep: (part: number, data: Buffer) => Promise<void> }

export type PreparedPlan = Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & {
  readonly heldPart: HeldPart | null
  /** What the export leaves behind for the next one; null for nothing. */
  readonly index: SealedIndex | 'same' | null
}

/** How a reading uses the index that the last export left behind, or leaves one itself. */
type IndexUse = 'by an index' | 'leaving an index' | 'whole'

/**
 * Reads an opened feed to its end and stages everything that follows from it. Nothing is sent, and the roster stays as it is.
 * `everybody`: also people without a difference are staged, to be sent again. `splits`: of a plan of events, what a guard stops is set
 * aside, so that the rest can go on; with `behindHeld` also what is about people of runs that are held already. `only`: the one person
 * that is decided about, after all that was read of the source.
 */
export async function preparePlan(
  ctx: Context,
  connection: SyncConnection,
  preparing: Preparing,
): Promise<PreparedPlan> {
  const { stage, sparing, everybody, only } = preparing
  let indexUse: IndexUse = sparing && !everybody && !only ? 'by an index' : 'whole'
  for (;;) {
    try {
      return await prepareOnce(ctx, connection, preparing, indexUse)
    } catch (error) {
      if (!(error instanceof UnsafeFilterError)) throw error
      sparing?.onWhole(error.message)
      indexUse = error.canBuild ? 'leaving an index' : 'whole'
      await stage.clear()
    }
  }
}

/** Looks up, reads and decides, judges, sets aside, and sums up. */
async function prepareOnce(
  ctx: Context,
  connection: SyncConnection,
  preparing: Preparing,
  indexUse: IndexUse,
): Promise<PreparedPlan> {
  const { feed, only, sparing } = preparing
  const before = await lookUpBefore(ctx, connection, { feed, only, goesByIndex: sparing !== undefined })
  const spared = await spareUnchanged(ctx, connection, { before, preparing, indexUse })
  const place = await openPlace(ctx.store.db, connection, { before, preparing, spared })
  const { read, due } = await readAndDecide(ctx, connection, { before, preparing, spared, place })
  const judged = await judgePlan(ctx.store.db, connection, before, read)
  const waits = { isExport: feed.name === 'source' && before.mapping.ok && read.source !== null, due }
  return await sumUp(ctx.store.db, connection, { before, preparing, spared, place, read, judged, ...waits })
}

type Looked = { readonly before: BeforeReading; readonly preparing: Preparing }
type Opened = Looked & { readonly spared: Sparing | null }
type Placed = Opened & { readonly place: PlanWorkspace }

/** Prepares a reading that leaves out unchanged rows by the index of the last export, or leaves an index itself. Null: it does neither. */
async function spareUnchanged(
  ctx: Context,
  connection: SyncConnection,
  { before, preparing: { sparing }, indexUse }: Looked & { readonly indexUse: IndexUse },
): Promise<Sparing | null> {
  const { reading, rules, mapping, answers, context, addressKey } = before
  if (!sparing || indexUse === 'whole' || !mapping.ok) return null
  const spared = await spareReading(ctx, {
    connection,
    reading,
    rules,
    mapping: rules.mapping,
    rows: mapping,
    answers,
    key: addressKey,
    context,
    runId: sparing.leaving?.runId ?? null,
    isWhole: indexUse === 'leaving an index',
  })
  if (spared?.reason) sparing.onWhole(spared.reason)
  return spared
}

/** Sets up the decider, and where its decisions are staged. */
async function openPlace(db: Db, connection: SyncConnection, opened: Opened): Promise<PlanWorkspace> {
  const { before, preparing, spared } = opened
  const { feed, stage, everybody, only, signal } = preparing
  const { context, rules, answers } = before
  const decider = createDecider({
    context,
    rows: feed.name === 'webhook' ? eventRows : exportRows,
    sending: everybody ? sendEverybody : sendDifferences,
    storing: only ? storeEach : storingFor(context),
    rejectsKept,
    known: await knownFaults(db, { connection: connection.name, feed: feed.name }),
    outOfScope: rules.outOfScope ?? 'hold',
    pinned: new Set([...connection.pinned].map((key) => answers.aliases.get(key)?.identityId ?? key)),
    keyChanges: (await hasEmployed(db, connection.name))
      ? findKeyChanges(context, answers.differentPeople)
      : noKeyChanges,
    unchanged: spared?.filter.unchangedPeople,
    onDecided: spared?.filter.addDecision,
  })
  const isFirst = !(await hasRosterEntries(db, connection.name))
  return {
    db,
    connection: connection.name,
    stage,
    decider,
    isFirst,
    signal,
    filter: spared?.filter,
    ...(only && { only }),
  }
}

/** Reads the rows to their end, and decides about everybody. `due`: the rows that waited for a day that has come. */
async function readAndDecide(
  { store: { db }, now, yieldToShortWork }: Context,
  { name }: SyncConnection,
  { before, preparing, spared, place }: Placed,
): Promise<{ readonly read: WasRead; readonly due: PlannedWaiting | null }> {
  const { reading, mapping, answers } = before
  const { feed, only, signal, onProgress } = preparing
  const { decider, filter, isFirst } = place
  // Counted while the source is read. Beside another statement it would take a session of its own.
  const counting = headcount(db, name)
  counting.catch(() => {})
  const slices = spared ? spared.filtered.rows(spared.filter.records) : reading.rows
  const onPage = (page: Parameters<typeof stagePage>[1]) => stagePage(place, page)
  const rows = await traceStep(
    'read',
    () => readRows(decider, { slices, mapping, signal, filter, onPage, onProgress, yieldToShortWork }),
    { describeResult: (count) => ({ attributes: { 'rollcall.rows': count } }) },
  )
  const due = feed.name === 'roster' ? await addDueRows(place, { aliases: answers.aliases, asOf: reading.asOf }) : null
  const source = sourceRead(reading)
  if (mapping.ok || source === null) await decideRest(place)
  const saysFields = mapping.ok && !before.isSparse && source !== null
  const fields = saysFields ? [...Object.keys(mapping.columns), ...mapping.parts] : null
  return { read: { decider, rows, source, fields, known: await counting, isFirst, only, now: now() }, due }
}

type Decided = Placed & {
  readonly read: WasRead
  readonly judged: Judged
  readonly due: PlannedWaiting | null
  /** An export was read of which the columns are known. */
  readonly isExport: boolean
}

/** Sets aside what has to wait, and returns what is stored of the plan. */
async function sumUp(db: Db, connection: SyncConnection, decided: Decided): Promise<PreparedPlan> {
  const { before, preparing, spared, place, read, judged, due, isExport } = decided
  const { feed, splits, only, stage, sparing } = preparing
  const { decider, rows, source, fields } = read
  const { verdicts, pairs } = judged
  const aside = feed.name === 'webhook' && splits ? await splitPlan(place, { verdicts, pairs, ...splits }) : null
  const part = aside && 'part' in aside ? aside.part : null
  const waiting = isExport && !only ? await planWaitingRows(place, before.context) : due
  const leaveIndex = async () =>
    spared && sparing?.leaving ? await spared.filter.makeIndex(spared.rules, sparing.leaving.keep) : null
  const [digest, index] = await Promise.all([stage.digest(), leaveIndex()])
  const { employed: _, ...known } = read.known
  return {
    mode: before.reading.mode,
    source,
    asOf: before.reading.asOf,
    rows,
    records: decider.book.account.records,
    counts: aside && 'whole' in aside ? aside.whole : decider.counts(),
    people: aside && 'whole' in aside ? aside.counted : decider.people(),
    known,
    guards: part ? verdictsOnRest(verdicts) : verdicts,
    pairs: part ? [] : pairs,
    digest,
    fields,
    ...(isExport &&
      before.mapping.ok && { header: { headers: feed.reading.headers, columns: before.mapping.columns } }),
    endKeys: await endKeys(db, connection.name, decider),
    warnings: [
      ...collectWarnings(before.reading, before.mapping, decider),
      ...withdrawnWarning(waiting),
      ...(isExport ? await pinWarnings(db, connection, { decider, answers: before.answers }) : []),
    ],
    rejects: decider.rejects().toSorted((a, b) => a.line - b.line),
    heldPart: part,
    waiting,
    index,
    standing: isExport ? decider.knownFaults() : null,
    overtaken: decider.overtaken,
  }
}

async function endKeys(db: Db, connection: string, decider: Decider): Promise<readonly string[]> {
  return decider.lastEmployedKeys(await rosterEntries(db, { connection, identityIds: decider.lastUnusableKeys() }))
}

/** What was read, with the sizes that are known only now. */
function sourceRead({ source, textBytes, cellBytes }: Reading): RunSource | null {
  if (source === null) return null
  const unpacked = textBytes?.() ?? source.bytes
  return {
    ...source,
    ...(unpacked !== source.bytes && { textBytes: unpacked }),
    ...(cellBytes && { cellBytes: cellBytes() }),
  }
}
