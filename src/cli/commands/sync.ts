import { settle } from '../follow-run.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session.ts'

export type SyncOptions = CommonOptions & {
  readonly full?: boolean
  readonly verify?: boolean
  readonly wait: number
  readonly by: string
}

/** Asks for a run and stays until it has come to rest. */
export async function sync(options: SyncOptions): Promise<number> {
  return await withSession(options, { works: true }, async (session) => {
    const connection = connectionNamed(options, session.config)
    const { full = false, verify = false, by } = options
    const run = await session.control.startRun({ params: { connection }, body: { full, verify, by } })
    return await settle(session, run, options.wait)
  })
}
