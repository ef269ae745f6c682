import type { RevertAccount, Run } from '../../contract/control/shapes.ts'
import { renderRevertAccount } from '../render/revert-account.ts'
import { renderOutcome } from '../render/run.ts'
import type { Paint } from '../render/text.ts'
import { exitCodeOf, waitForEnd } from '../session/follow-run.ts'
import { fetchRunAccount } from '../session/run-account.ts'
import { requireRunId } from '../session/run-name.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall revert`. */
export type RevertOptions = CommonOptions & { readonly reason: string; readonly by: string; readonly wait: number }

type RevertRun = Run & { readonly reverted: RevertAccount | null }

/** Reverts a run, and waits until that has ended. */
export async function revert(name: string, { reason, by, wait, ...options }: RevertOptions): Promise<number> {
  return await withSession(options, { hasWorkers: true }, async (session) => {
    const { control, output } = session
    const runId = await requireRunId(control, name)
    const started = await control.revertRun({ params: { runId }, body: { reason, by } })
    const run = await waitForEnd(session, started, wait)
    const account = await fetchRunAccount(control, run, { values: false })
    output.printResult({ ...run, reverted: account?.revert ?? null }, renderRevertRun)
    return exitCodeOf(run)
  })
}

function renderRevertRun({ reverted, ...run }: RevertRun, paint: Paint): string {
  return [...(reverted ? [renderRevertAccount(reverted, paint)] : []), renderOutcome(run, paint)].join('\n\n')
}
