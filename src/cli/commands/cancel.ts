import { renderOutcome } from '../render/run.ts'
import { requireRunId } from '../session/run-name.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall cancel`. */
export type CancelOptions = CommonOptions & { readonly by: string }

/** Ends a run that waits, is held or delivers. */
export async function cancel(name: string, options: CancelOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const runId = await requireRunId(control, name)
    output.printResult(await control.cancelRun({ params: { runId }, body: { by: options.by } }), renderOutcome)
    return 0
  })
}
