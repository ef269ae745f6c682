import { renderOutcome } from '../render/run.ts'
import { requireRunId } from '../session/run-name.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall reject`. */
export type RejectOptions = CommonOptions & { readonly by: string; readonly reason?: string }

/** Drops the plan of a held run. */
export async function reject(name: string, options: RejectOptions): Promise<number> {
  const { by, reason, connection } = options
  return await withSession(options, {}, async ({ control, output }) => {
    const runId = await requireRunId(control, name, { connection })
    output.printResult(await control.rejectRun({ params: { runId }, body: { by, reason, connection } }), renderOutcome)
    return 0
  })
}
