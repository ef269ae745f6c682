import { acceptStore as accept } from '../../daemon/installation/accept.ts'
import { Failure } from '../../errors.ts'
import { createEvents } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/log.ts'
import { pluralize } from '../render/text.ts'
import { findDaemon } from '../session/find-daemon.ts'
import { createOutput } from '../session/output.ts'
import { type CommonOptions, configOf } from '../session/session.ts'

/** The options of `rollcall accept-store`. */
export type AcceptStoreOptions = CommonOptions & { readonly reason: string; readonly by: string }

/** Accepts the current store although the data folder belongs to another one. No daemon runs then, because it refuses to start. */
export async function acceptStore({ reason, by, ...options }: AcceptStoreOptions): Promise<number> {
  const output = createOutput(options)
  const config = await configOf(options, { secrets: 'when needed' })
  if (await findDaemon(config))
    throw new Failure('conflict', 'a daemon is running on the store: there is nothing to accept')
  const events = createEvents(createLogger({ level: 'error' }))
  const accepted = await accept(config, { by, reason, events, now: () => new Date() })
  output.printResult(accepted, ({ people }, paint) =>
    people === 0
      ? `${paint('green', '✔')} a new, empty store was started: the next run sends everybody in the export; "rollcall resync --verify" finds people who have left meanwhile`
      : `${paint('green', '✔')} the current store was accepted; it has ${pluralize(people, 'person', 'people')}, and the next run reads newer changes from the platform`,
  )
  return 0
}
