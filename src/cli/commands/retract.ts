import { Failure } from '../../errors.ts'
import { exitOf, settle } from '../follow-run.ts'
import { renderOutcome } from '../render/run.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session.ts'

export type RetractOptions = CommonOptions & {
  readonly reason?: string
  readonly undo?: boolean
  readonly by: string
  readonly wait: number
}

/** Prepares taking a person back; the run it makes waits for an approval. With `undo`, takes a retraction back instead. */
export async function retract(identityId: string, options: RetractOptions): Promise<number> {
  const { reason, undo = false, by } = options
  if (undo) return await takeBack(identityId, options)
  if (reason === undefined) throw new Failure('usage', "required option '--reason <text>' not specified")
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config), identityId }
    const run = await control.retractPerson({ params, body: { reason, by } })
    output.result(run, renderOutcome)
    return exitOf(run)
  })
}

/** Stays until the person has been sent again. */
async function takeBack(identityId: string, options: RetractOptions): Promise<number> {
  return await withSession(options, { works: true }, async (session) => {
    const params = { connection: connectionNamed(options, session.config), identityId }
    const run = await session.control.restorePerson({ params, body: { by: options.by } })
    return await settle(session, run, options.wait)
  })
}
