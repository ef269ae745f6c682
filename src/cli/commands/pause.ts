import type { PauseState } from '../../contract/control/pauses.ts'
import { escapeText, formatInstant, type Paint } from '../render/text.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall resume`. */
export type ResumeOptions = CommonOptions & { readonly by: string }
/** The options of `rollcall pause`. */
export type PauseOptions = ResumeOptions & { readonly reason: string; readonly until?: string }

/** Keeps a connection from reading anything new by itself. */
export async function pause(name: string | undefined, options: PauseOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const connection = requireConnection(named(name, options), config)
    const { reason, until, by } = options
    const body = { reason, by, ...(until !== undefined && { until }) }
    output.printResult(await control.pauseConnection({ params: { connection }, body }), renderPause)
    return 0
  })
}

/** Ends the pause of a connection. */
export async function resume(name: string | undefined, options: ResumeOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const connection = requireConnection(named(name, options), config)
    const body = { by: options.by }
    output.printResult(await control.resumeConnection({ params: { connection }, body }), renderPause)
    return 0
  })
}

function named<T extends CommonOptions>(connection: string | undefined, options: T): T {
  return connection === undefined ? options : { ...options, connection }
}

/** The state of a connection after a pause or resume. */
export function renderPause({ connection, paused }: PauseState, paint: Paint): string {
  const tick = paint('green', '✔')
  if (paused === null)
    return `${tick} ${escapeText(connection)} is no longer paused; the daemon makes up for missed runs`
  const end = paused.until === null ? 'until "rollcall resume"' : `until ${formatInstant(paused.until)}`
  return `${tick} ${escapeText(connection)} is paused ${end}: no schedule, watched folder or event starts a run; "rollcall sync" still does`
}
