import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Restored } from '../../contract/control/store.ts'
import { restoreStore } from '../../daemon/installation/restore.ts'
import { Failure, type FailureCode, failures } from '../../errors.ts'
import { createEvents } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/log.ts'
import { formatInstant, type Paint, pluralize } from '../render/text.ts'
import { type Control, controlOverSocket } from '../session/control-client.ts'
import { findDaemon } from '../session/find-daemon.ts'
import { createOutput } from '../session/output.ts'
import { type CommonOptions, configOf } from '../session/session.ts'

/** The options of `rollcall restore`. */
export type RestoreOptions = CommonOptions & {
  readonly replace?: boolean
  readonly reason: string
  readonly by: string
}

const askAgainMs = 250
const maxWaitMs = 600_000

/** Restores the store from a backup: a running daemon does so and restarts, or else this process does. */
export async function restore(file: string, options: RestoreOptions): Promise<number> {
  const output = createOutput(options)
  const config = await configOf(options, { secrets: 'when needed' })
  const { reason, by, replace = false } = options
  const request = { file: resolve(file), replace, reason, by }
  const daemon = await findDaemon(config)
  const events = createEvents(createLogger({ level: 'error' }))
  const restored = daemon
    ? await byDaemon(controlOverSocket(daemon), request, async () => {
        const next = await findDaemon(config)
        return next && controlOverSocket(next)
      })
    : await restoreStore(config, request, { events, now: () => new Date() })
  output.printResult(restored, renderRestored)
  return 0
}

/** Waits until the daemon has restarted, and reports the result. */
export async function byDaemon(
  control: Pick<Control, 'restoreStore'>,
  request: Parameters<Control['restoreStore']>[0]['body'],
  find: () => Promise<Control | null>,
  waitMs = maxWaitMs,
): Promise<Restored> {
  const { id } = await control.restoreStore({ body: request })
  const until = performance.now() + waitMs
  while (performance.now() < until) {
    await pause(askAgainMs)
    const last = await outcomeAt(await find())
    if (last?.id !== id) continue
    if (last.restored) return last.restored
    const { code = '', message = 'no reason was given' } = last.failure ?? {}
    throw new Failure(
      Object.hasOwn(failures, code) ? (code as FailureCode) : 'conflict',
      `${message}; the store is unchanged, and the daemon continues`,
    )
  }
  // A second attempt would not help, and the store may have been restored already.
  throw new Failure('run_failed', 'the daemon has not restarted; see its log. The store may be restored already')
}

/** Null while the daemon is restarting. */
async function outcomeAt(control: Control | null) {
  if (!control) return null
  try {
    return (await control.lastRestoration({})).last
  } catch (error) {
    if (error instanceof Failure && error.code === 'already_active') return null
    throw error
  }
}

/** What a restore did, and what happened since the backup and is missing. */
export function renderRestored({ madeAt, people, runsEnded, entriesLost }: Restored, paint: Paint): string {
  const lines = [
    `${paint('green', '✔')} the store was restored to ${formatInstant(madeAt)}: it has ${pluralize(people, 'person', 'people')}`,
  ]
  if (runsEnded > 0)
    lines.push(
      `${paint('dim', '-')} ${pluralize(runsEnded, 'run')} active at that time ended; the next run plans again`,
    )
  if (entriesLost !== null && entriesLost > 0)
    lines.push(
      `${paint('yellow', '!')} ${pluralize(entriesLost, 'entry', 'entries')} of the audit trail, signed after the backup, are missing`,
    )
  lines.push(
    `${paint('dim', '-')} the next run first reads from the platform what happened since; repeat retractions made since then`,
  )
  return lines.join('\n')
}
