import type { Run } from '../contract/control/shapes.ts'
import { exitOf, followRun } from './follow-run.ts'
import { createProgress, noProgress } from './render/progress.ts'
import { renderOutcome } from './render/run.ts'
import { type CommonOptions, connectionNamed, type Session, withSession } from './session.ts'

export type SyncOptions = CommonOptions & { readonly full?: boolean; readonly verify?: boolean; readonly wait: number }

/** Asks for a run and stays until it has come to rest. */
export async function sync(options: SyncOptions): Promise<number> {
  return await withSession(options, { works: true }, async (session) => {
    const connection = connectionNamed(options, session.config)
    const { full = false, verify = false } = options
    const run = await session.control.startRun({ params: { connection }, body: { full, verify } })
    return await settle(session, run, options.wait)
  })
}

/** Stays with a run until it has come to rest, prints what became of it, and tells the exit code. */
export async function settle(session: Session, run: Run, waitSeconds: number): Promise<number> {
  const { control, output, signal } = session
  const progress = output.quiet ? noProgress : createProgress(process.stderr, output.paint)
  const settled = await followRun(control, run, { waitSeconds, progress, signal })
  output.result(settled, renderOutcome)
  return exitOf(settled)
}
