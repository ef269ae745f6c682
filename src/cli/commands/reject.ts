import { renderOutcome } from '../render/run.ts'
import { type CommonOptions, withSession } from '../session.ts'

export type RejectOptions = CommonOptions & { readonly by: string; readonly reason?: string }

/** Drops the plan of a held run. */
export async function reject(runId: string, { by, reason, connection, ...options }: RejectOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    output.result(await control.rejectRun({ params: { runId }, body: { by, reason, connection } }), renderOutcome)
    return 0
  })
}
