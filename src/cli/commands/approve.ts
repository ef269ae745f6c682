import { Failure, failures } from '../../errors.ts'
import { ask, standardError } from '../../text/print.ts'
import { escapeText, shortId } from '../render/text.ts'
import { followAndReport } from '../session/follow-run.ts'
import { isMoving, requireRunId } from '../session/run-name.ts'
import { type CommonOptions, type Session, withSession } from '../session/session.ts'
import { type RunDetail, renderQuestion, runDetail } from './run.ts'

/** The options of `rollcall approve`. */
export type ApproveOptions = CommonOptions & {
  readonly by: string
  readonly reason?: string
  readonly digest?: string
  readonly yes?: boolean
  readonly showValues?: boolean
  readonly wait: number
}

/** Lets a held run deliver the plan that was shown, and waits until it has. */
export async function approve(name: string, options: ApproveOptions): Promise<number> {
  refuseUnseen(name, options)
  return await withSession(options, { hasWorkers: true }, async (session) => {
    const runId = await requireRunId(session.control, name, options)
    const digest = options.digest ?? (await seenDigest(session, runId, options))
    if (digest === null) return failures.run_held.exit
    const { by, reason, connection } = options
    const run = await session.control.approveRun({ params: { runId }, body: { digest, by, reason, connection } })
    if (run.id !== runId)
      session.output.printMessage(`Run ${shortId(runId)} is not sent: it is planned again, as run ${shortId(run.id)}.`)
    return await followAndReport(session, run, options.wait)
  })
}

/** If no person can be shown the plan and asked, the caller has to state which plan is meant, or that any is. */
function refuseUnseen(name: string, { digest, yes, json }: ApproveOptions): void {
  // Such a name may mean another plan by now.
  if (yes && digest === undefined && isMoving(name))
    throw new Failure(
      'usage',
      `--yes approves a plan unseen: name the run by its id instead of ${name}, or give --digest`,
    )
  const canAsk = process.stdin.isTTY && standardError.isTerminal && !json
  if (canAsk || digest !== undefined || yes) return
  throw new Failure('usage', 'approving without a question needs --digest (as "rollcall run ID" shows it) or --yes')
}

/** Before a person reads a plan in vain. */
function refuseExpired({ id, expiresAt }: RunDetail): void {
  if (expiresAt === null || Date.parse(expiresAt) > Date.now()) return
  throw new Failure(
    'conflict',
    `the plan of run ${shortId(id)} has expired at ${expiresAt}: "rollcall sync" plans again`,
  )
}

/** The digest of the current plan, once the person has seen it and agreed; null if they declined. */
async function seenDigest(
  { control, output, signal }: Session,
  runId: string,
  options: ApproveOptions,
): Promise<string | null> {
  // The plan is shown on a terminal only, where values may be shown.
  const detail = await runDetail(control, runId, { values: options.showValues ?? false, whole: false })
  if (detail.state !== 'held' || detail.digest === null) {
    const decided = detail.decidedBy === null ? '' : `: ${detail.decidedBy} decided it at ${detail.decidedAt}`
    const why = detail.state === 'superseded' && detail.reason !== null ? `: ${detail.reason}` : decided
    throw new Failure('conflict', `run ${shortId(runId)} is ${detail.state}, not held${why}`)
  }
  refuseExpired(detail)
  if (options.yes) return detail.digest
  output.printMessage(renderQuestion(detail, output.paint))
  const answer = await ask(`\nDeliver this plan to the platform, as ${escapeText(options.by)}? [y/N] `, signal)
  if (/^y(es)?$/i.test(answer.trim())) return detail.digest
  output.printMessage('Nothing was approved; the run stays held.')
  return null
}
