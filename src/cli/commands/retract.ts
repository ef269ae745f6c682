import { Failure } from '../../errors.ts'
import { renderOutcome } from '../render/run.ts'
import { exitCodeOf, followAndReport } from '../session/follow-run.ts'
import { requirePerson } from '../session/person-name.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall retract`. */
export type RetractOptions = CommonOptions & {
  readonly reason?: string
  readonly undo?: boolean
  readonly by: string
  readonly wait: number
  readonly showValues?: boolean
}

/** Prepares the retraction of a person; its run waits for an approval. With `undo`, undoes a retraction instead. */
export async function retract(name: string, options: RetractOptions): Promise<number> {
  const { reason, undo = false, by } = options
  if (undo) return await undoRetraction(name, options)
  if (reason === undefined) throw new Failure('usage', "required option '--reason <text>' not specified")
  return await withSession(options, {}, async (session) => {
    const { control, output } = session
    const { connection, identityId } = await requirePerson(session, name, options)
    const params = { connection, identityId }
    const run = await control.retractPerson({ params, body: { reason, by } })
    output.printResult(run, renderOutcome)
    return exitCodeOf(run)
  })
}

/** Undoes a retraction, and waits until the person has been sent again. */
async function undoRetraction(name: string, options: RetractOptions): Promise<number> {
  return await withSession(options, { hasWorkers: true }, async (session) => {
    const { connection, identityId } = await requirePerson(session, name, options)
    const params = { connection, identityId }
    const run = await session.control.withdrawRetraction({ params, body: { by: options.by } })
    return await followAndReport(session, run, options.wait)
  })
}
