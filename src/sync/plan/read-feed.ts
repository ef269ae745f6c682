import type { Reading, SourceRow } from '../../connectors/connector.ts'
import { createDecider, type DeciderRules } from '../../identity/decide/decider.ts'
import { findKeyChanges, noKeyChanges } from '../../identity/decide/key-changes.ts'
import type { Page } from '../../identity/decide/row-book.ts'
import { rejectsKept } from '../../store/plans/plans.ts'
import { knownFaults } from '../../store/rejects/known-faults.ts'
import { hasEmployed, hasRosterEntries, headcount } from '../../store/roster/roster.ts'
import { unapprovedPeople } from '../../store/roster/unapproved-people.ts'
import type { Db, RunSource } from '../../store/schema.ts'
import { traceStep } from '../../telemetry/traces.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { type ChangeFilter, wholeSlices } from './change-filter/change-filter.ts'
import { collectRows, type OnProgress } from './collect-rows.ts'
import type { PlanWorkspace } from './decide-people.ts'
import type { IntakeCounter } from './intake-counter.ts'
import type { ReadOutcome } from './judge-plan.ts'
import type { MappedRow } from './map/map-rows.ts'
import { type PlanInputs, pinnedPeople } from './plan-inputs.ts'
import { RowTreatments } from './row-treatments.ts'
import type { Stage } from './stage.ts'

type WorkspaceInput = Pick<DeciderRules, 'rows' | 'sending' | 'storing'> & {
  readonly inputs: PlanInputs
  readonly stage: Stage
  readonly signal: AbortSignal
  readonly filter?: ChangeFilter
}

/** Creates the decider of a plan and the workspace in which its decisions are staged. */
export async function openWorkspace(
  db: Db,
  connection: SyncConnection,
  { inputs, stage, signal, rows, sending, storing, filter }: WorkspaceInput,
): Promise<PlanWorkspace> {
  const { context, rules, answers, feed } = inputs
  const { name } = connection
  const decider = createDecider({
    context,
    rows,
    sending,
    storing,
    rejectsKept,
    known: await knownFaults(db, { connection: name, feed: feed.name }),
    keyChanges: (await hasEmployed(db, name)) ? findKeyChanges(context, answers.differentPeople) : noKeyChanges,
    outOfScope: rules.outOfScope ?? 'hold',
    pinned: pinnedPeople(connection, answers),
    unapproved: await unapprovedPeople(db, name),
    unchanged: filter?.unchangedPeople,
    onDecided: filter && ((decided) => filter.nextIndex.addDecision(decided)),
  })
  return { db, connection: name, stage, decider, isFirst: !(await hasRosterEntries(db, name)), signal }
}

type ReadInput = {
  readonly inputs: PlanInputs
  readonly filter?: ChangeFilter
  readonly onProgress: OnProgress
  /** Counts what the export holds, independently of the plan. */
  readonly intake?: IntakeCounter
  /** Called with each row once it is mapped. */
  readonly onRow?: (row: SourceRow, mapped: MappedRow) => void
  /** Decides about the people of a page and stages their changes. */
  readonly decidePage: (page: Page) => Promise<void>
  /** Decides about people without a usable row, once everybody with one is decided about. */
  readonly decideAbsent: () => Promise<void>
}

/** Reads a feed to its end: parses and maps its rows, collects which row applies to each person, and decides about everybody. */
export async function readFeed(
  { store: { db }, now, yieldToShortWork }: Pick<SyncContext, 'store' | 'now' | 'yieldToShortWork'>,
  { decider, connection, isFirst, signal }: PlanWorkspace,
  { inputs, filter, intake, onProgress, onRow = filter?.addRow, decidePage, decideAbsent }: ReadInput,
): Promise<ReadOutcome> {
  const { reading, mapping, isSparse } = inputs
  // Starts now and runs while the source is read. Next to another statement it would need a second database session.
  const counting = headcount(db, connection)
  counting.catch(() => {})
  const opened = filter ? filter.slices() : wholeSlices(reading.rows)
  const slices = intake ? intake.readKeys(opened, mapping) : opened
  const treatments = new RowTreatments()
  const rows = await traceStep(
    'read',
    () =>
      collectRows(decider, {
        ...{ slices, mapping, signal, onRow, treatments, onProgress, yieldToShortWork },
        onPage: decidePage,
      }),
    { describeResult: (count) => ({ attributes: { 'rollcall.rows': count } }) },
  )
  const source = await sourceOf(reading)
  if (mapping.ok || source === null) {
    await decidePage(decider.book.lastPage())
    await decideAbsent()
  }
  const statesFields = mapping.ok && !isSparse && source !== null
  const fields = statesFields ? [...Object.keys(mapping.columns), ...mapping.parts] : null
  return { decider, rows, treatments, source, fields, known: await counting, isFirst, now: now() }
}

/** The source that was read, with the sizes that are known only at its end. */
async function sourceOf({ source, textBytes, cellBytes, sha256 }: Reading): Promise<RunSource | null> {
  if (source === null) return null
  const unpacked = textBytes?.() ?? source.bytes
  return {
    ...source,
    ...(unpacked !== source.bytes && { textBytes: unpacked }),
    ...(cellBytes && { cellBytes: cellBytes() }),
    ...(sha256 && { sha256: await sha256() }),
  }
}
