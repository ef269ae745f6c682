import { exitOf } from '../follow-run.ts'
import { renderOutcome } from '../render/run.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session.ts'

export type RetractOptions = CommonOptions & { readonly reason: string; readonly by: string }

/** Prepares taking a person back; the run it makes waits for an approval. */
export async function retract(identityId: string, options: RetractOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config), identityId }
    const run = await control.retractPerson({ params, body: { reason: options.reason, by: options.by } })
    output.result(run, renderOutcome)
    return exitOf(run)
  })
}
