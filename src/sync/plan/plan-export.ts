import type { Page } from '../../identity/decide/row-book.ts'
import { exportRows } from '../../identity/decide/row-models.ts'
import type { Sending } from '../../identity/decide/sending.ts'
import { compareKeys } from '../../identity/digest.ts'
import type { Intake } from '../../store/statement/intake.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import type { ChangeFilter } from './change-filter/change-filter.ts'
import type { StorePart } from './change-filter/next-index.ts'
import { addressDigest, type FilterUse, indexKey, openChangeFilter } from './change-filter/open-filter.ts'
import { UnsafeFilterError } from './change-filter/unchanged-records.ts'
import type { OnProgress } from './collect-rows.ts'
import { decideAbsent, decidePage, type PlanWorkspace } from './decide-people.ts'
import type { OpenedFeed } from './feeds.ts'
import { IntakeCounter } from './intake-counter.ts'
import { collectKeyChanges, judgePlan, type ReadOutcome } from './judge-plan.ts'
import { loadPlanInputs, type PlanInputs } from './plan-inputs.ts'
import { openWorkspace, readFeed } from './read-feed.ts'
import type { Stage } from './stage.ts'
import { type PreparedPlan, summarizePlan } from './summarize-plan.ts'
import { planWaitingRows, withdrawnWarning } from './waiting-rows.ts'
import { pinWarnings } from './warnings.ts'

type PlanningContext = Pick<SyncContext, 'store' | 'now' | 'indexing' | 'yieldToShortWork'>

/** How the plan of an export uses the change filter. Absent if nothing is compared with the last export. */
type ChangeFilterOptions = {
  /** Where the index for the next export is stored; null if none is made. */
  readonly saveIndex: { readonly runId: string; readonly storePart: StorePart } | null
  /** Called with the reason if every row is parsed although there is an index. */
  readonly onWholeRead: (reason: string) => void
}

/** What the plan of an export is made from. */
type PlanExportInput = {
  readonly feed: OpenedFeed
  readonly stage: Stage
  /** Which changes the plan sends; default: what differs from the platform. */
  readonly sending?: Sending
  readonly changeFilter?: ChangeFilterOptions
  readonly signal: AbortSignal
  readonly onProgress?: OnProgress
}

/**
 * Plans an opened export: reads it to its end, stages every change that follows and judges the plan. Sends nothing and leaves the roster as
 * it is. If unchanged rows turn out not to be safe to skip, the export is read again as a whole.
 */
export async function planExport(
  ctx: PlanningContext,
  connection: SyncConnection,
  input: PlanExportInput,
): Promise<PreparedPlan> {
  let use: FilterUse = input.changeFilter && !input.sending?.includesEverybody ? 'skip unchanged' : 'none'
  for (;;) {
    try {
      return await planExportOnce(ctx, connection, input, use)
    } catch (error) {
      if (!(error instanceof UnsafeFilterError)) throw error
      input.changeFilter?.onWholeRead(error.message)
      use = error.canBuild ? 'only make an index' : 'none'
      await input.stage.clear()
    }
  }
}

async function planExportOnce(
  ctx: PlanningContext,
  connection: SyncConnection,
  input: PlanExportInput,
  use: FilterUse,
): Promise<PreparedPlan> {
  const { stage, sending, changeFilter, signal, onProgress = () => {} } = input
  const intake = new IntakeCounter()
  const feed = { ...input.feed, reading: intake.countRows(input.feed.reading) }
  const { db } = ctx.store
  const { name } = connection
  const saveIndex = changeFilter?.saveIndex ?? null
  const key = changeFilter ? indexKey(db, name) : null

  const addressOf = key === null ? undefined : (email: string) => addressDigest(key, email)
  const inputs = await loadPlanInputs(ctx, connection, feed, { addressOf })
  const opened = await openChangeFilter(ctx, connection, { inputs, key, use, runId: saveIndex?.runId ?? null })
  if (opened?.fullReadReason) changeFilter?.onWholeRead(opened.fullReadReason)
  const filter = opened?.filter
  const workspace = await openWorkspace(db, connection, { inputs, stage, rows: exportRows, signal, sending, filter })
  const deciding = decidingWith(workspace, filter)
  const outcome = await readFeed(ctx, workspace, { inputs, filter, intake, onProgress, ...deciding })
  const keyChanges = await collectKeyChanges(db, name, outcome.decider)
  const verdicts = await judgePlan(db, connection, { inputs, outcome, keyChanges, countedWith: feed.name })

  const makeIndex = async () =>
    opened && saveIndex ? await opened.filter.nextIndex.make(opened.rulesDigest, saveIndex.storePart) : null
  const [digest, index] = await Promise.all([stage.digest(), makeIndex()])
  const plan = await summarizePlan(db, name, { inputs, outcome, verdicts, keyChanges, digest })
  const facts = await wholeExportFacts(connection, { plan, inputs, workspace })
  return { ...plan, ...facts, index, intake: intakeOf(outcome, { intake, filter, inputs }) }
}

type IntakeInput = {
  readonly intake: IntakeCounter
  readonly filter: ChangeFilter | undefined
  readonly inputs: PlanInputs
}

/** What the export held and how the plan treats its rows; null if there was no new export, or its columns are missing. */
function intakeOf(
  { source, treatments, decider }: ReadOutcome,
  { intake, filter, inputs: { mapping } }: IntakeInput,
): Intake | null {
  if (source === null || !mapping.ok) return null
  return intake.result(
    { treatedRows: treatments.counts(decider), treatments: treatments.keys(decider) },
    filter?.skippedKeys,
  )
}

/** Decides about everybody, and withdraws people from the filter's next index if a later row takes their decision back. */
function decidingWith(workspace: PlanWorkspace, filter: ChangeFilter | undefined) {
  const { book } = workspace.decider
  return {
    async decidePage(page: Page): Promise<void> {
      filter?.nextIndex.withdraw(page.withdrawn)
      await decidePage(workspace, page)
    },
    async decideAbsent(): Promise<void> {
      const open = filter?.openPeople() ?? null
      const openPeople = open && [...new Set([...open, ...book.unusableKeys()])].sort(compareKeys)
      await decideAbsent(workspace, openPeople)
    },
  }
}

type ExportFactsInput = {
  readonly plan: PreparedPlan
  readonly inputs: PlanInputs
  readonly workspace: PlanWorkspace
}

/** What the run stores of an export as a whole. Nothing if there was no new export, or its columns are missing. */
async function wholeExportFacts(
  connection: SyncConnection,
  { plan, inputs, workspace }: ExportFactsInput,
): Promise<Partial<PreparedPlan>> {
  const { feed, mapping, answers, context } = inputs
  const { db, decider } = workspace
  if (!mapping.ok || plan.source === null) return {}
  const waiting = await planWaitingRows(workspace, context)
  const pins = await pinWarnings(db, connection, { decider, answers })
  return {
    header: { headers: feed.reading.headers, columns: mapping.columns },
    warnings: [...plan.warnings, ...withdrawnWarning(waiting), ...pins],
    waiting,
    faults: decider.knownFaults(),
    statedOtherwise: decider.statedOtherwise(),
  }
}
