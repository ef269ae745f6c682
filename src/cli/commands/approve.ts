import type { PartSelection, Run } from '../../contract/control/shapes.ts'
import { Failure, failures } from '../../errors.ts'
import { ask, standardError } from '../../text/print.ts'
import { renderPlanPart, renderRemaining } from '../render/plan-part.ts'
import { escapeText, formatInstant, shortId } from '../render/text.ts'
import { followAndReport } from '../session/follow-run.ts'
import { type PartOptions, partOf } from '../session/plan-part.ts'
import { isMoving, requireRunId } from '../session/run-name.ts'
import { type CommonOptions, type Session, withSession } from '../session/session.ts'
import { renderForApproval, runDetail } from './run.ts'

/** The options of `rollcall approve`. */
export type ApproveOptions = CommonOptions &
  PartOptions & {
    readonly by: string
    readonly reason?: string
    readonly digest?: string
    readonly yes?: boolean
    readonly showValues?: boolean
    readonly wait: number
  }

/** How many changes of a part are listed before it is approved. */
const listedOfPart = 1000

/** Lets a held run deliver the plan that was shown, and waits until it has. */
export async function approve(name: string, options: ApproveOptions): Promise<number> {
  refuseUnseen(name, options)
  return await withSession(options, { hasWorkers: true }, async (session) => {
    const { control, output } = session
    const runId = await heldInstead(session, await requireRunId(control, name, options), options)
    const part = await partOf(options)
    const digest = options.digest ?? (await seenDigest(session, runId, options, part))
    if (digest === null) return failures.run_held.exit
    const { by, reason, connection } = options
    const body = { digest, by, reason, connection, ...(part && { part }) }
    const run = await control.approveRun({ params: { runId }, body })
    if (part) output.printMessage(renderRemaining(await control.getRun({ params: { runId } })))
    else if (run.id !== runId)
      output.printMessage(`Run ${shortId(runId)} is not sent: it is planned again, as run ${shortId(run.id)}.`)
    return await followAndReport(session, run, options.wait)
  })
}

/**
 * The run itself, or the held run that took its place, whose plan is then shown. A plan that is named by its digest is found by the daemon, and
 * one that is approved unseen has to be the same.
 */
async function heldInstead({ control, output }: Session, runId: string, options: ApproveOptions): Promise<string> {
  if (options.digest !== undefined) return runId
  const { instead } = await control.getRun({ params: { runId } })
  if (!instead) return runId
  const [before, now] = [shortId(runId), shortId(instead.runId)]
  if (options.yes && !instead.isSame)
    throw new Failure(
      'conflict',
      `run ${before} was replaced by run ${now}, which makes other changes: look at "rollcall run ${now}" first`,
    )
  output.printMessage(`Run ${before} was replaced by run ${now}, which is held.`)
  return instead.runId
}

/** Without a terminal to ask on, the caller must pass --digest, or --yes to approve whatever plan the run has. */
function refuseUnseen(name: string, { digest, yes, json }: ApproveOptions): void {
  // `last` and `@held` may name another run by now.
  if (yes && digest === undefined && isMoving(name))
    throw new Failure(
      'usage',
      `--yes approves a plan unseen: name the run by its id instead of ${name}, or give --digest`,
    )
  const canAsk = process.stdin.isTTY && standardError.isTerminal && !json
  if (canAsk || digest !== undefined || yes) return
  throw new Failure('usage', 'approving without a question needs --digest (as "rollcall run ID" shows it) or --yes')
}

/** Refuses an expired plan before it is shown. */
function refuseExpired({ id, expiresAt }: Run): void {
  if (expiresAt === null || Date.parse(expiresAt) > Date.now()) return
  throw new Failure(
    'conflict',
    `the plan of run ${shortId(id)} expired at ${formatInstant(expiresAt)}: "rollcall sync" plans again`,
  )
}

/** The digest of the current plan, once the person has seen it and agreed; null if they declined. */
async function seenDigest(
  session: Session,
  runId: string,
  options: ApproveOptions,
  selection: PartSelection | null,
): Promise<string | null> {
  const { control, output } = session
  if (selection !== null) return await seenPart(session, runId, options, selection)
  // Values are safe here: the plan is printed to a terminal only.
  const detail = await runDetail(control, runId, { values: options.showValues ?? false, whole: false })
  if (detail.state !== 'held' || detail.digest === null) {
    const { decidedBy, decidedAt } = detail
    const decided =
      decidedBy === null || decidedAt === null ? '' : `: ${decidedBy} decided it at ${formatInstant(decidedAt)}`
    const why = detail.state === 'superseded' && detail.reason !== null ? `: ${detail.reason}` : decided
    throw new Failure('conflict', `run ${shortId(runId)} is ${detail.state}, not held${why}`)
  }
  refuseExpired(detail)
  if (options.yes) return detail.digest
  output.printMessage(renderForApproval(detail, output.paint))
  return (await hasAgreed(session, `Deliver this plan to the platform, as ${options.by}?`)) ? detail.digest : null
}

/** The digest of a part of the plan, once the person has seen it and agreed; null if they declined. */
async function seenPart(
  session: Session,
  runId: string,
  options: ApproveOptions,
  selection: PartSelection,
): Promise<string | null> {
  const { control, output } = session
  const query = { values: !options.yes && (options.showValues ?? false), limit: listedOfPart }
  const part = await control.previewPart({ params: { runId }, query, body: selection })
  if (options.yes) return part.digest
  const run = await control.getRun({ params: { runId } })
  refuseExpired(run)
  output.printMessage(renderPlanPart({ run, part }, output.paint))
  return (await hasAgreed(session, `Deliver this part to the platform, as ${options.by}?`)) ? part.digest : null
}

async function hasAgreed({ output, signal }: Session, question: string): Promise<boolean> {
  const answer = await ask(`\n${escapeText(question)} [y/N] `, signal)
  if (/^y(es)?$/i.test(answer.trim())) return true
  output.printMessage('Nothing was approved; the run stays held.')
  return false
}
