import { renderOutcome } from '../render/run.ts'
import { exitCodeOf, waitForEnd } from '../session/follow-run.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall separate`. */
export type SeparateOptions = CommonOptions & {
  readonly on?: string
  readonly reason: string
  readonly by: string
  readonly wait: number
}

/** Prepares the departure of people whom only the platform knows; its run waits for an approval. */
export async function separate(
  identityIds: readonly string[],
  { on, reason, by, wait, ...options }: SeparateOptions,
): Promise<number> {
  return await withSession(options, { hasWorkers: true }, async (session) => {
    const { config, control, output } = session
    const params = { connection: requireConnection(options, config) }
    const started = await control.separateForeign({ params, body: { identityIds: [...identityIds], on, reason, by } })
    const run = await waitForEnd(session, started, wait)
    output.printResult(run, renderOutcome)
    return exitCodeOf(run)
  })
}
