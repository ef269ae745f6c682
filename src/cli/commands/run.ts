import {
  type ChangeView,
  isEndedOrHeld,
  type RejectView,
  type Run,
  type RunSummary,
} from '../../contract/control/shapes.ts'
import { renderChanges, renderRejects, renderSummary } from '../render/plan.ts'
import { causeOf, progressText } from '../render/progress.ts'
import { renderJudgement, renderRun, renderVerification } from '../render/run.ts'
import type { Paint } from '../render/text.ts'
import type { Control } from '../session/control-client.ts'
import { exitCodeOf } from '../session/follow-run.ts'
import { watch } from '../session/live.ts'
import { allPages } from '../session/pages.ts'
import { requireRunId } from '../session/run-name.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall run`. */
export type RunDetailOptions = CommonOptions & { readonly showValues?: boolean; readonly follow?: boolean }

/** A run with its whole plan. For a large plan, `summary` says what it does, and `changes` may hold only examples. */
export type RunDetail = Run & {
  readonly changes: readonly ChangeView[]
  readonly rejects: readonly RejectView[]
  readonly summary: RunSummary | null
}

/** Plans up to this number of people are printed in full; larger plans are summarized. */
const maxListedPeople = 200
/** Maximum number of examples of each kind of change in a summarized plan. */
const maxExamplesShown = 20

/** Shows one run with its plan, or follows it with --follow. */
export async function run(name: string, options: RunDetailOptions): Promise<number> {
  if (options.follow) return await follow(name, options)
  return await withSession(options, { isReadOnly: true }, async ({ control, output }) => {
    const showing = { values: output.mayShowValues(options), whole: output.json }
    output.printResult(await runDetail(control, await requireRunId(control, name, options), showing), renderRunDetail)
    return 0
  })
}

/** Follows a run until it ends or is held, whoever requested it. The exit code tells how it ended. */
async function follow(name: string, options: RunDetailOptions): Promise<number> {
  // A name such as `last` keeps meaning the run that it meant at the beginning.
  let runId: string | null = null
  const { latest, stopExit } = await watch(options, {
    async look(control) {
      runId ??= await requireRunId(control, name, options)
      return await control.getRun({ params: { runId } })
    },
    render: (followed, paint) => [renderRun(followed, paint), '', progressText(followed, paint)].join('\n'),
    changes: (now, before, paint) => (progressKey(now) === progressKey(before) ? [] : [progressText(now, paint)]),
    isOver: (followed) => isEndedOrHeld(followed),
  })
  if (stopExit !== null) return stopExit
  return latest === null ? 0 : exitCodeOf(latest)
}

/** The fields whose change prints a line of progress, as a text to compare. */
function progressKey(followed: Run | null): string {
  return JSON.stringify([followed?.state, followed?.confirmed, followed?.problems, causeOf(followed?.delay)])
}

/** Reads a run with its rejects and changes. A large plan also gets a summary, and unless `whole` is set only the first changes of each kind. */
export async function runDetail(
  control: Control,
  runId: string,
  { values, whole }: { values: boolean; whole: boolean },
): Promise<RunDetail> {
  const detail = await control.getRun({ params: { runId } })
  const isLarge = countChanges(detail) > maxListedPeople
  const summary = isLarge ? await control.summarizeRun({ params: { runId }, query: { values } }) : null
  const changes =
    isLarge && !whole
      ? await firstOfEach(control, runId, values)
      : await allPages((after?: string) =>
          control.listChanges({ params: { runId }, query: { after, limit: 1000, values } }),
        )
  const rejects = await allPages((after?: string) =>
    control.listRejects({ params: { runId }, query: { after, limit: 1000 } }),
  )
  return { ...detail, changes, rejects, summary }
}

function countChanges({ counts }: Run): number {
  if (counts === null) return 0
  const { leave, return: returns, retract, correct, join, update } = counts
  return leave + returns + retract + correct + join + update
}

async function firstOfEach(control: Control, runId: string, values: boolean): Promise<ChangeView[]> {
  const kinds = ['leave', 'return', 'retract', 'correct', 'join', 'update'] as const
  const pages = await Promise.all(
    kinds.map((kind) => control.listChanges({ params: { runId }, query: { kind, limit: maxExamplesShown, values } })),
  )
  return pages.flatMap(({ data }) => data)
}

/** A run with its plan and its rejected rows. */
export function renderRunDetail(detail: RunDetail, paint: Paint): string {
  const parts = [
    renderRun(detail, paint),
    detail.verification ? renderVerification(detail.verification, paint) : '',
    ...renderPeople(detail, paint),
    renderRejects(detail.rejects, detail.source?.name ?? 'source', paint),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** What a person who approves needs to read: totals, the verdicts of the guards, and the people concerned. */
export function renderForApproval(detail: RunDetail, paint: Paint): string {
  const parts = [renderJudgement(detail, paint), ...renderPeople(detail, paint)]
  return parts.filter((part) => part !== '').join('\n\n')
}

function renderPeople({ changes, summary, counts }: RunDetail, paint: Paint): string[] {
  if (summary === null) return [renderChanges(changes, paint)]
  return [renderSummary(summary, paint), renderChanges(changes, paint, counts ?? undefined)]
}
