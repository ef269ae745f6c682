import { renderPerson } from './render/person.ts'
import { renderOutcome } from './render/run.ts'
import { type CommonOptions, connectionNamed, withSession } from './session.ts'
import { settle } from './sync.ts'

export type PersonOptions = CommonOptions & { readonly showValues?: boolean }
export type RetractOptions = CommonOptions & { readonly reason: string; readonly by: string }
export type RestoreOptions = CommonOptions & { readonly by: string; readonly wait: number }

/** Shows what is wanted and confirmed of a person, and how it came about. */
export async function person(identityId: string, options: PersonOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config), identityId }
    const found = await control.getPerson({ params, query: { values: output.mayShowValues(options) } })
    output.result(found, renderPerson)
    return 0
  })
}

/** Prepares taking a person back; the run it makes waits for an approval. */
export async function retract(identityId: string, options: RetractOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config), identityId }
    const run = await control.retractPerson({ params, body: { reason: options.reason, by: options.by } })
    output.result(run, renderOutcome)
    return 0
  })
}

/** Takes a retraction back, and stays until the person has been sent again. */
export async function restore(identityId: string, options: RestoreOptions): Promise<number> {
  return await withSession(options, { works: true }, async (session) => {
    const params = { connection: connectionNamed(options, session.config), identityId }
    const run = await session.control.restorePerson({ params, body: { by: options.by } })
    return await settle(session, run, options.wait)
  })
}
