import { settle } from '../follow-run.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session.ts'

export type RestoreOptions = CommonOptions & { readonly by: string; readonly wait: number }

/** Takes a retraction back, and stays until the person has been sent again. */
export async function restore(identityId: string, options: RestoreOptions): Promise<number> {
  return await withSession(options, { works: true }, async (session) => {
    const params = { connection: connectionNamed(options, session.config), identityId }
    const run = await session.control.restorePerson({ params, body: { by: options.by } })
    return await settle(session, run, options.wait)
  })
}
